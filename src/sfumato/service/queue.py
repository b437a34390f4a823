"""A few threads that compute, and a short line in front of them.

What does not fit in the line is refused at once; what has waited past its deadline is not begun.
Threads are daemons of our own: a pool's threads would be joined at exit, past the grace time.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sfumato.service.errors import busy

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class _Job:
    work: Callable[[], Any]
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    deadline: float


class ComputeQueue:
    """Runs work in `threads` threads, with at most `waiting` more in line."""

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self._limit = threads + waiting
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._pending = 0  # touched by the event loop only
        self._running = 0
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._serve, name=f"{name}-{i}", daemon=True)
            for i in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pending(self) -> int:
        """Jobs in line or running, whose answer somebody may still wait for."""
        return self._pending

    @property
    def running(self) -> int:
        return self._running

    async def run(self, work: Callable[[], _Result], *, seconds: float) -> _Result:
        """The result of work, or 503: the line is full, or the deadline has passed."""
        if self._pending >= self._limit:
            raise busy("too many requests are waiting; try again.", 1)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_Result] = loop.create_future()
        self._pending += 1
        answer.add_done_callback(self._forget)
        self._jobs.put(_Job(work, answer, loop, time.monotonic() + seconds))
        try:
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            raise busy("the answer took too long; try again later.", 5) from None

    def _forget(self, _: object) -> None:
        self._pending -= 1

    def stop(self, *, patience: float) -> None:
        """Let the threads end after what they are doing, and wait for that a little."""
        for _ in self._threads:
            self._jobs.put(None)
        end = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._work_on(job)

    def _work_on(self, job: _Job) -> None:
        if job.answer.cancelled() or time.monotonic() > job.deadline:
            return
        with self._lock:
            self._running += 1
        result: Any = None
        failure: BaseException | None = None
        try:
            result = job.work()
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is awaited
            failure = error
        finally:
            with self._lock:
                self._running -= 1
        try:
            job.loop.call_soon_threadsafe(_settle, job.answer, result, failure)
        except RuntimeError:  # the loop has ended meanwhile: nobody waits any more
            return


def _settle(answer: asyncio.Future[Any], result: Any, failure: BaseException | None) -> None:
    if answer.done():
        return
    if failure is not None:
        answer.set_exception(failure)
    else:
        answer.set_result(result)
