"""2D–3D matches → pose, and whether the pose could be chance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import nearest_rotation
from sfumato.core.lens import focal_lengths, from_corner, project
from sfumato.core.releases import WordRelease
from sfumato.core.types import Camera, Localization, Pose
from sfumato.server.mapping.map import Map
from sfumato.server.retrieval import MapRegion
from sfumato.server.soft_fit import SoftMatches
from sfumato.server.upright import WorldGravity, upright_ransac

_CELLS = 4  # of the picture, along each side
_MIN_IN_CELL = 3  # inliers; one alone may be chance
_SLACK_DEG = 1.0  # a believed pose may be off by this beside the error of gravity


@dataclass(frozen=True)
class PoseOptions:
    """How a pose is sought and when it is believed.

    max_error        reprojection error of an inlier, in pixels
    max_iterations   of RANSAC, per region
    word_iterations  the same where words were sent: the guided search finds what these do not
    max_sampled      best candidates RANSAC draws from; all of a region's are counted afterwards
    min_sampled      fewest candidates RANSAC draws from, even where fewer have support
    max_log10_chance a pose is believed only below this: the expected number of equally good
                     poses by chance, over all poses that could have been tried
    guided_log10_chance the same for a pose that words proposed and positions decided; stricter,
                     because both are estimates
    sure_log10_chance below this a pose is sure, and no more than min_regions are tried
    use_positions    search by positions where words do not suffice; False: words alone decide
    """

    max_error: float = 6.0
    max_iterations: int = 10_000
    word_iterations: int = 1_000
    max_sampled: int = 2_000
    min_sampled: int = 200
    max_log10_chance: float = -4.0
    guided_log10_chance: float = -8.0
    sure_log10_chance: float = -20.0
    min_regions: int = 3
    use_positions: bool = True


@dataclass(frozen=True, eq=False)
class Estimate:
    """A pose with its evidence.

    keypoint  (k,) rows of the query that agree with the pose, and point (k,) of the map
    expected_wrong  how many of them are expected to agree by chance
    soft      all pairs the pose was fitted to, where each is right only with some probability
    """

    pose: Pose
    num_inliers: int
    num_matches: int
    log10_chance: float
    keypoint: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    point: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    expected_wrong: float = 0.0
    soft: SoftMatches | None = None


@dataclass(frozen=True, eq=False)
class PoseProblem:
    """What stays the same while regions are tried: the query's keypoints and camera, the map's
    points, gravity where it is known, and the options; the map, where errors are asked for."""

    keypoints: NDArray[np.float32]
    points: NDArray[Any]
    camera: Camera
    options: PoseOptions
    gravity: WorldGravity | None = None
    world: Map | None = None
    words: WordRelease | None = None

    @property
    def is_upright(self) -> bool:
        """Whether gravity is known so well that with it two matches fix a pose."""
        if self.gravity is None:
            return False
        pixels = math.radians(self.gravity.error_deg) * max(focal_lengths(self.camera))
        return pixels <= self.options.max_error / 2

    def matches(self, region: MapRegion) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Keypoints and points of the world of a region's candidates."""
        keypoints = self.keypoints[region.keypoint].astype(np.float64)
        return keypoints, np.asarray(self.points[region.point], dtype=np.float64)

    def project(self, pose: Any, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where points of the world lie in the picture at PoseLib's pose; NaN behind it."""
        return project(self.camera, points @ pose.R.T + pose.t)


def estimate_pose(region: MapRegion, problem: PoseProblem) -> Estimate | None:
    """The best pose of one region: PROSAC on supported candidates, then all candidates."""
    options = problem.options
    supported = int(np.count_nonzero(region.support))
    count = min(len(region.keypoint), max(supported, options.min_sampled), options.max_sampled)
    if count < 4:
        return None
    keypoints, points = problem.matches(region)
    first_pose = _sample(keypoints[:count], points[:count], problem)
    found = None if first_pose is None else _refined(first_pose, region, problem, (1.0, 1.0))
    gravity = problem.gravity
    if found is None or gravity is None or gravity.allows(found.pose.rotation, _SLACK_DEG):
        return found
    return None


def polish_pose(estimate: Estimate, all_candidates: MapRegion, problem: PoseProblem) -> Estimate:
    """Refine a believed pose with the candidates of all images that were looked at.

    One region may see a single poster in a corner, which fixes a pose badly; others see the rest
    of the picture. The tolerance starts wide, because that pose is off elsewhere.
    """
    import poselib

    start = poselib.CameraPose()
    start.R, start.t = estimate.pose.rotation, estimate.pose.translation
    wider = _refined(start, all_candidates, problem, (3.0, 2.0, 1.0, 1.0))
    if wider is None or wider.num_inliers < estimate.num_inliers:
        return estimate
    return replace(wider, log10_chance=min(wider.log10_chance, estimate.log10_chance))


def covers_picture(estimate: Estimate, problem: PoseProblem) -> bool:
    """Whether inliers lie wherever keypoints do: in the cells of three quarters of them."""
    size = np.array([problem.camera.width, problem.camera.height]) / _CELLS
    cell = np.clip(problem.keypoints // size, 0, _CELLS - 1).astype(np.int64) @ (_CELLS, 1)
    inliers = np.bincount(cell[estimate.keypoint], minlength=_CELLS**2)
    return bool(np.mean(inliers[cell] >= _MIN_IN_CELL) >= 0.75)


def tell_pose(best: Estimate, candidates: MapRegion, problem: PoseProblem) -> Localization:
    """A believed pose as an answer: its focal length tested, with its expected error."""
    from sfumato.server.accuracy import tested_answer  # it builds on what is here

    return tested_answer(best, candidates, problem)


def _sample(
    keypoints: NDArray[np.float64], points: NDArray[np.float64], problem: PoseProblem
) -> Any:
    """A first pose from few matches, the most promising drawn first; PoseLib's, or None."""
    import poselib

    options = problem.options
    if problem.gravity is not None and problem.is_upright:
        return upright_ransac(
            keypoints,
            points,
            problem.camera,
            problem.gravity,
            max_error=options.max_error,
            max_iterations=min(options.max_iterations, 2_000),
        )
    by_words = problem.words is not None
    ransac = {
        "max_reproj_error": options.max_error,
        "max_iterations": options.word_iterations
        if by_words and options.use_positions
        else options.max_iterations,
        "min_iterations": 100,
        "success_prob": 0.9999,
        "progressive_sampling": True,
    }
    camera = problem.camera.as_dict()
    return poselib.estimate_absolute_pose(from_corner(keypoints), points, camera, ransac, {})[0]


def _refined(
    pose: Any, region: MapRegion, problem: PoseProblem, tolerances: tuple[float, ...]
) -> Estimate | None:
    """Refine with all candidates that fit, within each tolerance in turn; weigh the result."""
    import poselib

    max_error = problem.options.max_error
    keypoints, points = problem.matches(region)
    for tolerance in tolerances:
        limit = tolerance * max_error
        away = problem.project(pose, points) - keypoints
        inliers = one_to_one(np.hypot(away[:, 0], away[:, 1]), region, limit)
        if len(inliers) < 4:
            return None
        pose, _ = poselib.refine_absolute_pose(
            from_corner(keypoints[inliers]),
            points[inliers],
            pose,
            problem.camera.as_dict(),
            {"loss_type": "CAUCHY", "loss_scale": limit / 3},
        )
    if not np.isfinite(pose.R).all() or not np.isfinite(pose.t).all():
        return None
    projected = problem.project(pose, points)
    away = projected - keypoints
    inliers = one_to_one(np.hypot(away[:, 0], away[:, 1]), region, max_error)
    expected = expected_by_chance(projected, problem.keypoints, max_error)
    fixed_by = 2 if problem.is_upright else 3
    chance = log10_chance(len(inliers), expected, len(region.keypoint), fixed_by)
    believed = Pose(nearest_rotation(pose.R), np.asarray(pose.t, dtype=np.float64))
    keypoint, point = region.keypoint[inliers], region.point[inliers]
    count = len(region.keypoint)
    return Estimate(believed, len(inliers), count, chance, keypoint, point, expected)


def expected_by_chance(
    projected: NDArray[np.float64], keypoints: NDArray[np.float32], max_error: float
) -> float:
    """How many candidates would fit this pose if each belonged to a random keypoint.

    A point that projects among many keypoints is met by chance more often: the sum over all
    candidates of the share of the query's keypoints that lie within max_error of it.
    """
    from sfumato.server.near_kernel import count_near  # compiled when first needed

    if not len(keypoints):
        return 0.0
    places = np.ascontiguousarray(projected, dtype=np.float64)
    near = count_near(places, np.ascontiguousarray(keypoints, dtype=np.float64), float(max_error))
    return near / len(keypoints)


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


def one_to_one(errors: NDArray[np.float64], region: MapRegion, limit: float) -> NDArray[np.int64]:
    """Candidates that fit, each position of the query and each point of the map once."""
    fits = np.flatnonzero(errors <= limit)
    fits = fits[np.argsort(errors[fits], kind="stable")]
    fits = fits[np.unique(region.keypoint[fits], return_index=True)[1]]
    fits = fits[np.argsort(errors[fits], kind="stable")]
    return np.sort(fits[np.unique(region.point[fits], return_index=True)[1]])
