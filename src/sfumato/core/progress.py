"""How long work tells that it is alive, without knowing who is listening."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with a stage in words, how much of it is done, and how much there is."""

    def __call__(self, stage: str, done: int, total: int) -> None: ...


def silent(stage: str, done: int, total: int) -> None:
    """Tell nobody."""
