"""Work in processes of this machine, which may be lost and are then replaced."""

from __future__ import annotations

import multiprocessing
import os
import queue
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sfumato.core.errors import WorkerLost
from sfumato.execution.base import Actor, Execution, Shared, Value
from sfumato.execution.messages import Answer, answer, read_value, use_one_core, write_value
from sfumato.execution.pool import Pool

_context = multiprocessing.get_context("spawn")


class Processes(Execution):
    """So many processes, each started when there is work for it."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._folder: Path | None = None
        self._numbers = count()
        self._pool = Pool(workers, _start_worker)
        self._started: list[Process] = []
        self._named: dict[str, Actor] = {}

    def share(self, value: Value) -> Shared[Value]:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="sfumato-"))
        path = self._folder / str(next(self._numbers))
        write_value(path, value)
        return Shared(path, lambda: path.unlink(missing_ok=True))

    def start(
        self,
        kind: Callable[..., Any],
        *args: Any,
        name: str | None = None,
        restarts: int = 0,
        cpus: float = 1,
    ) -> Actor:
        made = Process(kind, args, restarts)
        self._started.append(made)
        if name is not None:
            self._named[name] = made
        return made

    def find(self, name: str) -> Actor | None:
        return self._named.get(name)

    def close(self) -> None:
        self._pool.close()
        for process in self._started:
            process.stop()
        self._started, self._named = [], {}
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _submit(self, work: Callable[..., Any], shared: list[Any], item: Any) -> Future[Any]:
        return self._pool.submit(work, shared, item)

    def _cancel(self, running: Iterable[Future[Any]]) -> None:
        self._pool.cancel(running, kill=True)


def _start_worker() -> tuple[Actor, Future[Any]]:
    ready: Future[Any] = Future()
    ready.set_result(None)
    return Process(_Work, ()), ready


class _Work:
    """What a worker is: it runs functions, and holds the values shared with the present ones."""

    def __init__(self) -> None:
        self._values: dict[Path, Any] = {}

    def run(self, work: Callable[..., Any], shared: list[Path], item: Any) -> Any:
        self._values = {
            path: self._values[path] if path in self._values else read_value(path)
            for path in shared
        }
        return work(*self._values.values(), item)


class Process:
    """An actor in a process of this machine; a thread here hands it one call after the other."""

    def __init__(self, kind: Callable[..., Any], args: tuple[Any, ...], restarts: int = 0) -> None:
        self._recipe, self._restarts = (kind, args), restarts
        self._calls: queue.SimpleQueue[tuple[Future[Any], Any] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._stopped = False
        self._begin()
        threading.Thread(target=self._hand_over, daemon=True).start()

    @property
    def pid(self) -> int | None:
        pid: int | None = self._process.pid
        return pid

    def call(self, method: str, *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._calls.put((future, (method, args, named)))
        return future

    def is_alive(self) -> bool:
        return not self._stopped and bool(self._process.is_alive())

    def restart(self) -> None:
        with self._lock:
            self._end()
            self._stopped = False
            self._begin()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._end()
        self._calls.put(None)

    def _begin(self) -> None:
        self._line, theirs = _context.Pipe()
        self._process = _context.Process(
            target=_serve, args=(theirs, *self._recipe), daemon=True, name="sfumato-worker"
        )
        try:
            self._process.start()
        finally:
            theirs.close()

    def _end(self) -> None:
        self._process.kill()
        self._process.join()  # the thread that waits for its answer then sees the end

    def _hand_over(self) -> None:
        while True:
            wanted = self._calls.get()
            if wanted is None:
                if self._stopped:
                    return
                continue
            future, message = wanted
            with self._lock:
                line, process = self._line, self._process
                if not self._stopped and not process.is_alive() and self._restarts:
                    self._restarts -= self._restarts > 0
                    self._end()
                    self._begin()
                    line = self._line
            try:
                line.send(message)
                found: Answer = line.recv()
            except (EOFError, OSError):
                process.join(1)
                ended = f"ended with code {process.exitcode}"
                future.set_exception(WorkerLost(f"a worker process {ended} before it answered."))
            except Exception as error:  # noqa: BLE001 - what cannot be pickled, for instance
                future.set_exception(error)
            else:
                try:
                    future.set_result(found.value())
                except Exception as error:  # noqa: BLE001 - the work's own
                    future.set_exception(error)


def _serve(line: Connection[Any, Any], kind: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """The life of a worker process: it ends with the one that started it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # who started it says when it is over
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use_one_core()
    with suppress(EOFError, OSError):
        made = answer(kind, *args)
        while True:
            method, positional, named = line.recv()
            found = made
            if made.error is None:
                found = answer(getattr(made.result, method), *positional, **named)
            line.send(found)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
