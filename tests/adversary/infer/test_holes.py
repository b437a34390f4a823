"""What an empty region gives away, against the truth by brute force and against chance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.adversary.infer.holes import HolesAttack, empty_rectangles, missing_keypoints
from sfumato.core.releases import PlainRelease
from sfumato.detectors.base import overlap

SIZE = (400, 300)
HIDDEN = np.array([[120.0, 80, 200, 240]])


def all_empty(taken: NDArray[np.bool_]) -> set[tuple[int, int, int, int]]:
    """Every free rectangle that cannot grow, by trying all."""
    rows, columns = taken.shape

    def free(left: int, top: int, right: int, bottom: int) -> bool:
        inside = left >= 0 and top >= 0 and right <= columns and bottom <= rows
        return inside and not taken[top:bottom, left:right].any()

    return {
        (a, b, c, d)
        for a in range(columns)
        for c in range(a + 1, columns + 1)
        for b in range(rows)
        for d in range(b + 1, rows + 1)
        if free(a, b, c, d)
        and not any(
            free(*grown)
            for grown in ((a - 1, b, c, d), (a, b - 1, c, d), (a, b, c + 1, d), (a, b, c, d + 1))
        )
    }


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.7, 1.0])
def test_all_largest_empty_rectangles_are_found_once(share: float) -> None:
    generator = np.random.default_rng(int(share * 10))
    for _ in range(8):
        taken = generator.random((6, 8)) < share
        found = list(empty_rectangles(taken))
        assert len(found) == len(set(found))
        assert set(found) == all_empty(taken)


def release_of(points: NDArray[np.float64]) -> PlainRelease:
    descriptors = np.zeros((len(points), 8), dtype=np.uint8)
    return PlainRelease(
        keypoints=points.astype(np.float32),
        descriptors=descriptors,
        image_size=SIZE,
        extractor="sift",
    )


def scattered(seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).uniform(0, 1, (900, 2)) * (399, 299)


def test_a_hole_is_found_and_no_hole_is_not() -> None:
    found = 0
    for seed in range(5):
        points = scattered(seed)
        inside = ((points >= HIDDEN[0, :2]) & (points <= HIDDEN[0, 2:])).all(axis=1)
        best = HolesAttack(max_guesses=1).guess(release_of(points[~inside]))
        found += int(overlap(HIDDEN, best.corners).max() > 0.7)
        without = HolesAttack(max_guesses=1).guess(release_of(points))
        assert overlap(HIDDEN, without.corners).max(initial=0) < 0.3
    assert found == 5


def test_a_hole_at_the_border_is_found() -> None:
    corner = np.array([[0, 0, 120, 140]])
    points = scattered(0)
    outside = points[~(points < (120, 140)).all(axis=1)]
    best = HolesAttack(max_guesses=1).guess(release_of(outside))
    assert overlap(corner, best.corners).max() > 0.7


def test_releases_with_few_or_no_keypoints_give_no_guess() -> None:
    for count in (0, 1, 5):
        assert len(HolesAttack().guess(release_of(scattered(0)[:count]))) == 0


def test_what_is_missing_is_the_density_around_times_the_area() -> None:
    counts = np.ones((40, 40))
    counts[10:20, 10:30] = 0
    missing = missing_keypoints(counts, np.array([[10, 10, 30, 20]]))
    assert missing[0] == pytest.approx(200, rel=0.01)
