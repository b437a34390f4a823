"""How a pose fits its matches: derivatives, small steps, and the spread of the best pose.

A step is six numbers: a rotation about the camera's axes in radians, then a move of the camera's
center in the world. Matches weigh as in Cauchy's loss, and those beyond the limit not at all.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import nearest_rotation
from sfumato.core.lens import focal_lengths, principal_point, project, projection_slopes
from sfumato.core.types import Camera, Pose

#: Keypoints of one place have one error: several orientations and sizes are found at it.
_SAME_PLACE = 4.0
#: A share of wrong matches that could not have given a believed pose.
_MOST_WRONG = 0.7
_STEPS = 6

Floats = NDArray[np.float64]


def loss_scale(limit: float) -> float:
    """Where Cauchy's loss begins to doubt a match, for matches up to `limit` pixels."""
    return limit / 3


def pose_slopes(camera: Camera, pose: Pose, points: Floats) -> Floats:
    """(N, 2, 6) how points of the world move in the picture, in pixels, with a step."""
    inside = pose.apply(points)
    slopes = projection_slopes(camera, inside)
    # A rotation ω moves a point p of the camera by ω × p.
    turning = np.cross(inside[:, None, :], slopes)
    return np.concatenate([turning, -slopes @ pose.rotation], axis=2)


def moved_by(pose: Pose, step: Floats) -> Pose:
    """The pose after a step."""
    from scipy.spatial.transform import Rotation

    rotation = nearest_rotation(Rotation.from_rotvec(step[:3]).as_matrix() @ pose.rotation)
    return Pose(rotation, -rotation @ (pose.center + step[3:6]))


def step_between(pose: Pose, other: Pose) -> Floats:
    """The step from one pose to another."""
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_matrix(other.rotation @ pose.rotation.T).as_rotvec()
    return np.concatenate([turn, other.center - pose.center])


def refine_pose(
    camera: Camera, pose: Pose, keypoints: Floats, points: Floats, limit: float
) -> tuple[Pose, NDArray[np.bool_]]:
    """The pose near this one that fits best, and which matches fit it."""
    for _ in range(_STEPS):
        errors = project(camera, pose.apply(points)) - keypoints
        weights = match_weights(errors, limit)
        used = weights > 0
        if np.count_nonzero(used) < 6:
            return pose, used
        slopes = pose_slopes(camera, pose, points[used])
        pose = moved_by(pose, -best_step(slopes, errors[used], weights[used]))
    errors = project(camera, pose.apply(points)) - keypoints
    return pose, match_weights(errors, limit) > 0


def match_weights(errors: Floats, limit: float) -> Floats:
    """Cauchy's weight of each (N, 2) error; 0 beyond the limit and behind the camera."""
    squares = (errors * errors).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.where(squares <= limit**2, 1 / (1 + squares / loss_scale(limit) ** 2), 0.0)


def best_step(slopes: Floats, errors: Floats, weights: Floats) -> Floats:
    """What, by Gauss and Newton, the parameters have too much."""
    weighted = slopes * weights[:, None, None]
    normal = np.einsum("nij,nik->jk", weighted, slopes)
    pull = np.einsum("nij,ni->j", weighted, errors)
    return np.asarray(np.linalg.lstsq(normal, pull, rcond=None)[0])


def covariance_of(
    slopes: Floats, errors: Floats, keypoints: Floats, *, limit: float, expected_wrong: float = 0.0
) -> Floats:
    """(k, k) covariance of parameters fitted to matches, from how the matches scatter.

    A⁻¹·B·A⁻¹: B sums the products of what each place of the picture pulls with; A is how the
    pull changes with the parameters. Noise of keypoints, errors of the map's points and wrong
    matches all scatter, so B holds them. Wrong matches lie anywhere within the limit: moving
    the pose exchanges them for others and their pull does not change, so their part is taken
    from A. What all matches share (a map that is bent or shifted) is not seen here.

    slopes (N, 2, k), errors (N, 2), keypoints (N, 2); expected_wrong of the N match by chance
    """
    weights = match_weights(errors, limit)
    inverse, _ = inverse_information(slopes, errors, limit, expected_wrong)
    # The fit has followed each match a little; its error was larger by that.
    leverage = weights / 2 * np.einsum("nij,jk,nik->n", slopes, inverse, slopes, optimize=True)
    pull = np.einsum("nij,n,ni->nj", slopes, weights / np.clip(1 - leverage, 0.2, 1), errors)
    pulls = sum_by_place(pull, keypoints)
    few = len(pulls) / max(len(pulls) - slopes.shape[2] / 2, 1.0)
    return np.asarray(few * inverse @ (pulls.T @ pulls) @ inverse)


