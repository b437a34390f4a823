"""One way to work through many items, wherever it runs: on threads here, in processes, on Ray.

    with started("ray://head:10001", workers=64) as execution:
        for result in execution.map(work, items, descriptors):  # work(descriptors, item) …
            …                                                   # … in the order of the items

`work` is a function of a module, so that another process can import it. What stands before the
item is handed over once, not once for each item, and is read-only there. Results come in the
order of the items unless they need not, so the number of workers and the place change nothing but
the time. Few items and few results are held at once, however many there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from itertools import islice
from typing import Any, Generic, Protocol, Self, TypeVar

from sfumato.core.errors import WorkerLost

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")
Total = TypeVar("Total")

#: How often an item is tried again whose worker was lost; an error of the work itself never is.
RETRIES = 3
#: Results that may wait for an earlier one, for each worker.
_WAITING = 4
_LOOK_EVERY = 10.0  # seconds


class Shared(Generic[Value]):
    """A value that workers have; closed, they forget it."""

    def __init__(self, place: Any, forget: Callable[[], None] = lambda: None) -> None:
        self.place, self._forget = place, forget

    def close(self) -> None:
        self._forget()
        self.place = None

    def __enter__(self) -> Shared[Value]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Actor(Protocol):
    """An object that lives in a process of its own and answers one call after the other."""

    def call(self, method: str, *args: Any, **named: Any) -> Future[Any]:
        """Ask for a method's result; WorkerLost where the process is gone before it answers."""
        ...

    def is_alive(self) -> bool: ...

    def restart(self) -> None:
        """Make the object anew from its first arguments; calls under way are lost."""
        ...

    def stop(self) -> None: ...


class Execution(ABC):
    """Where work runs, and on how many workers at once."""

    workers: int
    #: Whether work is done by other processes, which what is handed to them must reach.
    is_spread: bool = True

    @abstractmethod
    def share(self, value: Value) -> Shared[Value]:
        """Hand a value over once, for several maps. A memory-mapped file goes as its path."""

    @abstractmethod
    def start(
        self,
        kind: Callable[..., Any],
        *args: Any,
        name: str | None = None,
        restarts: int = 0,
        cpus: float = 1,
    ) -> Actor:
        """An actor `kind(*args)`.

        name      under which `find` finds it, from other processes of a cluster too
        restarts  how often it is made anew by itself where it was lost (-1: always)
        cpus      that a cluster keeps for it
        """

    @abstractmethod
    def find(self, name: str) -> Actor | None:
        """The actor that was started under this name, or None."""

    @abstractmethod
    def _submit(self, work: Callable[..., Any], shared: list[Any], item: Any) -> Future[Any]: ...

    @abstractmethod
    def _cancel(self, running: Iterable[Future[Any]]) -> None: ...

    def _look(self) -> None:  # noqa: B027 - only clusters have something to look at
        """Called now and then while results are waited for."""

    @property
    def _under_way(self) -> int:
        """How many items are handed out at once."""
        return self.workers

    def check_path(self, path: Any) -> None:  # noqa: B027
        """Refuse a path that some worker cannot see; here all can."""

    def close(self) -> None:  # noqa: B027
        """End what was started; nothing is left running."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(
        self,
        work: Callable[..., Result],
        items: Iterable[Item],
        *values: Any,
        ordered: bool = True,
        threads: int | None = None,
    ) -> Iterator[Result]:
        """work(*values, item) of every item; closed early, what is under way is cancelled.

        values   shared ones, or any others, which are shared as long as the map runs
        ordered  False yields each result as soon as it is there
        threads  of this process where nobody has chosen: few, if each takes much memory
        """
        with ExitStack() as stack:
            shared = [
                value if isinstance(value, Shared) else stack.enter_context(self.share(value))
                for value in values
            ]
            yield from self._run(work, enumerate(items), [one.place for one in shared], ordered)

    def reduce(
        self,
        add: Callable[[Total, Result], Total],
        start: Total,
        work: Callable[..., Result],
        items: Iterable[Item],
        *values: Any,
    ) -> Total:
        """add(… add(add(start, first), second) …): always in the order of the items."""
        total = start
        for result in self.map(work, items, *values):
            total = add(total, result)
        return total

    def _run(
        self,
        work: Callable[..., Any],
        items: Iterator[tuple[int, Any]],
        shared: list[Any],
        ordered: bool,
    ) -> Iterator[Any]:
        running: dict[Future[Any], tuple[int, Any, int]] = {}  # place, item, tries left
        finished: dict[int, Any] = {}
        place = 0
        try:
            while True:
                room = min(self._under_way, _WAITING * self.workers - len(finished)) - len(running)
                for number, item in islice(items, max(room, 0)):
                    running[self._submit(work, shared, item)] = (number, item, RETRIES)
                if not running:
                    return
                done = wait(running, _LOOK_EVERY, FIRST_COMPLETED).done
                if not done:
                    self._look()
                for future in done:
                    number, item, left = running.pop(future)
                    try:
                        finished[number] = future.result()
                    except WorkerLost:
                        if not left:
                            raise
                        running[self._submit(work, shared, item)] = (number, item, left - 1)
                while finished:
                    if not ordered:
                        yield finished.pop(next(iter(finished)))
                    elif place in finished:
                        yield finished.pop(place)
                        place += 1
                    else:
                        break
        finally:
            self._cancel(running)
