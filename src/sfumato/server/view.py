"""A frame of a sequence: its candidates, and how they fit a pose that was carried to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.lens import focal_lengths, project
from sfumato.core.types import Pose
from sfumato.server.motion import OdometryError, compose
from sfumato.server.pose import PoseProblem, expected_by_chance
from sfumato.server.retrieval import MapRegion, Retrieval

#: Of what a frame is sure of alone, the part that the carried pose explains at least.
EXPLAINED = 0.25


@dataclass(frozen=True, eq=False)
class View:
    """A frame with its candidates; cam_from_rig by odometry, the middle frame is the rig.

    steps  frames between it and the middle one
    """

    problem: PoseProblem
    retrieval: Retrieval
    from_rig: Pose
    odometry: OdometryError
    steps: int

    @property
    def candidates(self) -> MapRegion:
        return self.retrieval.all_candidates

    @property
    def area(self) -> float:
        """Of the picture, in square pixels."""
        return float(self.problem.camera.width * self.problem.camera.height)

    def pose(self, rig: Pose) -> Pose:
        return compose(self.from_rig, rig)

    def errors(self, pose: Pose) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How far each candidate is from where the pose puts it (NaN behind), and its depth."""
        keypoints, points = self.problem.matches(self.candidates)
        inside = pose.apply(points)
        away = project(self.problem.camera, inside) - keypoints
        return np.hypot(away[:, 0], away[:, 1]), inside[:, 2]

    def limit(self, depth: NDArray[np.float64]) -> float:
        """Pixels that a right candidate may be off: its own error, and what the motion adds."""
        seen = depth[depth > 0]
        middle = float(np.median(seen)) if len(seen) else math.inf
        way = float(np.linalg.norm(self.from_rig.center))
        angle = self.odometry.angle(way, middle, self.steps)
        return self.problem.options.max_error + max(focal_lengths(self.problem.camera)) * angle

    def fits(self, rig: Pose, tolerance: float = 1.0) -> tuple[NDArray[np.int64], float, int]:
        """Candidates that fit, within how many pixels, and how many could: those it sees."""
        errors, depth = self.errors(self.pose(rig))
        limit = tolerance * self.limit(depth)
        return np.flatnonzero(errors <= limit), limit, int(np.count_nonzero(np.isfinite(errors)))

    def count(self, fits: NDArray[np.int64]) -> int:
        """Each keypoint and each point of the map counted once, whichever are fewer."""
        region = self.candidates
        return min(len(np.unique(region.keypoint[fits])), len(np.unique(region.point[fits])))

    def weigh(self, rig: Pose) -> tuple[int, float]:
        """How many candidates fit, and how many would by chance."""
        fits, limit, _ = self.fits(rig)
        _, points = self.problem.matches(self.candidates)
        projected = project(self.problem.camera, self.pose(rig).apply(points))
        return self.count(fits), expected_by_chance(projected, self.problem.keypoints, limit)


def promise(rig: Pose, views: Sequence[View]) -> float:
    """How far the candidates that fit in all frames exceed an even spread of wrong ones."""
    count = expected = 0.0
    for view in views:
        fits, limit, could = view.fits(rig)
        count += view.count(fits)
        expected += could * math.pi * limit**2 / view.area
    return (count - expected) / math.sqrt(expected + 1)
