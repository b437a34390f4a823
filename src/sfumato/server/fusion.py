"""Poses of several frames and the motion between them → the pose of each, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.geometry import cross_matrix
from sfumato.core.types import Pose
from sfumato.server.motion import OdometryError, compose, inverse
from sfumato.server.pose_fit import Floats, moved_by, step_between


@dataclass(frozen=True, eq=False)
class SpreadPose:
    """A pose; (6, 6) covariance by its matches, and per squared radian that all matches share."""

    pose: Pose
    scatter: Floats
    shared: Floats


def carried(known: SpreadPose, motion: Pose, odometry: OdometryError, steps: int) -> SpreadPose:
    """What a frame's pose says about another frame; motion leads from its camera to the other's.

    A turn ω of the first camera turns the second as well, and moves it around the first.
    """
    turned = np.eye(6)
    turned[:3, :3] = motion.rotation
    turned[3:, :3] = known.pose.rotation.T @ cross_matrix(motion.center)
    way = float(np.linalg.norm(motion.center))
    return SpreadPose(
        compose(motion, known.pose),
        turned @ known.scatter @ turned.T + odometry.covariance(way, steps),
        turned @ known.shared @ turned.T,
    )


def fuse_poses(
    known: Sequence[SpreadPose | None], motions: Sequence[Pose], odometry: OdometryError
) -> list[SpreadPose]:
    """The pose of every frame from what all say about it, each weighted by how sure it is.

    known    what is known of each frame alone; at least of one
    motions  cam_from_odometry of each
    """
    fused = []
    for i, here in enumerate(motions):
        said = [
            (abs(i - j), carried(one, compose(here, inverse(motions[j])), odometry, abs(i - j)))
            for j, one in enumerate(known)
            if one is not None
        ]
        nearest = min(said, key=lambda one: one[0])[1]
        weights = [np.linalg.pinv(one.scatter, hermitian=True) for _, one in said]
        steps = [step_between(nearest.pose, one.pose) for _, one in said]
        scatter = np.linalg.pinv(np.sum(weights, axis=0), hermitian=True)
        step = scatter @ np.sum([w @ s for w, s in zip(weights, steps, strict=True)], axis=0)
        fused.append(SpreadPose(moved_by(nearest.pose, step), scatter, nearest.shared))
    return fused
