"""Work on all cores, with matrix products on one thread each.

OpenBLAS and our workers would otherwise wait for each other: a switch between their threads costs
milliseconds, as long as a tile takes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def on_all_cores(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """[work(item) …] on as many threads as NumPy's products would have used."""
    with _products_on_one_thread() as workers:
        if workers == 1 or len(items) == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(workers, thread_name_prefix="sfumato-matching") as pool:
            return list(pool.map(work, items))


class _OneThread:
    """Products stay on the calling thread; yields how many workers may run instead.

    Counted, because the setting belongs to the whole process: of several callers at once the
    first sets it and the last restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._workers = 1
        self._pools: Any = None
        self._limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[int]:
        with self._lock:
            if self._pools is None:  # looking for the libraries takes a millisecond
                control = import_module("threadpoolctl").ThreadpoolController()
                self._pools = control.select(user_api="blas")
            if self._users == 0:
                threads = (pool.num_threads for pool in self._pools.lib_controllers)
                self._workers = max(threads, default=1)
                self._limit = self._pools.limit(limits=1)
            self._users += 1
        try:
            yield self._workers
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._limit.restore_original_limits()


_products_on_one_thread = _OneThread()
