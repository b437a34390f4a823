"""Blocks of work on several threads, results in order, matrix products on one thread each.

A product of a cell is too small to be shared between threads: they would wait for each
other at its end, and for a long time when the machine is busy. So each worker takes its own
cells. Results are merged in the order of the blocks, so their number changes nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def single_threaded_products() -> Iterator[int]:
    """Matrix products stay on the calling thread; yields how many workers may run instead.

    Without the package threadpoolctl products are left as they are, and one worker runs.
    """
    try:
        control = import_module("threadpoolctl")
    except ImportError:
        yield 1
        return
    pools = [pool for pool in control.threadpool_info() if pool["user_api"] == "blas"]
    workers = max((int(pool["num_threads"]) for pool in pools), default=1)
    with control.threadpool_limits(limits=1, user_api="blas"):
        yield workers


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Yield work(item) in the order of the items, running a few of them ahead."""
    if workers == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="sfumato-kmeans") as pool:
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
