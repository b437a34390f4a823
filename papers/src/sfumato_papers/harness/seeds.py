"""Seeds that depend on what is drawn, and on nothing else: every figure can be made again."""

from __future__ import annotations

import hashlib

from sfumato.core.randomness import SeededRandom


def seed_of(*parts: object) -> int:
    """A seed that depends on these things only."""
    text = "|".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def seeded(*parts: object) -> SeededRandom:
    """Draws that depend on these things only: for measuring, never for sending."""
    return SeededRandom(seed_of(*parts))
