"""What one worker has: its store, its dictionaries, and the processes that compute for it."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.service.bodies import Buffers
from sfumato.service.compute import ComputeQueue
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.errors import busy
from sfumato.service.metrics import Metrics
from sfumato.service.processes import Limits
from sfumato.service.rates import Rates
from sfumato.service.settings import Settings
from sfumato.service.storage import Store
from sfumato.service.work import plan_for_map

if TYPE_CHECKING:
    from sfumato.execution.on_ray.serving import Copies

_DAY = 86_400.0
_PLAN_NICE = 10  # plans give way to queries
_PLANS_WAITING = 16


@dataclass(eq=False)
class Service:
    """Everything the routes use. One per worker process."""

    settings: Settings
    store: Store
    dictionaries: Dictionaries
    rates: Rates
    copies: Copies | None = None  # that localize in a cluster
    metrics: Metrics = field(default_factory=Metrics)
    draining: threading.Event = field(default_factory=threading.Event)
    uploads: Counter[str] = field(default_factory=Counter)  # under way, by tenant

    def __post_init__(self) -> None:
        settings = self.settings
        self.buffers = Buffers(settings.max_buffered_bytes)
        upload = Limits(settings.max_upload_memory_bytes)
        self.queue = ComputeQueue(
            "localize",
            places=settings.parallel * max(settings.replicas, settings.max_replicas),
            waiting=settings.queue_size,
            limits=Limits(settings.max_request_memory_bytes, settings.max_cpu_seconds),
            warm=True,
            copies=self.copies,
        )
        self.builder = ComputeQueue("build", places=1, waiting=settings.max_uploads, limits=upload)
        self.planner = ComputeQueue(
            "plan", places=1, waiting=_PLANS_WAITING, limits=replace(upload, nice=_PLAN_NICE)
        )
        self._planning: dict[tuple[str, float | None], asyncio.Task[None]] = {}

    def begin_upload(self, tenant: str) -> None:
        """Take one of the few slots; no tenant holds more than half of them."""
        limit = self.settings.max_uploads
        if self.uploads.total() >= limit or self.uploads[tenant] >= max(1, limit // 2):
            raise busy("other maps are being uploaded; try again.", 5)
        self.uploads[tenant] += 1

    def end_upload(self, tenant: str) -> None:
        self.uploads[tenant] -= 1

    def start_plan(self, tenant: str, map_id: str, epsilon: float | None) -> None:
        """Make a plan in the background, once."""
        name = (map_id, epsilon)
        if self.settings.plan_images and name not in self._planning:
            task = asyncio.get_running_loop().create_task(self._plan(tenant, map_id, epsilon))
            self._planning[name] = task
            task.add_done_callback(lambda done: self._planned(name, done))

    def _planned(self, name: tuple[str, float | None], done: asyncio.Task[None]) -> None:
        del self._planning[name]
        if not done.cancelled():
            done.exception()  # a plan that failed is asked for again by whoever needs it

    async def _plan(self, tenant: str, map_id: str, epsilon: float | None) -> None:
        given = {
            "settings": self.settings.to_json(),
            "folder": str(self.store.folder_of(map_id)),
            "epsilon": epsilon,
        }
        await self.planner.run(tenant, plan_for_map, given, seconds=_DAY)

    async def stop_plans(self) -> None:
        """Nobody waits for a plan when the service ends."""
        self.draining.set()
        for task in list(self._planning.values()):
            task.cancel()
        await asyncio.gather(*self._planning.values(), return_exceptions=True)

    def close(self) -> None:
        """End all computing, wherever it is."""
        self.draining.set()
        for line in (self.planner, self.builder, self.queue):
            line.close()
        self.rates.close()
        self.store.database.close()


def make_service(
    settings: Settings, *, run: Path | None = None, copies: Copies | None = None
) -> Service:
    """A worker's service; `run` is the folder that workers of one machine share."""
    return Service(
        settings=settings,
        copies=copies,
        store=Store(settings.store, read_only=settings.read_only),
        dictionaries=Dictionaries(settings.dictionaries),
        rates=Rates(
            ":memory:" if run is None else run / "rates.db",
            per_minute=settings.rate_per_minute,
            burst=settings.rate_burst,
        ),
    )
