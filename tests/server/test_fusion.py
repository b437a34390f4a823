"""Poses of frames and their motion, put together as a normal law would."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sfumato.core.types import Pose
from sfumato.server.fusion import SpreadPose, carried, fuse_poses
from sfumato.server.motion import OdometryError, compose, inverse
from sfumato.server.pose_fit import moved_by, step_between
from synthetic import pose_at

HERE = pose_at(0.7, 0.1, 0.8, turn_deg=25, roll_deg=4)
MOTION = Pose(Rotation.from_rotvec([0.1, -0.3, 0.05]).as_matrix(), np.array([0.4, -0.1, 0.3]))
EXACT = OdometryError(0.0, 0.0)


def spread(pose: Pose, size: float) -> SpreadPose:
    return SpreadPose(pose, np.eye(6) * size**2, np.eye(6))


def test_an_error_is_carried_as_the_poses_are() -> None:
    generator = np.random.default_rng(0)
    root = generator.normal(size=(6, 6)) * 1e-3
    known = SpreadPose(HERE, root @ root.T, root @ root.T)
    there = carried(known, MOTION, EXACT, steps=1)
    for _ in range(5):
        step = root @ generator.normal(size=6)
        moved = compose(MOTION, moved_by(HERE, step))
        found = step_between(there.pose, moved)
        # Whitened by both covariances, a step has the same length.
        before = step @ np.linalg.solve(known.scatter, step)
        assert found @ np.linalg.solve(there.scatter, found) == pytest.approx(before, rel=0.05)
    np.testing.assert_allclose(there.shared, there.scatter)


def test_the_motions_error_is_added_and_grows_with_the_frames_between() -> None:
    known, odometry = spread(HERE, 1e-9), OdometryError(0.03, 0.6)
    way = float(np.linalg.norm(MOTION.center))
    for steps in (1, 4):
        stated = np.trace(carried(known, MOTION, odometry, steps).scatter[:3, :3])
        assert np.sqrt(stated) == pytest.approx(np.radians(0.6) * np.sqrt(steps), rel=1e-3)
    moved = carried(known, MOTION, odometry, 1).scatter[3:, 3:]
    assert np.sqrt(np.trace(moved)) == pytest.approx(0.03 * way, rel=1e-3)


def test_two_frames_that_are_equally_sure_meet_in_the_middle_and_are_surer() -> None:
    off = np.array([2e-3, 0, 0, 0, 4e-3, 0])
    motions = [Pose(np.eye(3), np.zeros(3)), Pose(np.eye(3), np.zeros(3))]
    known = [spread(HERE, 0.01), spread(moved_by(HERE, off), 0.01)]
    for one in fuse_poses(known, motions, EXACT):
        np.testing.assert_allclose(step_between(HERE, one.pose), off / 2, atol=1e-6)
        np.testing.assert_allclose(one.scatter, np.eye(6) * 0.01**2 / 2, rtol=1e-3, atol=1e-9)


def test_a_frame_that_knows_nothing_gets_the_pose_of_its_neighbour() -> None:
    odometry = OdometryError(0.02, 0.5)
    motions = [Pose(np.eye(3), np.zeros(3)), MOTION]
    first, second = fuse_poses([spread(HERE, 1e-3), None], motions, odometry)
    assert first.pose.error_to(HERE)[0] < 1e-9
    distance, degrees = second.pose.error_to(compose(MOTION, HERE))
    assert distance < 1e-9
    assert degrees < 1e-5
    assert np.trace(second.scatter) > np.trace(first.scatter)
    back = compose(inverse(MOTION), second.pose)
    assert back.error_to(HERE)[0] < 1e-9
