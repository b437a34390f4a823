"""Supporters of a match: counted exactly where photographs are, and bounded everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.matching.support import SupportOptions, count_supporters
from sfumato.matching.support_kernel import MOST, MOST_LOOKED_AT, count_in_grid

OPTIONS = SupportOptions()


def by_hand(query: NDArray[Any], reference: NDArray[Any], radius: float) -> NDArray[np.int64]:
    """The definition, pair by pair; every match has a position of its own."""
    counts = np.zeros(len(query), dtype=np.int64)
    for a in range(len(query)):
        q, r = query - query[a], reference - reference[a]
        lengths, others = np.hypot(*q.T), np.hypot(*r.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            stretch = np.maximum(lengths / others, others / lengths)
            cosine = (q * r).sum(axis=1) / (lengths * others)
        alike = (stretch <= OPTIONS.max_stretch) & (
            cosine >= np.cos(np.radians(OPTIONS.max_turn_deg))
        )
        near = (lengths <= radius) & (np.minimum(lengths, others) > OPTIONS.min_distance)
        counts[a] = min(int(np.count_nonzero(alike & near)), MOST)
    return counts


def test_supporters_are_those_of_the_definition() -> None:
    generator = np.random.default_rng(0)
    query = (generator.random((600, 2)) * (640, 480)).astype(np.float32)
    moved = generator.random((600, 1)) < 0.5
    reference = np.where(moved, query + 20, query[::-1]).astype(np.float32)
    found = count_supporters(query, reference, np.arange(600), 60.0, OPTIONS)
    assert found.max() > 10
    assert np.count_nonzero(found != by_hand(query, reference, 60.0)) <= 2  # float32 at an edge


def test_a_crowd_of_keypoints_takes_no_more_work_than_its_share() -> None:
    """All in one spot: without a bound every match would be compared with every other one."""
    generator = np.random.default_rng(1)
    count = 6 * MOST_LOOKED_AT
    query = generator.uniform(200, 240, (count, 2)).astype(np.float32)
    counts, pairs = count_in_grid(
        query, query + np.float32(5), np.arange(count), 60.0, 3.0, 1.7, 0.9
    )
    assert pairs <= count * MOST_LOOKED_AT
    assert counts.min() == MOST  # they all move alike, and that is still seen
