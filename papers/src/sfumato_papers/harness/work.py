"""Work through a list and tell how far it is; seeds that depend on what is drawn alone."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from typing import TypeVar

from sfumato.core.progress import Progress
from sfumato.core.randomness import SeededRandom

Item = TypeVar("Item")


def tracked(items: Collection[Item], stage: str, progress: Progress) -> Iterator[Item]:
    """The items one by one; progress is told before each, and when all are done."""
    for done, item in enumerate(items):
        progress(stage, done, len(items))
        yield item
    progress(stage, len(items), len(items))


def seed_of(*parts: object) -> int:
    """A seed that depends on these things only: every figure can be made again."""
    text = "|".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def seeded(*parts: object) -> SeededRandom:
    """Draws that depend on these things only: for measuring, never for sending."""
    return SeededRandom(seed_of(*parts))
