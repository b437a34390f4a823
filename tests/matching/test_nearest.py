"""Mutual nearest neighbours between descriptors."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.matching import nearest
from sfumato.matching.nearest import mutual_nearest

RNG = np.random.default_rng(3)
QUERY = RNG.integers(0, 256, (40, 16), dtype=np.uint8)
REFERENCE = np.concatenate([RNG.integers(0, 256, (90, 16), dtype=np.uint8), QUERY[::2] ^ 1])


def by_hand(max_ratio: float | None) -> set[tuple[int, int]]:
    apart = ((QUERY[:, None].astype(int) - REFERENCE[None].astype(int)) ** 2).sum(axis=2)
    found = set()
    for row, distances in enumerate(apart):
        first, second = np.argsort(distances)[:2]
        near = max_ratio is None or distances[first] <= max_ratio**2 * distances[second]
        if near and apart[:, first].argmin() == row:
            found.add((row, int(first)))
    return found


@pytest.mark.parametrize("max_ratio", [None, 0.8])
@pytest.mark.parametrize("block", [1, 7, 55, 1000])
def test_blocks_do_not_change_the_pairs(
    monkeypatch: pytest.MonkeyPatch, block: int, max_ratio: float | None
) -> None:
    monkeypatch.setattr(nearest, "_BLOCK", block)
    rows, places = mutual_nearest(QUERY, REFERENCE, max_ratio=max_ratio)
    found = {(int(row), int(place)) for row, place in zip(rows, places, strict=True)}
    assert found == by_hand(max_ratio)
    assert len(found) >= 20


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(Mismatch, match="16 and 15 dimensions"):
        mutual_nearest(QUERY, REFERENCE[:, :15])
    broken = REFERENCE.astype(np.float32)
    broken[100, 3] = np.nan
    with pytest.raises(InvalidInput, match="reference"):
        mutual_nearest(QUERY, broken)
    for a, b in ((QUERY[:0], REFERENCE), (QUERY, REFERENCE[:0])):
        assert [len(part) for part in mutual_nearest(a, b)] == [0, 0]
