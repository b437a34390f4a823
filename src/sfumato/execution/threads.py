"""Work on threads of this process: the default, which needs nothing to be started."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar

from sfumato.core.errors import WorkerLost
from sfumato.core.threads import THREAD_NAME, single_threaded_products
from sfumato.execution.base import Actor, Execution, Item, Result, Shared, Value


class Threads(Execution):
    """As many threads as NumPy's products would have used, or as many as are asked for."""

    is_spread = False
    only: ClassVar[int | None] = None  # in a worker: its other cores belong to others

    def __init__(self, workers: int | None = None) -> None:
        self._asked = workers or self.only
        self.workers = workers or 1
        self._pool: ThreadPoolExecutor | None = None
        self._named: dict[str, Actor] = {}

    def share(self, value: Value) -> Shared[Value]:
        return Shared(value)

    def map(
        self,
        work: Callable[..., Result],
        items: Iterable[Item],
        *values: Any,
        ordered: bool = True,
        threads: int | None = None,
    ) -> Iterator[Result]:
        known = [value.place if isinstance(value, Shared) else value for value in values]
        if self._asked is None and threads == 1:  # as if there were no map around it
            yield from (work(*known, item) for item in items)
            return
        with single_threaded_products() as usual:
            one = Threads()  # of its own, so that maps may run inside one another
            one.workers = self._asked or threads or usual
            if one.workers == 1:
                yield from (work(*known, item) for item in items)
                return
            with ThreadPoolExecutor(one.workers, thread_name_prefix=THREAD_NAME) as one._pool:
                yield from super(Threads, one).map(work, items, *values, ordered=ordered)

    def start(
        self,
        kind: Callable[..., Any],
        *args: Any,
        name: str | None = None,
        restarts: int = 0,
        cpus: float = 1,
    ) -> Actor:
        made = _Neighbour(kind, args)
        if name is not None:
            self._named[name] = made
        return made

    def find(self, name: str) -> Actor | None:
        return self._named.get(name)

    def _submit(self, work: Callable[..., Any], shared: list[Any], item: Any) -> Future[Any]:
        assert self._pool is not None
        return self._pool.submit(work, *shared, item)

    def _cancel(self, running: Iterable[Future[Any]]) -> None:
        for future in running:
            future.cancel()


class _Neighbour:
    """An object of this process, asked as one of another would be."""

    def __init__(self, kind: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._make: Callable[[], Any] = lambda: kind(*args)
        self._lock = threading.Lock()
        self._object: Any = self._make()

    def call(self, method: str, *args: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            try:
                if self._object is None:
                    raise WorkerLost("this actor was stopped; start it again.")
                future.set_result(getattr(self._object, method)(*args, **named))
            except Exception as error:  # noqa: BLE001 - it is the caller's, as from a process
                future.set_exception(error)
        return future

    def is_alive(self) -> bool:
        return self._object is not None

    def restart(self) -> None:
        self._object = self._make()

    def stop(self) -> None:
        self._object = None
