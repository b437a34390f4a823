"""Points come back where they were, and wrong matches do not bring them down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from server.mapping.worlds import PINHOLE, PointWorld, point_world
from sfumato.core.errors import InvalidInput
from sfumato.core.lens import focal_lengths, unproject
from sfumato.server.mapping.tracks import join_tracks, one_per_image, spread
from sfumato.server.mapping.triangulate import TriangulationOptions, Views, triangulate_matches

OPTIONS = TriangulationOptions()


def views_of(world: PointWorld) -> tuple[Views, NDArray[np.int64]]:
    """The views of a world, and the true point of each feature row."""
    names = list(world.features)
    views = Views(
        rays=np.vstack([unproject(PINHOLE, world.features[name].keypoints) for name in names]),
        image_of=np.repeat(np.arange(len(names)), [len(world.features[name]) for name in names]),
        rotations=np.stack([world.poses[name].rotation for name in names]),
        translations=np.stack([world.poses[name].translation for name in names]),
        focals=np.tile(focal_lengths(PINHOLE), (len(names), 1)),
    )
    return views, np.concatenate([world.truth[name] for name in names])


def true_edges(truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """All pairs of rows that show one point."""
    same = (truth[:, None] == truth[None]) & (truth[:, None] >= 0)
    return np.argwhere(np.triu(same, 1))


def test_without_noise_points_are_where_they_were() -> None:
    world = point_world()
    views, truth = views_of(world)
    points, seen = triangulate_matches(views, true_edges(truth), OPTIONS)
    rows = np.flatnonzero(seen >= 0)
    assert len(points) > 250
    assert np.abs(points[seen[rows]] - world.points[truth[rows]]).max() < 1e-3
    # Every feature whose point is in the map sees it.
    assert len(rows) == np.isin(truth, truth[rows]).sum()


def test_noise_moves_points_a_little() -> None:
    world = point_world(noise=0.5)
    views, truth = views_of(world)
    points, seen = triangulate_matches(views, true_edges(truth), OPTIONS)
    rows = np.flatnonzero(seen >= 0)
    assert np.median(np.linalg.norm(points[seen[rows]] - world.points[truth[rows]], axis=1)) < 0.02
    assert views.errors(rows, points[seen[rows]]).max() <= OPTIONS.max_reprojection_error


def test_two_points_joined_by_a_wrong_match_become_two_points() -> None:
    world = point_world(num_points=40)
    views, truth = views_of(world)
    edges = true_edges(truth)
    clean, _ = triangulate_matches(views, edges, OPTIONS)
    # Chain point 0 to 1, 2 to 3 and so on: every track now hits each image twice.
    wrong = [
        [np.flatnonzero(truth == even)[0], np.flatnonzero(truth == even + 1)[-1]]
        for even in range(0, 40, 2)
        if (truth == even).any() and (truth == even + 1).any()
    ]
    points, seen = triangulate_matches(views, np.vstack([edges, wrong]), OPTIONS)
    assert len(join_tracks(np.vstack([edges, wrong]))) <= len(clean) // 2 + 2
    assert len(points) == len(clean)
    for point in range(len(points)):
        assert len(set(truth[seen == point])) == 1


def test_each_image_sees_a_point_at_most_once_and_two_see_it() -> None:
    world = point_world(noise=1.0, clutter=100)
    views, truth = views_of(world)
    rng = np.random.default_rng(3)
    wrong = rng.integers(0, len(truth), (400, 2))
    wrong = wrong[views.image_of[wrong[:, 0]] != views.image_of[wrong[:, 1]]]
    points, seen = triangulate_matches(views, np.vstack([true_edges(truth), wrong]), OPTIONS)
    rows = np.flatnonzero(seen >= 0)
    pairs = np.stack([seen[rows], views.image_of[rows]], axis=1)
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert np.bincount(seen[rows], minlength=len(points)).min() >= 2
    right = [len(set(truth[seen == point])) == 1 for point in range(len(points))]
    assert np.mean(right) > 0.8


def test_the_same_seed_gives_the_same_points() -> None:
    views, truth = views_of(point_world(noise=1.0, num_images=12))
    first, second = (triangulate_matches(views, true_edges(truth), OPTIONS, seed=4) for _ in "ab")
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])


def test_rays_that_hardly_differ_make_no_point() -> None:
    world = point_world(num_images=2)
    views, truth = views_of(world)
    strict = replace(OPTIONS, min_angle_deg=60.0)
    points, seen = triangulate_matches(views, true_edges(truth), strict)
    assert points.shape == (0, 3)
    assert (seen == -1).all()


def test_points_behind_the_cameras_are_refused() -> None:
    views, truth = views_of(point_world(num_images=3))
    assert len(triangulate_matches(views, true_edges(truth), OPTIONS)[0]) > 250
    # Half a turn of each camera about its y: the same lines, but the points lie behind.
    turn = np.diag([-1.0, 1.0, -1.0])
    behind = replace(
        views,
        rays=views.rays * [1, -1],
        rotations=turn @ views.rotations,
        translations=views.translations @ turn,
    )
    assert len(triangulate_matches(behind, true_edges(truth), OPTIONS)[0]) == 0


def test_no_matches_give_no_points() -> None:
    views, _ = views_of(point_world(num_images=2))
    points, seen = triangulate_matches(views, np.empty((0, 2), np.int64), OPTIONS)
    assert points.shape == (0, 3)
    assert (seen == -1).all()


@pytest.mark.parametrize("name", ["max_epipolar_error", "max_reprojection_error", "min_angle_deg"])
def test_options_must_be_positive(name: str) -> None:
    for value in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InvalidInput, match=name):
            TriangulationOptions(**{name: value})


def test_members_of_groups_are_listed_in_order() -> None:
    owner, member = spread(np.array([0, 2, 2, 5]), np.array([2, 0, 1, 2]))
    assert owner.tolist() == [0, 0, 0, 1, 1, 3, 3, 3]
    assert member.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]


def test_the_nearest_of_one_image_stands_for_it() -> None:
    kept = one_per_image(
        np.array([0, 0, 0, 1]), np.array([5, 5, 6, 5]), np.array([0.9, 0.2, 0.5, 0.7])
    )
    assert sorted(kept.tolist()) == [1, 2, 3]
