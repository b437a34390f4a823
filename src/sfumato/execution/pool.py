"""Workers that are started when there is work for them, and replaced when they are lost."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any

from sfumato.core.errors import WorkerLost
from sfumato.execution.base import Actor

#: A worker that is not there after so long will not come: nothing is free in the cluster.
_SECONDS_TO_START = 300.0
_MOST_FAILURES = 3  # to start, one after the other


class Pool:
    """Calls of `run`, each by whichever worker is free.

    most    workers at once
    start   one worker and what is done when it can work: a cluster may take its time
    ahead   calls that a worker is given before it has answered the first
    """

    def __init__(
        self, most: int, start: Callable[[], tuple[Actor, Future[Any]]], *, ahead: int = 1
    ) -> None:
        self._most, self._start, self._ahead = most, start, ahead
        self._lock = threading.RLock()
        self._waiting: deque[tuple[Future[Any], tuple[Any, ...]]] = deque()
        self._starting: set[Actor] = set()
        self._calls: dict[Actor, list[Future[Any]]] = {}  # of those that can work
        self._failures = 0
        self._last_ready = time.monotonic()

    def __len__(self) -> int:
        return len(self._calls) + len(self._starting)

    def submit(self, *args: Any) -> Future[Any]:
        """What some worker's `run(*args)` gives; WorkerLost where that worker is lost."""
        future: Future[Any] = Future()
        with self._lock:
            if not self._waiting and not self._calls:
                self._last_ready = time.monotonic()
            self._waiting.append((future, args))
            self._hand_out()
        return future

    def cancel(self, futures: Iterable[Future[Any]], *, kill: bool) -> None:
        """Forget calls that have not begun; kill: end the workers of those that have."""
        dropped = set(futures)
        with self._lock:
            self._waiting = deque(one for one in self._waiting if one[0] not in dropped)
            for worker in [one for one, calls in self._calls.items() if dropped & set(calls)]:
                if kill:
                    del self._calls[worker]
                    worker.stop()

    def look(self) -> None:
        """Give up where no worker can be had."""
        with self._lock:
            waited = time.monotonic() - self._last_ready
            if self._waiting and not self._calls and waited > _SECONDS_TO_START:
                self._give_up(
                    WorkerLost(
                        f"no worker could be started within {_SECONDS_TO_START:g} s; free "
                        "processors of the cluster, or add a node. What is done is kept."
                    )
                )

    def close(self) -> None:
        with self._lock:
            workers = [*self._calls, *self._starting]
            self._waiting.clear()
            self._calls, self._starting = {}, set()
        for worker in workers:
            worker.stop()

    def _hand_out(self) -> None:
        while self._waiting and self._calls:
            worker = min(self._calls, key=lambda one: len(self._calls[one]))
            if len(self._calls[worker]) >= self._ahead:
                break
            future, args = self._waiting.popleft()
            self._calls[worker].append(future)
            worker.call("run", *args).add_done_callback(partial(self._answered, worker, future))
        while len(self._starting) < len(self._waiting) and len(self) < self._most:
            worker, ready = self._start()
            self._starting.add(worker)
            ready.add_done_callback(partial(self._started, worker))

    def _started(self, worker: Actor, ready: Future[Any]) -> None:
        with self._lock:
            if worker not in self._starting:
                return
            self._starting.discard(worker)
            error = ready.exception()
            if error is None:
                self._calls[worker] = []
                self._failures, self._last_ready = 0, time.monotonic()
            else:
                self._failures += 1
                if self._failures >= _MOST_FAILURES:
                    self._failures = 0
                    self._give_up(error)
            self._hand_out()

    def _answered(self, worker: Actor, future: Future[Any], answer: Future[Any]) -> None:
        error = answer.exception()
        with self._lock:
            if worker in self._calls:
                self._calls[worker].remove(future)
                self._last_ready = time.monotonic()
                if isinstance(error, WorkerLost):
                    # What it was given besides fails by itself, and is handed out again.
                    del self._calls[worker]
                    worker.stop()
            self._hand_out()
        if error is None:
            future.set_result(answer.result())
        else:
            future.set_exception(error)

    def _give_up(self, error: BaseException) -> None:
        while self._waiting:
            self._waiting.popleft()[0].set_exception(error)
