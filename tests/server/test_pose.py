"""What could be chance, and how support tells true matches from wrong ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import poisson

from sfumato.core.types import Camera, Pose
from sfumato.matching.nearest import mutual_nearest
from sfumato.matching.subspace import mutual_nearest as mutual_nearest_subspaces
from sfumato.matching.support import (
    SupportOptions,
    count_supporters,
    positions,
    support_radius,
)
from sfumato.matching.support_kernel import MOST
from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server.near_kernel import MOST_LOOKED_AT, count_near
from sfumato.server.pose import (
    Estimate,
    PoseOptions,
    PoseProblem,
    covers_picture,
    expected_by_chance,
    log10_chance,
)
from sfumato.server.upright import rotation_between

GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize(("inliers", "mean"), [(12, 0.3), (30, 2.0), (200, 20.0), (9, 0.001)])
def test_the_bound_on_chance_lies_just_above_the_exact_tail(inliers: int, mean: float) -> None:
    exact = 3 * math.log10(500) + poisson.logsf(inliers - 4, mean) / math.log(10)
    bound = log10_chance(inliers, mean, 500)
    assert exact <= bound + 1e-9
    assert bound < exact + 0.3


def test_few_inliers_prove_nothing() -> None:
    for inliers in range(5):
        assert log10_chance(inliers, 0.5, 1000) > 0
    assert log10_chance(20, 25.0, 1000) > 0
    assert log10_chance(10, 0.1, 300, fixed_by=2) < log10_chance(10, 0.1, 300)


def test_the_expectation_is_what_random_partners_give() -> None:
    keypoints = (GENERATOR.random((400, 2)) * 300).astype(np.float32)
    projected = GENERATOR.random((500, 2)) * 300
    projected[:20] = np.nan
    expected = expected_by_chance(projected, keypoints, 6.0)
    counted = []
    for _ in range(300):
        partner = keypoints[GENERATOR.integers(0, 400, 500)]
        distance = np.linalg.norm(projected - partner, axis=1)
        counted.append(np.count_nonzero(distance <= 6))
    assert expected == pytest.approx(np.mean(counted), rel=0.15)


@pytest.mark.parametrize(("count", "radius"), [(400, 6.0), (400, 0.4), (3, 20.0), (1, 5.0)])
def test_pairs_that_are_near_are_counted_one_by_one(count: int, radius: float) -> None:
    generator = np.random.default_rng(count)
    keypoints = generator.random((count, 2)) * (300, 40)
    places = generator.random((600, 2)) * (340, 80) - 20
    places[:9] = np.nan
    apart = np.linalg.norm(places[9:, None] - keypoints, axis=2)
    assert count_near(places, keypoints, radius) == np.count_nonzero(apart <= radius)


def test_a_crowd_of_keypoints_is_counted_by_a_part_of_it() -> None:
    crowd = np.full((4 * MOST_LOOKED_AT, 2), 50.0)
    assert count_near(np.array([[50.0, 51.0], [90.0, 90.0]]), crowd, 6.0) == len(crowd)


def test_inliers_cover_a_picture_if_they_lie_where_its_keypoints_do() -> None:
    keypoints = (np.random.default_rng(0).random((800, 2)) * (640, 480)).astype(np.float32)
    camera = Camera("PINHOLE", 640, 480, (500.0, 500.0, 320.0, 240.0))
    problem = PoseProblem(keypoints, np.zeros((0, 3)), camera, PoseOptions())

    def covered(rows: np.ndarray) -> bool:
        pose = Pose(np.eye(3), np.zeros(3))
        return covers_picture(Estimate(pose, len(rows), 800, -50.0, rows, rows), problem)

    assert covered(np.arange(0, 800, 5))
    assert not covered(np.flatnonzero(keypoints[:, 0] < 300))  # one poster, many inliers
    assert not covered(np.arange(0, 800, 50))  # a single one in a cell may be chance


def test_true_matches_have_neighbours_and_wrong_ones_do_not() -> None:
    options = SupportOptions()
    size = np.array([1600.0, 1200.0])
    true = GENERATOR.random((150, 2)) * size
    angle = np.radians(10)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = true @ turn.T * 1.2 + (30, 40)
    wrong = GENERATOR.random((1000, 4)) * np.tile(size, 2)
    query = np.concatenate([true, wrong[:, :2]]).astype(np.float32)
    reference = np.concatenate([moved, wrong[:, 2:]]).astype(np.float32)
    area = float(size.prod())
    radius = support_radius(len(query), area, area, options)
    support = count_supporters(query, reference, positions(query), radius, options)
    assert support[:150].mean() > 5 * support[150:].mean()
    assert support[150:].mean() < 2 * options.chance


def test_support_counts_each_position_once() -> None:
    """A word filed a hundred times under one keypoint is one neighbour, not a hundred."""
    query = np.array([[100.0, 100.0]] + [[120.0, 100.0]] * 100, dtype=np.float32)
    reference = np.array([[300.0, 300.0]] + [[320.0, 300.0]] * 100, dtype=np.float32)
    support = count_supporters(query, reference, positions(query), 50.0, SupportOptions())
    assert support.tolist() == [1] * 101


def plain_count(
    query: np.ndarray, reference: np.ndarray, radius: float, options: SupportOptions
) -> list[int]:
    """The definition, pair by pair."""
    counts = []
    for i in range(len(query)):
        found = set()
        for j in range(len(query)):
            dq, dr = query[j] - query[i], reference[j] - reference[i]
            a, b = float(np.hypot(*dq)), float(np.hypot(*dr))
            if not options.min_distance < a <= radius or b <= options.min_distance:
                continue
            if max(a, b) > options.max_stretch * min(a, b):
                continue
            if dq @ dr >= math.cos(math.radians(options.max_turn_deg)) * a * b:
                found.add(tuple(query[j]))
        counts.append(len(found))
    return counts


@pytest.mark.parametrize("radius", [15.0, 60.0, 500.0])
def test_compiled_support_is_the_definition(radius: float) -> None:
    options = SupportOptions()
    query = (GENERATOR.random((250, 2)) * 200).astype(np.float32)
    query[100:150] = query[:50]
    reference = (query * 1.1 + GENERATOR.normal(size=(250, 2)) * 8).astype(np.float32)
    counted = count_supporters(query, reference, positions(query), radius, options)
    expected = np.minimum(plain_count(query, reference, radius, options), MOST)
    assert np.count_nonzero(counted != expected) <= 2  # float32 at the very edge
    assert counted.sum() > 100


def test_support_of_nothing_is_nothing() -> None:
    for count in (0, 1):
        empty = np.zeros((count, 2), dtype=np.float32)
        found = count_supporters(empty, empty, positions(empty), 50.0, SupportOptions())
        assert found.tolist() == [0] * count


def test_the_inverted_index_finds_every_row_of_every_word() -> None:
    words = GENERATOR.integers(0, 20, 300)
    rows = GENERATOR.permutation(1000)[:300]
    index = InvertedIndex.build(words, rows, 20)
    asked = GENERATOR.integers(0, 20, (50, 3)).astype(np.uint32)
    keypoint, row = index.lookup(asked)
    expected = {
        (q, int(r), k)
        for q, sent in enumerate(asked.tolist())
        for k, w in enumerate(sent)
        for r in rows[words == w]
    }
    assert len(keypoint) == len(expected)
    assert set(zip(keypoint.tolist(), row.tolist(), strict=True)) == {
        (q, r) for q, r, _ in expected
    }
    assert index.counts(np.arange(20)).sum() == 300


def test_mutual_neighbours_agree_with_a_plain_search() -> None:
    a, b = GENERATOR.normal(size=(80, 8)), GENERATOR.normal(size=(120, 8))
    distance = np.linalg.norm(a[:, None] - b[None], axis=2)
    expected = [
        (i, int(j)) for i, j in enumerate(distance.argmin(axis=1)) if distance[:, j].argmin() == i
    ]
    rows, nearest = mutual_nearest(a, b)
    assert list(zip(rows.tolist(), nearest.tolist(), strict=True)) == expected
    strict_rows, _ = mutual_nearest(a, b, max_ratio=0.8)
    assert set(strict_rows) <= set(rows)
    empty, _ = mutual_nearest(a[:0], b)
    assert empty.shape == (0,)


def test_subspaces_meet_their_points() -> None:
    points = GENERATOR.normal(size=(60, 10))
    bases = np.linalg.qr(GENERATOR.normal(size=(60, 10, 3)))[0].transpose(0, 2, 1)
    shift = np.einsum("nm,nmd->nd", GENERATOR.normal(size=(60, 3)), bases)
    rows, nearest = mutual_nearest_subspaces((points + shift, bases), points)
    assert (rows == nearest).all()
    assert len(rows) == 60


def test_rotations_between_directions() -> None:
    for a, b in ((GENERATOR.normal(size=3), GENERATOR.normal(size=3)) for _ in range(20)):
        rotation = rotation_between(a, b)
        assert np.allclose(rotation @ a / np.linalg.norm(a), b / np.linalg.norm(b))
        assert np.linalg.det(rotation) == pytest.approx(1)
    for a in np.eye(3):
        assert np.allclose(rotation_between(a, -a) @ a, -a)
        assert np.allclose(rotation_between(a, a), np.eye(3))
