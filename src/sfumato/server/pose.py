"""2D–3D matches → pose, and whether the pose could be chance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.types import Camera, Pose
from sfumato.server.retrieval import Place
from sfumato.server.upright import Gravity, upright_ransac


@dataclass(frozen=True)
class PoseOptions:
    """How a pose is sought and when it is believed.

    max_error        reprojection error of an inlier, in pixels
    max_iterations   of RANSAC, per place
    max_sampled      best candidates RANSAC draws from; all of a place's are counted afterwards
    min_sampled      so many are drawn from even where fewer have support
    max_log10_chance a pose is believed only below this: the expected number of equally good
                     poses by chance, over all poses that could have been tried
    sure_log10_chance below this a place is sure, and no more than min_places are tried
    """

    max_error: float = 6.0
    max_iterations: int = 10_000
    max_sampled: int = 2_000
    min_sampled: int = 200
    max_log10_chance: float = -4.0
    sure_log10_chance: float = -20.0
    min_places: int = 3


@dataclass(frozen=True, eq=False)
class Estimate:
    """A pose with its evidence."""

    pose: Pose
    num_inliers: int
    num_matches: int
    log10_chance: float


@dataclass(frozen=True, eq=False)
class Question:
    """What stays the same while places are tried: the query's keypoints and camera, the map's
    points, gravity where it is known, and the options."""

    keypoints: NDArray[np.float32]
    points: NDArray[Any]
    camera: Camera
    options: PoseOptions
    gravity: Gravity | None = None

    def matches(self, place: Place) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Pixels and points of a place's candidates.

        COLMAP and PoseLib count from pixel corners, keypoints from pixel centres.
        """
        pixels = self.keypoints[place.keypoint].astype(np.float64) + 0.5
        return pixels, np.asarray(self.points[place.point], dtype=np.float64)


def estimate_pose(place: Place, question: Question) -> Estimate | None:
    """The best pose of one place: PROSAC on supported candidates, then all candidates."""
    options = question.options
    supported = int(np.count_nonzero(place.support))
    count = min(len(place.keypoint), max(supported, options.min_sampled), options.max_sampled)
    if count < 4:
        return None
    pixels, points = question.matches(place)
    found = _sample(pixels[:count], points[:count], question)
    return None if found is None else _refined(found, place, question, (1.0, 1.0))


def polish_pose(estimate: Estimate, everything: Place, question: Question) -> Estimate:
    """Refine a believed pose with the candidates of all images that were looked at.

    One place may see a single poster in a corner, which fixes a pose badly; others see the rest
    of the picture. The tolerance starts wide, because that pose is off elsewhere.
    """
    import poselib

    found = poselib.CameraPose()
    found.R, found.t = estimate.pose.rotation, estimate.pose.translation
    wider = _refined(found, everything, question, (3.0, 2.0, 1.0, 1.0))
    if wider is None or wider.num_inliers < estimate.num_inliers:
        return estimate
    return replace(wider, log10_chance=min(wider.log10_chance, estimate.log10_chance))


def _sample(pixels: NDArray[np.float64], points: NDArray[np.float64], question: Question) -> Any:
    """A first pose from few matches, the most promising drawn first; PoseLib's, or None."""
    import poselib

    options = question.options
    if question.gravity is not None:
        return upright_ransac(
            pixels,
            points,
            question.camera,
            question.gravity,
            max_error=options.max_error,
            max_iterations=min(options.max_iterations, 2_000),
        )
    ransac = {
        "max_reproj_error": options.max_error,
        "max_iterations": options.max_iterations,
        "min_iterations": 100,
        "success_prob": 0.9999,
        "progressive_sampling": True,
    }
    camera = _poselib_camera(question.camera)
    return poselib.estimate_absolute_pose(pixels, points, camera, ransac, {})[0]


