"""Matches are exact, mutual and clear; the geometry sorts out the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from server.mapping.worlds import PINHOLE, look_at, point_world
from sfumato.core.errors import InvalidInput
from sfumato.core.lens import project, unproject
from sfumato.core.types import Pose
from sfumato.server.mapping.correspondences import epipolar_errors, match_descriptors, match_pairs


def slow_matches(
    first: NDArray[Any], second: NDArray[Any], ratio: float, power: float
) -> list[list[int]]:
    """The definition, written out."""
    table = ((first[:, None].astype(float) - second[None]) ** 2).sum(axis=2) ** power
    found = []
    for i, row in enumerate(table):
        j = int(row.argmin())
        others = np.delete(row, j)
        if table[:, j].argmin() == i and row[j] < ratio * others.min(initial=np.inf):
            found.append([i, j])
    return found


@pytest.mark.parametrize("seed", range(5))
def test_bytes_match_as_the_definition_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 256, (600, 16), dtype=np.uint8)
    second = np.clip(first[rng.permutation(600)[:500]] + rng.integers(-90, 91, (500, 16)), 0, 255)
    second = second.astype(np.uint8)
    found = match_descriptors(first, second, ratio=0.8)
    assert 50 < len(found) < 495
    assert found.tolist() == slow_matches(first, second, 0.8, 0.5)


def test_bits_match_by_how_many_differ() -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(0, 256, (300, 8), dtype=np.uint8)
    second = first ^ (rng.integers(0, 256, (300, 8)) & rng.integers(0, 256, (300, 8))).astype(
        np.uint8
    )
    bits = (np.unpackbits(first, axis=1), np.unpackbits(second, axis=1))
    found = match_descriptors(first, second, ratio=0.8, binary=True)
    assert len(found) > 20
    assert found.tolist() == slow_matches(*bits, 0.8, 1.0)


def test_twins_match_nothing_and_no_row_matches_twice() -> None:
    one = np.array([[10, 0], [200, 0]], dtype=np.uint8)
    assert match_descriptors(one, np.vstack([one, one])).shape == (0, 2)
    assert match_descriptors(np.vstack([one, one]), one).tolist() == [[0, 0], [1, 1]]


def test_no_descriptors_give_no_matches() -> None:
    none, some = np.empty((0, 4), np.uint8), np.ones((3, 4), np.uint8)
    for first, second in ((none, some), (some, none), (none, none)):
        assert match_descriptors(first, second).shape == (0, 2)


def test_bad_requests_are_refused() -> None:
    some = np.ones((3, 4), np.uint8)
    with pytest.raises(InvalidInput, match="ratio must be above 0"):
        match_descriptors(some, some, ratio=1.5)
    with pytest.raises(InvalidInput, match="one dimension, got 4 and 5"):
        match_descriptors(some, np.ones((3, 5), np.uint8))


def test_pairs_come_back_in_their_order() -> None:
    world = point_world(num_images=4, num_points=80)
    pairs = [(2, 3), (0, 1), (1, 3)]
    told: list[int] = []
    found = list(
        match_pairs(
            list(world.features.values()), pairs, progress=lambda stage, done, _: told.append(done)
        )
    )
    assert [pair for pair, _ in found] == pairs
    assert told == [1, 2, 3]
    truth = list(world.truth.values())
    for (i, j), rows in found:
        assert len(rows) > 40
        assert (truth[i][rows[:, 0]] == truth[j][rows[:, 1]]).all()


def test_the_epipolar_error_is_zero_for_truth_and_about_the_shift_for_a_shift() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform([-1, -1, 4], [1, 1, 6], (50, 3))
    first, second = look_at([-1, 0, 0], [0, 0, 5]), look_at([1, 0, 0], [0, 0, 5])
    a, b = (project(PINHOLE, pose.apply(points)) for pose in (first, second))

    def errors(shift: float) -> NDArray[np.float64]:
        rays = unproject(PINHOLE, a), unproject(PINHOLE, b + np.array([0, shift]))
        return epipolar_errors(*rays, first, second, (510.0, 510.0))

    assert errors(0.0).max() < 1e-9
    # Lines are nearly horizontal here: half of a vertical shift is blamed on each image.
    assert errors(3.0) == pytest.approx(3 / np.sqrt(2), rel=0.2)


def test_two_images_from_one_place_verify_nothing() -> None:
    pose = look_at([1, 2, 3], [0, 0, 9])
    turned = Pose(pose.rotation, pose.translation)
    rays = np.zeros((3, 2))
    assert np.isinf(epipolar_errors(rays, rays, pose, turned, (1.0, 1.0))).all()
