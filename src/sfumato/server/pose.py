"""2D–3D matches → pose, and whether the pose could be chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
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
    max_log10_chance a pose is believed only below this: the expected number of equally good
                     poses by chance, over all poses that could have been tried
    sure_log10_chance below this no further place is tried
    """

    max_error: float = 6.0
    max_iterations: int = 10_000
    max_sampled: int = 2_000
    min_sampled: int = 200
    max_log10_chance: float = -4.0
    sure_log10_chance: float = -20.0


@dataclass(frozen=True, eq=False)
class Estimate:
    """A pose with its evidence."""

    pose: Pose
    num_inliers: int
    num_matches: int
    log10_chance: float


def estimate_pose(
    place: Place,
    keypoints: NDArray[np.float32],
    points: NDArray[Any],
    camera: Camera,
    options: PoseOptions,
    gravity: Gravity | None = None,
) -> Estimate | None:
    """The best pose of one place: PROSAC on supported candidates, then all candidates."""
    import poselib

    supported = int(np.count_nonzero(place.support))
    count = min(len(place.keypoint), max(supported, options.min_sampled), options.max_sampled)
    if count < 4:
        return None
    # COLMAP counts from pixel corners, keypoints from pixel centres.
    image_points = keypoints[place.keypoint].astype(np.float64) + 0.5
    world_points = np.asarray(points[place.point], dtype=np.float64)
    description = _poselib_camera(camera)
    found = _sample(image_points[:count], world_points[:count], camera, options, gravity)
    if found is None:
        return None
    projector = _Projector(camera)
    for _ in range(2):  # every candidate of the place that fits helps to refine
        errors = projector.errors(found, image_points, world_points)
        inliers = _one_to_one(errors, place, options.max_error)
        if len(inliers) < 4:
            return None
        found, _ = poselib.refine_absolute_pose(
            image_points[inliers],
            world_points[inliers],
            found,
            description,
            {"loss_type": "CAUCHY", "loss_scale": options.max_error / 3},
        )
    errors = projector.errors(found, image_points, world_points)
    inliers = _one_to_one(errors, place, options.max_error)
    projected = projector.project(found, world_points)
    expected = expected_by_chance(projected, keypoints, options.max_error)
    fixed_by = 3 if gravity is None else 2
    chance = log10_chance(len(inliers), expected, len(place.keypoint), fixed_by)
    if not np.isfinite(found.R).all() or not np.isfinite(found.t).all():
        return None
    return Estimate(_as_pose(found), len(inliers), len(place.keypoint), chance)


def _sample(
    image_points: NDArray[np.float64],
    world_points: NDArray[np.float64],
    camera: Camera,
    options: PoseOptions,
    gravity: Gravity | None,
) -> Any:
    """A first pose from few matches, the most promising drawn first; PoseLib's, or None."""
    import poselib

    if gravity is not None:
        return upright_ransac(
            image_points,
            world_points,
            camera,
            gravity,
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
    return poselib.estimate_absolute_pose(
        image_points, world_points, _poselib_camera(camera), ransac, {}
    )[0]


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