def _refined(
    found: Any, place: Place, question: Question, tolerances: tuple[float, ...]
) -> Estimate | None:
    """Refine with all candidates that fit, within each tolerance in turn; weigh the result."""
    import poselib

    options = question.options
    pixels, points = question.matches(place)
    projector = _Projector(question.camera)
    for tolerance in tolerances:
        limit = tolerance * options.max_error
        inliers = _one_to_one(projector.errors(found, pixels, points), place, limit)
        if len(inliers) < 4:
            return None
        found, _ = poselib.refine_absolute_pose(
            pixels[inliers],
            points[inliers],
            found,
            _poselib_camera(question.camera),
            {"loss_type": "CAUCHY", "loss_scale": limit / 3},
        )
    if not np.isfinite(found.R).all() or not np.isfinite(found.t).all():
        return None
    inliers = _one_to_one(projector.errors(found, pixels, points), place, options.max_error)
    projected = projector.project(found, points)
    expected = expected_by_chance(projected, question.keypoints, options.max_error)
    fixed_by = 3 if question.gravity is None else 2
    chance = log10_chance(len(inliers), expected, len(place.keypoint), fixed_by)
    return Estimate(_as_pose(found), len(inliers), len(place.keypoint), chance)


def _poselib_camera(camera: Camera) -> dict[str, Any]:
    return {
        "model": camera.model,
        "width": camera.width,
        "height": camera.height,
        "params": list(camera.params),
    }


def expected_by_chance(
    projected: NDArray[np.float64], keypoints: NDArray[np.float32], max_error: float
) -> float:
    """How many candidates would fit this pose if each belonged to a random keypoint.

    A point that projects among many keypoints is met by chance more often: the sum over all
    candidates of the share of the query's keypoints that lie within max_error of it.
    """
    from scipy.spatial import cKDTree

    seen = projected[np.isfinite(projected).all(axis=1)]
    if not len(seen) or not len(keypoints):
        return 0.0
    near = cKDTree(keypoints.astype(np.float64) + 0.5).query_ball_point(
        seen, max_error, return_length=True
    )
    return float(np.sum(near)) / len(keypoints)


def log10_chance(num_inliers: int, expected: float, num_matches: int, fixed_by: int = 3) -> float:
    """log10 of the expected number of poses with so many inliers among wrong candidates.

    A pose is fixed by three of n matches (two where gravity is known), so at most n³ were
    tried; each meets a Poisson number of wrong candidates. Those that fix it fit for free.
    """
    from scipy.special import gammaln

    free = max(num_inliers - fixed_by, 0)
    tried = fixed_by * math.log10(max(num_matches, 1))
    mean = max(expected, 1e-12)
    if free <= mean:
        return tried
    # The tail of a Poisson law above its mean, by its first term and a geometric bound.
    first = free * math.log(mean) - mean - float(gammaln(free + 1))
    tail = first - math.log1p(-mean / (free + 1))
    return tried + min(tail, 0.0) / math.log(10)


def _one_to_one(errors: NDArray[np.float64], place: Place, limit: float) -> NDArray[np.int64]:
    """Candidates that fit, each position of the query and each point of the map once."""
    fits = np.flatnonzero(errors <= limit)
    fits = fits[np.argsort(errors[fits], kind="stable")]
    fits = fits[np.unique(place.keypoint[fits], return_index=True)[1]]
    fits = fits[np.argsort(errors[fits], kind="stable")]
    return np.sort(fits[np.unique(place.point[fits], return_index=True)[1]])


class _Projector:
    """Points of the world → pixels, with the camera's distortion."""

    def __init__(self, camera: Camera) -> None:
        import poselib

        self._camera = poselib.Camera(
            camera.model, list(camera.params), camera.width, camera.height
        )

    def project(self, pose: Any, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """NaN behind the camera."""
        inside = points @ pose.R.T + pose.t
        with np.errstate(divide="ignore", invalid="ignore"):
            flat = inside[:, :2] / inside[:, 2:]
        behind = inside[:, 2] <= 1e-9
        flat[behind] = 0.0
        pixels = np.asarray(self._camera.project(flat))
        pixels[behind] = np.nan
        return pixels

    def errors(
        self, pose: Any, pixels: NDArray[np.float64], points: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        difference = self.project(pose, points) - pixels
        errors = np.hypot(difference[:, 0], difference[:, 1])
        return np.where(np.isfinite(errors), errors, np.inf)


def _as_pose(found: Any) -> Pose:
    left, _, right = np.linalg.svd(np.asarray(found.R, dtype=np.float64))
    return Pose(left @ right, np.asarray(found.t, dtype=np.float64))
