"""How far a pose is expected to be off: the scatter of its matches, and the map's own error."""

from __future__ import annotations

import math

import numpy as np

from sfumato.core.lens import project
from sfumato.core.pose_error import PoseError
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.own_error import own_error_of
from sfumato.server.pose import Estimate, PoseProblem
from sfumato.server.pose_fit import covariance_of, pose_slopes, radius_90


def expected_error(estimate: Estimate, problem: PoseProblem, world: Map) -> PoseError:
    """What a pose's own matches say about it, and what the map's images say about the map.

    Position and rotation are the radii of 90 % of a normal law with that covariance.
    """
    camera, pose = problem.camera, estimate.pose
    keypoints = problem.keypoints[estimate.keypoint].astype(np.float64)
    points = np.asarray(problem.points[estimate.point], dtype=np.float64)
    slopes = pose_slopes(camera, pose, points)
    scatter = covariance_of(
        slopes,
        project(camera, pose.apply(points)) - keypoints,
        keypoints,
        limit=problem.options.max_error,
        expected_wrong=estimate.expected_wrong,
    )
    row = world.rows_of_points.lookup(estimate.point[:1, None])[1][:1]
    shared = own_error_of(world, int(world.image_of(row)[0]))
    covariance = scatter + shared.covariance(slopes, camera)
    covariance = (covariance + covariance.T) / 2
    return PoseError(
        radius_90(covariance[3:, 3:]),
        # The angle between two rotations is at most half a turn.
        min(math.degrees(radius_90(covariance[:3, :3])), 180.0),
        covariance,
    )
