"""Work through a list and tell how far it is; seeds that depend on what is drawn alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import SeededRandom
from sfumato.execution import current

Item = TypeVar("Item")
Result = TypeVar("Result")


_SHOWN: ContextVar[Progress] = ContextVar("progress", default=silent)


@contextmanager
def progress_shown_by(bar: Progress) -> Iterator[None]:
    """Let this bar show how far a run is."""
    token = _SHOWN.set(bar)
    try:
        yield
    finally:
        _SHOWN.reset(token)


def show_progress(stage: str, done: int, total: int) -> None:
    """Tell how far a run is, to the bar of its command; to nobody where there is none."""
    _SHOWN.get()(stage, done, total)


def tracked(items: Collection[Item], stage: str) -> Iterator[Item]:
    """The items one by one; progress is shown before each, and when all are done."""
    for done, item in enumerate(items):
        show_progress(stage, done, len(items))
        yield item
    show_progress(stage, len(items), len(items))


def worked_through(
    work: Callable[..., Result], items: Collection[Item], stage: str, *shared: Any
) -> Iterator[Result]:
    """work(*shared, item) of every item, in their order; one after the other, or on workers.

    Where a command is given --on or --workers these do it, and otherwise this process as if it
    were a loop. What is shared is handed to each worker once.
    """
    show_progress(stage, 0, len(items))
    found = current().map(work, items, *shared, threads=1)
    for done, result in enumerate(found, start=1):
        yield result
        show_progress(stage, done, len(items))


def evenly(items: Sequence[Item], count: int | None) -> list[Item]:
    """So many of the items, spread evenly over all; all of them where there are no more."""
    step = max(len(items) / count, 1.0) if count else 1.0
    return [items[int(i * step)] for i in range(min(count or len(items), len(items)))]


def seed_of(*parts: object) -> int:
    """A seed that depends on these things only: every figure can be made again."""
    text = "|".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def seeded(*parts: object) -> SeededRandom:
    """Draws that depend on these things only: for measuring, never for sending."""
    return SeededRandom(seed_of(*parts))
