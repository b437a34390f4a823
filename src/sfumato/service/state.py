"""What one worker has: its store, its open maps, its threads."""

from __future__ import annotations

import asyncio
import ctypes
import os
import sqlite3
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.service.bodies import Buffers
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.errors import busy
from sfumato.service.localizing import OpenMaps
from sfumato.service.metrics import Metrics
from sfumato.service.plans import make_plan
from sfumato.service.queue import ComputeQueue
from sfumato.service.rates import Rates
from sfumato.service.settings import Settings
from sfumato.service.storage import Store

_DAY = 86_400.0
#: glibc keeps what threads have freed; a large query would stay in a worker's size for ever.
_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
_SWEEP_SECONDS = 2.0


@dataclass(eq=False)
class Service:
    """Everything the routes use. One per worker process."""

    settings: Settings
    store: Store
    dictionaries: Dictionaries
    rates: Rates
    metrics: Metrics = field(default_factory=Metrics)
    maps: OpenMaps = field(default_factory=OpenMaps)
    draining: threading.Event = field(default_factory=threading.Event)
    uploads: Counter[str] = field(default_factory=Counter)  # under way, by tenant

    def __post_init__(self) -> None:
        settings = self.settings
        self.buffers = Buffers(settings.max_buffered_bytes)
        self.queue = ComputeQueue("localize", threads=settings.threads, waiting=settings.queue_size)
        self.builder = ComputeQueue("build", threads=1, waiting=settings.max_uploads)
        self.planner = ComputeQueue("plan", threads=1, waiting=16)
        self._planning: dict[tuple[str, float | None], asyncio.Task[None]] = {}

    def begin_upload(self, tenant: str) -> None:
        """Take one of the few slots; no tenant holds more than half of them."""
        limit = self.settings.max_uploads
        if self.uploads.total() >= limit or self.uploads[tenant] >= max(1, limit // 2):
            raise busy("other maps are being uploaded; try again.", 5)
        self.uploads[tenant] += 1

    def end_upload(self, tenant: str) -> None:
        self.uploads[tenant] -= 1

    def start_plan(self, map_id: str, epsilon: float | None) -> None:
        """Make a plan in the background, once."""
        name = (map_id, epsilon)
        if self.settings.plan_images and name not in self._planning:
            task = asyncio.get_running_loop().create_task(self._plan(map_id, epsilon))
            self._planning[name] = task
            task.add_done_callback(lambda done: self._planned(name, done))

    def _planned(self, name: tuple[str, float | None], done: asyncio.Task[None]) -> None:
        del self._planning[name]
        if not done.cancelled():
            done.exception()  # a plan that failed is asked for again by whoever needs it

    async def _plan(self, map_id: str, epsilon: float | None) -> None:
        folder = self.store.folder_of(map_id)
        world = self.maps.get(map_id, folder)
        words = self.dictionaries.of_extractor(world.extractor)

        def work() -> None:
            # Plans give way to queries.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
            make_plan(world, words, folder, epsilon, self.settings, self.draining)

        await self.planner.run(work, seconds=_DAY)

    async def stop_plans(self) -> None:
        """Nobody waits for a plan when the service ends."""
        self.draining.set()
        for task in list(self._planning.values()):
            task.cancel()
        await asyncio.gather(*self._planning.values(), return_exceptions=True)

    async def sweep(self) -> None:
        """Again and again: let go of maps that any worker has deleted, and of freed memory."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            with suppress(sqlite3.Error, OSError):  # a store that is away for a moment comes back
                self.maps.keep_only(self.store.ids())
            if _trim is not None and not self.queue.running:
                _trim(0)

    def close(self, *, patience: float = 1.0) -> None:
        """End plans and threads; what still computes after `patience` seconds is left behind."""
        self.draining.set()
        for line in (self.planner, self.builder, self.queue):
            line.stop(patience=patience)
        self.rates.close()
        self.store.database.close()

    @property
    def is_computing(self) -> bool:
        return bool(self.queue.running or self.builder.running or self.planner.running)


def make_service(settings: Settings, *, run: Path | None = None) -> Service:
    """A worker's service; `run` is the folder that workers of one machine share."""
    return Service(
        settings=settings,
        store=Store(settings.store, read_only=settings.read_only),
        dictionaries=Dictionaries(settings.dictionaries),
        rates=Rates(
            ":memory:" if run is None else run / "rates.db",
            per_minute=settings.rate_per_minute,
            burst=settings.rate_burst,
        ),
    )
