"""Poses from three points: the true pose is among them, and every one sees the points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sfumato.server.three_point import three_point_poses


def _solve(rays: np.ndarray, points: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    rotations, translations = np.zeros((4, 3, 3)), np.zeros((4, 3))
    count = three_point_poses(rays, points, rotations, translations)
    return list(zip(rotations[:count], translations[:count], strict=True))


def _random_case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    rotation = Rotation.random(random_state=seed).as_matrix()
    points = generator.normal(size=(3, 3))
    translation = np.array([0.0, 0.0, 4.0]) + generator.normal(size=3) * 0.3
    seen = points @ rotation.T + translation
    return seen / np.linalg.norm(seen, axis=1, keepdims=True), points, rotation, translation


def test_the_true_pose_is_among_the_solutions() -> None:
    missed = 0
    for seed in range(500):
        rays, points, rotation, translation = _random_case(seed)
        errors = [
            max(np.abs(found - rotation).max(), np.abs(moved - translation).max())
            for found, moved in _solve(rays, points)
        ]
        missed += min(errors, default=1.0) > 1e-5
    assert missed <= 2  # near-degenerate triangles lose digits


def test_every_solution_is_a_rotation_that_sees_the_points_along_the_rays() -> None:
    for seed in range(100):
        rays, points, _, _ = _random_case(seed)
        for rotation, translation in _solve(rays, points):
            assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-9)
            assert np.linalg.det(rotation) == pytest.approx(1)
            seen = points @ rotation.T + translation
            directions = seen / np.linalg.norm(seen, axis=1, keepdims=True)
            assert np.allclose(directions, rays, atol=1e-4)


@pytest.mark.parametrize(
    "points",
    [np.zeros((3, 3)), np.array([[0.0, 0, 1], [0, 0, 1], [1, 0, 0]]), np.arange(9.0).reshape(3, 3)],
    ids=["one point", "two points", "on a line"],
)
def test_points_that_fix_nothing_give_no_pose(points: np.ndarray) -> None:
    rays = np.eye(3)
    assert _solve(rays, points) == []