def inverse_information(
    slopes: Floats, errors: Floats, limit: float, expected_wrong: float = 0.0
) -> tuple[Floats, float]:
    """(k, k) A⁻¹, and how many matches of full weight tell as much."""
    weights, scale = match_weights(errors, limit), loss_scale(limit)
    bent = np.einsum("n,ni,nj->nij", 2 * (weights / scale) ** 2, errors, errors)
    change = weights[:, None, None] * np.eye(2) - bent
    normal = np.einsum("nij,nil,nlk->jk", slopes, change, slopes, optimize=True)
    every = np.einsum("nij,nik->jk", slopes, slopes)
    of_wrong = min(expected_wrong / len(slopes), _MOST_WRONG) / (1 + (limit / scale) ** 2)
    told = float(np.trace(change, axis1=1, axis2=2).sum() / 2 - of_wrong * len(slopes))
    return invert(normal - of_wrong * every, every), max(told, 1.0)


def sum_by_place(values: Floats, keypoints: Floats) -> Floats:
    """(places, k) sums of (N, k) values over keypoints that lie at one place."""
    _, place = np.unique(np.floor(keypoints / _SAME_PLACE), axis=0, return_inverse=True)
    return summed(values, place.ravel(), int(place.max()) + 1)


def summed(values: Floats, owner: NDArray[np.int64], count: int) -> Floats:
    """(count, k) sums of (N, k) values by owner."""
    return np.stack([np.bincount(owner, column, count) for column in values.T], axis=1)


class FocalFit(NamedTuple):
    """By how much the logarithm of the focal length would change, and its variance."""

    log_change: float
    variance: float


def focal_fit(
    camera: Camera,
    slopes: Floats,
    pixels: Floats,
    keypoints: Floats,
    limit: float,
    expected_wrong: float = 0.0,
) -> FocalFit:
    """What focal length the matches of a pose fit best, if pose and focal length were both free.

    One step from the given one: exact only near it.
    """
    errors = pixels - keypoints
    with_focal = np.concatenate([slopes, focal_slopes(camera, pixels)], axis=2)
    step = -best_step(with_focal, errors, match_weights(errors, limit))
    covariance = covariance_of(
        with_focal, errors, keypoints, limit=limit, expected_wrong=expected_wrong
    )
    return FocalFit(float(step[6]), float(covariance[6, 6]))


def focal_slopes(camera: Camera, pixels: Floats) -> Floats:
    """(N, 2, 1) how pixels move with the logarithm of the focal length: away from the center."""
    return np.asarray((pixels - principal_point(camera))[:, :, None])


def shared_covariance(slopes: Floats, camera: Camera) -> Floats:
    """(k, k) covariance per squared radian of an error that all matches share.

    A picture that is bent or shifted as a whole misleads a thousand matches as much as ten, most
    where they hardly fix the pose: n·(Σ JᵀJ)⁻¹.
    """
    fx, fy = focal_lengths(camera)
    mean = np.einsum("nij,nik->jk", slopes, slopes) / (fx * fy * len(slopes))
    return np.linalg.pinv(mean, rcond=1e-12, hermitian=True)


def invert(normal: Floats, every: Floats) -> Floats:
    """The inverse, where need be of a matrix that is kept from losing its sign.

    With few matches the curvature may vanish in a direction; the pose is then badly fixed in it,
    and no better than a tenth of what equal weights would say.
    """
    size = np.sqrt(np.maximum(np.diag(every), 1e-300))
    values, vectors = np.linalg.eigh(normal / np.outer(size, size))
    least = 0.1 * np.linalg.eigvalsh(every / np.outer(size, size))
    values = np.maximum(values, np.maximum(least, 1e-12))
    return np.asarray((vectors / values) @ vectors.T / np.outer(size, size))


def radius_90(covariance: Floats) -> float:
    """The distance within which nine of ten draws of a normal law with this covariance lie."""
    return float(radii(np.linalg.eigvalsh(covariance)))


def radii(variances: Any, level: float = 0.9) -> Floats:
    """Distances within which this share of normal draws lie, from (…, k) variances along axes.

    The sum of squares is taken as a scaled chi-square law with its mean and variance.
    """
    from scipy.special import gammaincinv

    values = np.maximum(np.asarray(variances, dtype=np.float64), 0)
    total, squares = values.sum(axis=-1), (values * values).sum(axis=-1)
    squares = np.maximum(squares, math.ulp(0.0))
    freedom = np.maximum(total * total / squares, 1.0)
    scale = squares / np.maximum(total, math.ulp(0.0))
    return np.asarray(np.sqrt(scale * 2 * gammaincinv(freedom / 2, level)))
