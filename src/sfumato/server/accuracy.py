"""How far a pose is expected to be off: the scatter of its matches, and the map's own error."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.inliers import Inliers
from sfumato.core.lens import focal_lengths, principal_point, project
from sfumato.core.pose_error import PoseError
from sfumato.core.types import Camera, Localization
from sfumato.server.focal import check_focal
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.own_error import OwnError, own_error_of
from sfumato.server.pose import Estimate, PoseProblem
from sfumato.server.pose_fit import (
    best_step,
    covariance_of,
    focal_slopes,
    inverse_information,
    pose_slopes,
    radius_90,
    step_between,
)
from sfumato.server.retrieval import MapRegion
from sfumato.server.soft_fit import soft_covariance

#: Of the picture's side. Principal points of lenses lie within a few hundredths of the middle.
_FAR_FROM_MIDDLE = 0.125


def own_error(estimate: Estimate, world: Map) -> OwnError:
    """Of the part of the map where a pose was found."""
    row = world.rows_of_points.lookup(estimate.point[:1, None])[1][:1]
    return own_error_of(world, int(world.image_of(row)[0]))


def expected_error(
    estimate: Estimate, problem: PoseProblem, own: OwnError, *, has_free_focal: bool = False
) -> PoseError | None:
    """What a pose's own matches say about it, and what the map's images say about the map.

    None where the matches do not fix the pose at all. has_free_focal: the focal length was fitted
    as well.
    """
    scatter, shared = pose_spread(estimate, problem, has_free_focal=has_free_focal)
    covariance = scatter + own.covariance(shared)
    if has_free_focal:  # what pictures of this map get wrong about focal lengths moves the pose
        points = np.asarray(problem.points[estimate.point], dtype=np.float64)
        pixels = project(problem.camera, estimate.pose.apply(points))
        slopes = pose_slopes(problem.camera, estimate.pose, points)
        errors = focal_slopes(problem.camera, pixels)[:, :, 0]
        moved = best_step(slopes, errors, np.ones(len(slopes)))
        covariance = covariance + own.focal**2 * np.outer(moved, moved)
    return stated_error(covariance)


def pose_spread(
    estimate: Estimate, problem: PoseProblem, *, has_free_focal: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(6, 6) covariance by the scatter of the matches; and per squared radian that all share."""
    camera, pose, soft = problem.camera, estimate.pose, estimate.soft
    pairs = estimate if soft is None else soft
    keypoints = problem.keypoints[pairs.keypoint].astype(np.float64)
    points = np.asarray(problem.points[pairs.point], dtype=np.float64)
    slopes, pixels = pose_slopes(camera, pose, points), project(camera, pose.apply(points))
    errors = pixels - keypoints
    if soft is not None:
        scatter, shared = soft_covariance(slopes, errors, keypoints, soft)
    else:
        limit, wrong = problem.options.max_error, estimate.expected_wrong
        fitted = [slopes, focal_slopes(camera, pixels)] if has_free_focal else [slopes]
        scatter = covariance_of(
            np.concatenate(fitted, axis=2), errors, keypoints, limit=limit, expected_wrong=wrong
        )
        inverse, told = inverse_information(slopes, errors, limit, wrong)
        shared = told * inverse
    fx, fy = focal_lengths(camera)
    return scatter[:6, :6], fx * fy * shared


def stated_error(covariance: NDArray[np.float64]) -> PoseError | None:
    """Position and rotation as the radii of 90 % of a normal law with this covariance."""
    covariance = (covariance + covariance.T) / 2
    if not np.isfinite(covariance).all():
        return None
    return PoseError(
        radius_90(covariance[3:, 3:]),
        # The angle between two rotations is at most half a turn.
        min(math.degrees(radius_90(covariance[:3, :3])), 180.0),
        covariance,
    )


def tested_answer(best: Estimate, candidates: MapRegion, problem: PoseProblem) -> Localization:
    """A believed pose, after its focal length was tested, with its expected error."""
    if problem.world is None:
        return Localization(best.pose, best.num_inliers, best.num_matches, best.log10_chance)
    own = own_error(best, problem.world)
    checked = check_focal(best, candidates, problem, own)
    best, used = checked.estimate, replace(problem, camera=checked.camera or problem.camera)
    evidence = (best.num_inliers, best.num_matches, best.log10_chance)
    if checked.is_refused:
        return Localization(None, *evidence, checked.warning)
    error = expected_error(best, used, own, has_free_focal=checked.camera is not None)
    if error is not None and checked.other is not None:
        away = step_between(best.pose, checked.other)
        error = stated_error(error.covariance + np.outer(away, away))
    return Localization(
        best.pose,
        *evidence,
        error=error,
        warning=checked.warning or off_center_warning(problem.camera),
        camera=checked.camera,
        inliers=Inliers(best.keypoint, np.asarray(problem.points[best.point])),
    )


def off_center_warning(camera: Camera) -> str | None:
    """Principal points are not tested; one far from the middle is right only for a cut picture."""
    x, y = principal_point(camera)
    size = camera.width, camera.height
    away = max(abs(x / size[0] - 0.5), abs(y / size[1] - 0.5))
    if away <= _FAR_FROM_MIDDLE:
        return None
    return (
        f"the principal point ({x:.5g}, {y:.5g}) is far from the middle of the picture; unless the "
        "picture was cut from a larger one, the intrinsics are wrong and so is the pose"
    )
