"""A pose by positions, most of whose pairs are wrong, knows how far it is off."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.geometry import nearest_rotation
from sfumato.core.lens import project
from sfumato.core.types import Pose
from sfumato.server.guided_kernel import refine_pose
from sfumato.server.keypoint_field import DETECTED, KeypointField
from sfumato.server.pose_fit import covariance_of, pose_slopes, radius_90, step_between
from sfumato.server.soft_fit import SoftMatches, soft_covariance
from synthetic import CAMERA, make_room, pose_at

POSE = pose_at(0.7, 0.1, 0.8, turn_deg=5, roll_deg=4)
POINTS = make_room().points
PARTS = (slice(3), slice(3, 6))


def fitted(generator: np.random.Generator, noise: float) -> tuple[Pose, SoftMatches, np.ndarray]:
    """A pose fitted to 300 points, of which a quarter has a keypoint among 700 others."""
    pixels = project(CAMERA, POSE.apply(POINTS))
    seen = np.flatnonzero((pixels > 0).all(axis=1) & (pixels < (640, 480)).all(axis=1))
    points = POINTS[generator.choice(seen, 300, replace=False)]
    right = project(CAMERA, POSE.apply(points[:75])) + generator.normal(size=(75, 2)) * noise
    others = generator.uniform(0, 1, (700, 2)) * (640, 480)
    keypoints = np.concatenate([right, others]).astype(np.float32)
    field = KeypointField(keypoints, CAMERA)
    rotation, translation, _, belongs, weight = refine_pose(
        np.ascontiguousarray(POSE.rotation), np.ascontiguousarray(POSE.translation), points,
        np.full(len(points), -1), np.full(len(points), DETECTED), field.places, field.density,
        field.nearest, field.lens, np.full(20, noise), 0.0,
    )  # fmt: skip
    near = np.flatnonzero((belongs >= 0) & (weight > 1e-3))
    matches = SoftMatches(field.row_of[belongs[near]], near, weight[near], noise)
    return (
        Pose(nearest_rotation(rotation), translation),
        matches,
        np.column_stack([points[near], keypoints[matches.keypoint]]),
    )


@pytest.mark.parametrize(("noise", "too_sure"), [(1.0, 0.88), (2.0, 0.8)])
def test_stated_regions_hold_nine_poses_of_ten_where_most_pairs_are_wrong(
    noise: float, too_sure: float
) -> None:
    generator = np.random.default_rng(7)
    inside: list[list[np.bool_]] = []
    if_all_were_right: list[list[np.bool_]] = []
    for _ in range(100):
        pose, matches, pairs = fitted(generator, noise)
        points, keypoints = pairs[:, :3], pairs[:, 3:]
        slopes = pose_slopes(CAMERA, pose, points)
        errors = project(CAMERA, pose.apply(points)) - keypoints
        stated, shared = soft_covariance(slopes, errors, keypoints, matches)
        assert np.linalg.eigvalsh(shared).min() > 0
        step = step_between(pose, POSE)
        likely = matches.weight > 0.5
        as_right = covariance_of(slopes[likely], errors[likely], keypoints[likely], limit=6.0)
        for row, covariance in ((inside, stated), (if_all_were_right, as_right)):
            row.append([np.linalg.norm(step[p]) <= radius_90(covariance[p, p]) for p in PARTS])
    assert 0.84 <= np.mean(inside) <= 0.96
    assert np.mean(if_all_were_right) < too_sure


def test_a_wrong_pair_adds_nothing_to_what_is_told_of_a_shared_error() -> None:
    pose, matches, pairs = fitted(np.random.default_rng(3), 1.0)
    slopes = pose_slopes(CAMERA, pose, pairs[:, :3])
    errors = project(CAMERA, pose.apply(pairs[:, :3])) - pairs[:, 3:]
    _, shared = soft_covariance(slopes, errors, pairs[:, 3:], matches)
    right = matches.weight > 0.9
    of_right = np.linalg.inv(np.einsum("nij,nik->jk", slopes[right], slopes[right]))
    ratio = radius_90(shared[3:, 3:]) / radius_90(of_right[3:, 3:] * right.sum())
    assert ratio == pytest.approx(1.0, abs=0.35)
