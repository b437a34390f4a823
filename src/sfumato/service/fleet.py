"""The service on Ray: copies of what localizes, and copies of what holds the shards of large maps.

Requests come in where they always do, with the same keys, limits and queue (`compute.py`). Only the
work itself goes to the cluster: a `Localizer` runs it in a computing process (`processes.py`), so
that memory and time are limited as they are without Ray, and asks the `ShardHost`s on its behalf.
All of them open maps by their path in the store, which every machine must see.
"""

from __future__ import annotations

import os
import queue
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import InvalidInput, WorkerLost
from sfumato.server.shards.packing import pack, unpack
from sfumato.server.shards.shard import Shard
from sfumato.server.shards.stored import load_head
from sfumato.service import logs
from sfumato.service.errors import ServiceError, busy
from sfumato.service.processes import Charge, Computer, Limits, Stopped, Work
from sfumato.service.settings import Settings
from sfumato.service.work import weigh_release

if TYPE_CHECKING:
    from sfumato.execution.on_ray.serving import Copies, Group

_LOCALIZER, _SHARD = "sfumato-localizer", "sfumato-shard-{}"
_CPUS, _SHARD_CPUS = 0.5, 0.1  # of the cluster, for each copy
_LOOK_EVERY = 0.1  # seconds between looks at whether anybody still waits
_START_SECONDS = 120.0
_MAX_OPEN = 256


class ShardHost:
    """Holds one shard of every large map; opened from disk when it is first asked."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._shards: OrderedDict[str, Shard] = OrderedDict()

    def answer(self, folder: str, message: bytes) -> bytes:
        shard = self._shards.get(folder)
        if shard is None:
            shard = load_head(folder, verify=False).open(self._number, verify=False)
            self._shards[folder] = shard
            if len(self._shards) > _MAX_OPEN:
                self._shards.popitem(last=False)
        return pack(shard.answer(unpack(message)))

    def check_health(self) -> None:
        """Let go of maps that were deleted."""
        for folder in [known for known in self._shards if not Path(known).exists()]:
            del self._shards[folder]


class Localizer:
    """Localizes in computing processes, as many at once as the settings say."""

    def __init__(self, settings: str) -> None:
        logs.configure()
        self._settings = Settings.from_json(settings)
        limits = Limits(self._settings.max_request_memory_bytes, self._settings.max_cpu_seconds)
        self._idle: queue.SimpleQueue[Computer] = queue.SimpleQueue()
        for _ in range(self._settings.parallel):
            computer = Computer(limits, self._ask_shards)
            computer.start()
            self._idle.put(computer)

    def ping(self) -> None:
        """Answer."""

    def check_health(self) -> None:
        if not self._settings.store.is_dir():
            raise OSError("the store cannot be seen from here")

    def run(self, work: str, given: dict[str, Any], body: bytes) -> dict[str, Any]:
        """What a piece of work gives, or how it was refused."""
        module, _, name = work.partition(":")
        end = time.monotonic() + self._settings.deadline_seconds
        computer = self._idle.get()
        try:
            found = computer.run(
                _named(module, name), given, body, _free, is_wanted=lambda: time.monotonic() < end
            )
        except ServiceError as error:
            return {"error": error.to_dict()}
        except Stopped:
            return {"error": busy("the answer took too long; try again later.", 5).to_dict()}
        finally:
            self._idle.put(computer)
        return {"result": found}

    @cached_property
    def _shards(self) -> list[Copies]:
        from sfumato.execution.on_ray.serving import Copies

        return [Copies(_SHARD.format(number)) for number in range(self._settings.shards)]

    def _ask_shards(self, folder: str, messages: Mapping[int, bytes]) -> Mapping[int, bytes]:
        """Ask all at the same time; one that fails or takes too long is left out, and logged."""
        calls = {
            number: self._shards[number].call("answer", folder, message)
            for number, message in messages.items()
        }
        end = time.monotonic() + self._settings.shard_seconds
        answers = {}
        for number, call in calls.items():
            try:
                answers[number] = call.result(max(end - time.monotonic(), 0.0))
            except Exception as error:  # noqa: BLE001 - whatever it is, its part was not looked at
                logs.log(
                    "a shard did not answer",
                    level=logs.WARNING if isinstance(error, WorkerLost) else logs.ERROR,
                    shard=number,
                    **logs.describe_error(error),
                )
        return answers


class RemoteComputer:
    """Stands where a `Computer` does, for work that the cluster does."""

    def __init__(self, copies: Copies) -> None:
        self._copies = copies

    def start(self) -> None:
        try:
            self._copies.call("ping").result(_START_SECONDS)
        except WorkerLost as error:
            raise OSError(str(error)) from None

    def run(
        self,
        work: Work,
        settings: dict[str, Any],
        body: bytes,
        charge: Charge,
        *,
        is_wanted: Callable[[], bool],
    ) -> Any:
        """Weighed there, charged here, then done there."""
        charge(self._done(weigh_release, settings, body, is_wanted))
        return self._done(work, settings, body, is_wanted)

    def _done(
        self, work: Work, settings: dict[str, Any], body: bytes, is_wanted: Callable[[], bool]
    ) -> Any:
        name = f"{work.__module__}:{work.__qualname__}"
        call = self._copies.call("run", name, settings, body)
        try:
            while not call.wait(_LOOK_EVERY):
                if not is_wanted():
                    call.cancel()
                    raise Stopped
            answer = call.result(_LOOK_EVERY)
        except WorkerLost:
            raise busy("the process that computed this was lost; ask again.", 1) from None
        if "error" in answer:
            raise ServiceError.from_dict(answer["error"])
        return answer["result"]

    def give_way(self) -> None:
        """The cluster has room for more copies instead."""

    def end(self) -> None:
        """Copies outlive a request."""


@contextmanager
def fleet(settings: Settings) -> Iterator[Copies | None]:
    """The copies in the cluster, as long as the service runs; None where it computes here."""
    if settings.on == "local":
        yield None
        return
    from sfumato.execution.choose import started
    from sfumato.execution.on_ray.serving import Copies, deploy, withdraw

    groups = _groups(settings)
    with started(settings.on) as execution:
        wanted = sum(group.cpus * group.copies for group in groups)
        if wanted > execution.workers:
            raise InvalidInput(
                f"these shards and replicas need {wanted:g} processors of the cluster, which has "
                f"{execution.workers}; add machines, or ask for fewer."
            )
        for path in (settings.store, *filter(os.path.isabs, settings.dictionaries)):
            execution.check_path(path)
        deploy(groups)
        try:
            yield Copies(_LOCALIZER)
        finally:
            withdraw(groups)


def _groups(settings: Settings) -> list[Group]:
    from sfumato.execution.on_ray.serving import Group

    shards = [
        Group(
            _SHARD.format(number),
            ShardHost,
            (number,),
            copies=settings.shard_replicas,
            most=settings.shard_replicas,
            cpus=_SHARD_CPUS,
        )
        for number in range(settings.shards if settings.shards > 1 else 0)
    ]
    localizer = Group(
        _LOCALIZER,
        Localizer,
        (settings.to_json(),),
        copies=settings.replicas,
        most=max(settings.replicas, settings.max_replicas),
        parallel=settings.parallel,
        cpus=_CPUS,
    )
    return [*shards, localizer]


def _named(module: str, name: str) -> Work:
    import importlib

    work: Work = getattr(importlib.import_module(module), name)
    return work


def _free(_: int) -> None:
    """Charged where the request came in."""
