"""Where work runs now: chosen once, by a command or a program, for all that is called inside.

with started("local", workers=8):
    sf.build_dictionary("photos/", num_words=65536, output="words")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.execution.base import Execution
from sfumato.execution.threads import Threads

MAX_WORKERS = 100_000
_current: ContextVar[Execution | None] = ContextVar("execution", default=None)


def current() -> Execution:
    """What was chosen around this call; threads of this process where nothing was."""
    return _current.get() or Threads()


@contextmanager
def started(on: str = "local", workers: int | None = None) -> Iterator[Execution]:
    """Run all maps inside on local threads or processes, or on Ray; ended when it is left.

    on       "local", "ray" (the cluster of this machine, or one started for this), or
             "ray://host:port"
    workers  how many at once; without, a thread for each core here, all processors of a cluster.
             From 2 on, local workers are processes
    """
    if workers is not None:
        check_count("workers", workers, low=1, high=MAX_WORKERS)
    with _open(on, workers) as execution, use(execution):
        yield execution


@contextmanager
def use(execution: Execution) -> Iterator[None]:
    """Run all maps inside on this one, which stays open."""
    token = _current.set(execution)
    try:
        yield
    finally:
        _current.reset(token)


def _open(on: str, workers: int | None) -> Execution:
    if on == "local":
        if workers is None or workers == 1:
            return Threads(workers)
        from sfumato.execution.processes import Processes

        return Processes(workers)
    if on == "ray" or on.startswith("ray://"):
        from sfumato.execution.on_ray import connect

        return connect(on, workers)
    raise InvalidInput(f"work runs on local, ray or ray://HOST:PORT, got {on!r}.")
