"""Work on several threads, with matrix products on one thread each.

OpenBLAS and our workers would otherwise wait for each other: a switch between their threads takes
milliseconds, as long as one piece of our work. Results come in the order of the items, so the
number of threads changes nothing but the time.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

THREAD_NAME = "sfumato-work"
#: Threads for work that is not matrix products: pictures to decode or render. Each holds one.
FEW_THREADS = min(os.cpu_count() or 1, 4)


def on_all_cores(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """[work(item) …] on as many threads as NumPy's products would have used."""
    with single_threaded_products() as workers:
        return list(in_order(work, items, min(workers, len(items))))


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yield work(item) in the order of the items, running a few of them ahead."""
    if workers <= 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(workers, thread_name_prefix=THREAD_NAME) as pool:
        ahead: deque[Future[Result]] = deque()
        try:
            for item in items:
                ahead.append(pool.submit(work, item))
                if len(ahead) > 2 * workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()


class _SingleThreadedProducts:
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
        self._staying: Any = None

    def stay(self) -> None:
        """From now on this process is one worker of many: no products on threads, no threads."""
        if self._staying is None:
            self._staying = self()
            self._staying.__enter__()
            self._workers = 1

    @contextmanager
    def __call__(self) -> Iterator[int]:
        with self._lock:
            if self._pools is None:  # looking for the libraries takes a millisecond
                from threadpoolctl import ThreadpoolController

                self._pools = ThreadpoolController().select(user_api="blas")
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


single_threaded_products = _SingleThreadedProducts()
