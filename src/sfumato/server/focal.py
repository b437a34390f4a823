"""Is the focal length right? A pose with a wrong one can have many inliers, and be far off."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.lens import focal_lengths, project, with_focal
from sfumato.core.types import Camera, Pose
from sfumato.server.mapping.own_error import OwnError
from sfumato.server.pose import Estimate, PoseProblem, one_to_one, polish_pose
from sfumato.server.pose_fit import (
    FocalFit,
    best_step,
    focal_fit,
    focal_slopes,
    match_weights,
    moved_by,
    pose_slopes,
)
from sfumato.server.retrieval import MapRegion

#: A focal length is wrong beyond so many standard deviations, and beyond this relative change.
CLEAR_DEVIATIONS = 5.0
CLEAR_CHANGE = 0.01
#: Where the picture tells the focal length this well, one that fits needs no further test.
_WELL_TOLD = 0.02
#: A picture that cannot tell the focal length better than this cannot test it.
_NOT_TOLD = 0.1
_AS_MANY = 0.95  # inliers of the better pose; a few lie at the very limit
_HALF = 0.5  # of them before the first steps
#: A focal length far from the given one must make chance less likely by this power of ten, and
#: have so many times more inliers: a flat view fits nearly any.
_FAR, _GAIN, _MANY_MORE = 0.15, 6.0, 1.2
_ROUNDS = 3
_STARTS = (1.0, 0.8, 0.6, 1.25, 1.7)
_FEW_STARTS = (0.75, 1.35)  # where nothing speaks against the given one, to be sure
_NEAR = 50.0  # pixels: matches farther away are not looked at again
_TOLERANCES = (2.0, 2.0, 1.5, 1.0)
_STEPS = 3
_LARGEST_STEP = 0.25  # of the logarithm of the focal length

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FocalCheck:
    """A pose after its focal length was tested.

    camera   the one the pose belongs to, where the given one does not fit
    warning  what was found, in one sentence; None where the focal length fits
    is_refused  the pose must not be given, for the reason in the warning
    other    the pose with another focal length, where that fits as well: the truth may be there
    """

    estimate: Estimate
    camera: Camera | None = None
    warning: str | None = None
    is_refused: bool = False
    other: Pose | None = None


def check_focal(
    estimate: Estimate, candidates: MapRegion, problem: PoseProblem, own: OwnError
) -> FocalCheck:
    """Let the focal length vary with the pose; say so, and use another, where that fits clearly.

    Clearly: by more than five standard deviations, of the scatter of the matches and of what the
    map's own images show, by more than one per cent, and with as many inliers. Where the given one
    clearly does not fit and no other does, the pose is refused.
    """
    found_by = estimate
    # Matches by positions alone follow any focal length: only those by words or descriptors test.
    plain = replace(estimate, num_inliers=0, log10_chance=0.0)
    tested = polish_pose(plain, candidates, problem) if problem.words is not None else estimate
    given = focal_lengths(problem.camera)[0]
    if problem.words is not None and tested.log10_chance > problem.options.max_log10_chance:
        return FocalCheck(found_by, None, _untold(given, found_by, problem))  # too few true words
    estimate = tested if tested.num_inliers else estimate
    fit = _fit(estimate, problem)
    deviation = _deviation(fit, own)
    # A wrong focal length scatters the matches as well: its own deviation hides it a little.
    if deviation < _WELL_TOLD and abs(fit.log_change) < max(deviation, CLEAR_CHANGE):
        return FocalCheck(found_by)
    fits = abs(fit.log_change) < deviation < _NOT_TOLD
    found = _best_fit(estimate, candidates, problem, _FEW_STARTS if fits else _STARTS)
    if found is not None:
        better, camera = found
        focal = focal_lengths(camera)[0]
        told = _deviation(_fit(better, replace(problem, camera=camera)), own)
        change = abs(math.log(focal / given))
        as_many = better.num_inliers >= _AS_MANY * estimate.num_inliers
        if as_many and change > max(CLEAR_DEVIATIONS * told, CLEAR_CHANGE):
            gained = estimate.log10_chance - better.log10_chance
            more = better.num_inliers >= _MANY_MORE * estimate.num_inliers
            if change > _FAR and not (gained >= _GAIN and more):
                if abs(fit.log_change) < 2 * deviation:  # a flat view fits both
                    return FocalCheck(
                        found_by,
                        None,
                        f"the picture does not tell whether the focal length of {given:.5g} pixels "
                        f"is right: {focal:.5g} fits as well, and the camera would then stand "
                        f"{found_by.pose.error_to(better.pose)[0]:.2g} away; the expected error "
                        "covers both",
                        other=better.pose,
                    )
                return FocalCheck(found_by, None, _misfit(given), is_refused=True)
            return FocalCheck(
                better,
                camera,
                f"the camera's focal length is given as {given:.5g} pixels, the picture fits "
                f"{focal:.5g} ± {2 * focal * told:.2g}; the pose was computed with that",
            )
    if abs(fit.log_change) > max(CLEAR_DEVIATIONS * deviation, CLEAR_CHANGE):
        return FocalCheck(found_by, None, _misfit(given), is_refused=True)
    if deviation > _NOT_TOLD:
        return FocalCheck(found_by, None, _untold(given, estimate, problem))
    return FocalCheck(found_by)


def _untold(given: float, estimate: Estimate, problem: PoseProblem) -> str:
    return (
        f"the picture does not tell whether the focal length of {given:.5g} pixels is right; "
        f"were it 1 % off, the position would be {_shift(estimate, problem):.2g} off"
    )


def _misfit(given: float) -> str:
    return (
        f"the focal length of {given:.5g} pixels does not fit the picture, and which one does is "
        "not clear; check the camera's intrinsics"
    )


def _best_fit(
    estimate: Estimate, candidates: MapRegion, problem: PoseProblem, starts: tuple[float, ...]
) -> tuple[Estimate, Camera] | None:
    """The pose with most inliers at any focal length; sought again from one that is far off."""
    best: tuple[Estimate, Camera] | None = None
    for _ in range(_ROUNDS):
        found = [_refined(estimate, candidates, problem, factor) for factor in starts]
        tried = [one for one in found if one is not None]
        known = best[0].num_inliers if best else 0
        if not tried or max(one[0].num_inliers for one in tried) <= known:
            break
        best = max(tried, key=lambda one: one[0].num_inliers)
        ratio = focal_lengths(best[1])[0] / focal_lengths(problem.camera)[0]
        if abs(math.log(ratio)) < _FAR:
            break
        estimate, problem = best[0], replace(problem, camera=best[1])
    return best


def _deviation(fit: FocalFit, own: OwnError) -> float:
    return math.sqrt(fit.variance + own.focal**2)


def _matched(estimate: Estimate, problem: PoseProblem) -> tuple[Floats, Floats]:
    keypoints = problem.keypoints[estimate.keypoint].astype(np.float64)
    return keypoints, np.asarray(problem.points[estimate.point], dtype=np.float64)


def _fit(estimate: Estimate, problem: PoseProblem) -> FocalFit:
    camera, limit = problem.camera, problem.options.max_error
    keypoints, points = _matched(estimate, problem)
    slopes = pose_slopes(camera, estimate.pose, points)
    pixels = project(camera, estimate.pose.apply(points))
    return focal_fit(camera, slopes, pixels, keypoints, limit, estimate.expected_wrong)


def _shift(estimate: Estimate, problem: PoseProblem) -> float:
    """How far the position moves when the focal length changes by one per cent."""
    _, points = _matched(estimate, problem)
    pixels = project(problem.camera, estimate.pose.apply(points))
    slopes = pose_slopes(problem.camera, estimate.pose, points)
    errors = 0.01 * focal_slopes(problem.camera, pixels)[:, :, 0]
    return float(np.linalg.norm(best_step(slopes, errors, np.ones(len(points)))[3:]))


def _refined(
    estimate: Estimate, candidates: MapRegion, problem: PoseProblem, factor: float
) -> tuple[Estimate, Camera] | None:
    """Pose and focal length that fit best together, sought from a multiple of the given one."""
    camera, pose = with_focal(problem.camera, factor), estimate.pose
    matched = _matched(estimate, problem)
    if factor != 1:  # the same matches, seen with another lens, stand elsewhere
        for _ in range(_STEPS):
            found = _step(camera, pose, *matched, limit=_NEAR, is_fixed=True)
            if found is None:
                return None
            pose = found[1]
    keypoints, points = problem.matches(candidates)
    away = np.abs(project(camera, pose.apply(points)) - keypoints).max(axis=1)
    near = np.flatnonzero(away < _NEAR)
    keypoints, points = keypoints[near], points[near]
    region = replace(candidates, keypoint=candidates.keypoint[near], point=candidates.point[near])
    for number, tolerance in enumerate((*_TOLERANCES, 1.0)):
        limit = tolerance * problem.options.max_error
        errors = project(camera, pose.apply(points)) - keypoints
        used = one_to_one(np.hypot(errors[:, 0], errors[:, 1]), region, limit)
        if len(used) < (_AS_MANY if number > 1 else _HALF) * estimate.num_inliers:
            return None  # most starts end here
        for _ in range(_STEPS):
            found = _step(camera, pose, keypoints[used], points[used], limit=limit)
            if found is None:
                return None
            camera, pose = found
    start = replace(estimate, pose=pose, num_inliers=0, log10_chance=0.0)
    better = polish_pose(start, candidates, replace(problem, camera=camera))
    return (better, camera) if better.num_inliers else None


def _step(
    camera: Camera,
    pose: Pose,
    keypoints: Floats,
    points: Floats,
    *,
    limit: float,
    is_fixed: bool = False,
) -> tuple[Camera, Pose] | None:
    """One step of Gauss and Newton for pose and focal length, or the pose alone."""
    pixels = project(camera, pose.apply(points))
    weights = match_weights(pixels - keypoints, limit)
    used = weights > 0
    if np.count_nonzero(used) < 8:
        return None
    slopes = pose_slopes(camera, pose, points[used])
    if not is_fixed:
        slopes = np.concatenate([slopes, focal_slopes(camera, pixels[used])], axis=2)
    step = np.append(-best_step(slopes, (pixels - keypoints)[used], weights[used]), 0.0)
    if not np.isfinite(step).all():
        return None
    # A step that is too long is shortened as a whole: pose and focal length belong together.
    step *= min(1.0, _LARGEST_STEP / max(abs(step[6]), 1e-12))
    return with_focal(camera, math.exp(step[6])), moved_by(pose, step[:6])
