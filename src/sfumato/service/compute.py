"""Work waits its turn, runs in a process of its own, and is stopped when nobody waits for it."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.service.errors import ServiceError, busy
from sfumato.service.fair_queue import LONG_PER_PLACE, FairQueue
from sfumato.service.fleet import RemoteComputer
from sfumato.service.logs import ERROR, describe_error, log
from sfumato.service.processes import Charge, Computer, Limits, Stopped, Work

if TYPE_CHECKING:
    from sfumato.execution.on_ray.serving import Copies

#: A job that has run for so many seconds makes room for another tenant's and goes on at low
#: priority.
LONG_SECONDS = 0.5
_TRY_AGAIN_SECONDS = 1.0


def _free(_: int) -> None:
    """Work that nobody pays for."""


@dataclass(eq=False)
class _Job:
    tenant: str
    work: Work
    settings: dict[str, Any]
    body: bytes
    charge: Charge
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    deadline: float

    def settle(self, result: Any, failure: BaseException | None) -> None:
        def tell() -> None:
            if self.answer.done():
                return
            if failure is not None:
                self.answer.set_exception(failure)
            else:
                self.answer.set_result(result)

        try:
            self.loop.call_soon_threadsafe(tell)
        except RuntimeError:  # the loop has ended meanwhile: nobody waits any more
            return

    @property
    def is_wanted(self) -> bool:
        return not self.answer.done() and time.monotonic() < self.deadline


class ComputeQueue:
    """`places` pieces of work at once, at most `waiting` more in line, shared by tenants.

    With `warm` the processes are started at once, not when they are first needed. `copies` in a
    cluster do the work instead, where they are given.
    """

    def __init__(
        self,
        name: str,
        *,
        places: int,
        waiting: int,
        limits: Limits,
        warm: bool = False,
        copies: Copies | None = None,
    ) -> None:
        self._queue: FairQueue[_Job] = FairQueue(places=places, waiting=waiting)
        self._limits, self._places = limits, places
        self._copies = copies
        self._idle: queue.SimpleQueue[Computer | RemoteComputer] = queue.SimpleQueue()
        self._is_warm = threading.Event()
        self._is_closed = threading.Event()
        # These threads only wait for processes. Work that has left its place keeps its thread.
        work = [self._serve] * (1 + LONG_PER_PLACE) * places
        if warm:
            work.append(self._warm_up)
        self._threads = [
            threading.Thread(target=target, name=f"{name}-{i}", daemon=True)
            for i, target in enumerate(work)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def running(self) -> int:
        return self._queue.running

    @property
    def is_warm(self) -> bool:
        """Every place has a process that can compute at once."""
        return self._is_warm.is_set()

    async def run(
        self,
        tenant: str,
        work: Work,
        settings: dict[str, Any],
        body: bytes = b"",
        *,
        seconds: float,
        charge: Charge = _free,
    ) -> Any:
        """The result of work, or 503: the line is full, or the deadline has passed.

        Cancelling this stops the work, wherever it is.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        end = time.monotonic() + seconds
        job = _Job(tenant, work, settings, body, charge, answer, loop, end)
        for turned_away in self._queue.put(tenant, job):
            turned_away.settle(None, busy("too many requests are waiting; try again.", 1))
        try:
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            raise _late() from None
        finally:
            self._queue.remove(tenant, job)

    def close(self) -> None:
        """Stop everything now."""
        self._is_closed.set()
        for job in self._queue.close():
            job.settle(None, _stopping())
        for thread in self._threads:
            thread.join()
        while not self._idle.empty():
            self._idle.get().end()

    def _warm_up(self) -> None:
        for _ in range(self._places):
            computer = self._new()
            while not self._is_closed.is_set():
                try:
                    computer.start()
                    break
                except (OSError, EOFError) as error:
                    log("no computing process", level=ERROR, **describe_error(error))
                    self._is_closed.wait(_TRY_AGAIN_SECONDS)
            self._idle.put(computer)
        self._is_warm.set()

    def _serve(self) -> None:
        while (taken := self._queue.take()) is not None:
            self._work_on(*taken)

    def _work_on(self, tenant: str, job: _Job) -> None:
        start = time.monotonic()
        has_left = False
        computer = self._computer()

        def is_wanted() -> bool:
            nonlocal has_left
            if not has_left and time.monotonic() - start > LONG_SECONDS:
                has_left = self._queue.leave_place(tenant)
                if has_left:
                    computer.give_way()
            return job.is_wanted and not self._is_closed.is_set()

        result: Any = None
        failure: BaseException | None = None
        try:
            if not is_wanted():
                raise Stopped
            result = computer.run(job.work, job.settings, job.body, job.charge, is_wanted=is_wanted)
        except Stopped:
            failure = _stopping() if self._is_closed.is_set() else _late()
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is awaited
            failure = error
        if has_left or self._is_closed.is_set():
            computer.end()  # a process cannot take its old priority back
        else:
            self._idle.put(computer)
        self._queue.done(tenant, time.monotonic() - start, has_left=has_left)
        job.settle(result, failure)

    def _computer(self) -> Computer | RemoteComputer:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return self._new()

    def _new(self) -> Computer | RemoteComputer:
        return Computer(self._limits) if self._copies is None else RemoteComputer(self._copies)


def _late() -> ServiceError:
    return busy("the answer took too long; try again later.", 5)


def _stopping() -> ServiceError:
    return busy("this server is about to stop; ask again.", 2)
