"""Two releases, one geometry: which candidates are matches, and is it more than chance?

    candidates, the rarest words first → those with neighbours that move alike → relative pose
    → the same with shuffled partners, the null → all candidates near their epipolar lines

The share of true matches among candidates of noisy words is a few percent, too few for RANSAC.
Each step raises it: rare words to about ten percent, support by neighbours to half.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import nearest_rotation
from sfumato.core.lens import focal_lengths, from_corner, unproject
from sfumato.core.types import Camera, Pose
from sfumato.matching.support import (
    SupportOptions,
    count_supporters,
    positions,
    support_radius,
)
from sfumato.server.mapping.correspondences import essential_matrix
from sfumato.server.mapping.private_pairs import PairCandidates, Rows

Floats = NDArray[np.float64]

_NO_ROWS = np.empty((0, 2), dtype=np.int64)
_STILL = Pose(np.eye(3), np.zeros(3))


@dataclass(frozen=True)
class PairOptions:
    """When two releases see the same thing.

    rarest_share, min_rarest  the rarest candidates that are examined for support first
    max_hypotheses            best supported matches that RANSAC sees
    max_iterations            of RANSAC
    max_error                 distance to the epipolar line, in pixels
    band                      the same while the pose is rough
    times_null                inliers needed, over those of shuffled partners
    min_inliers               inliers needed in any case
    """

    rarest_share: float = 0.2
    min_rarest: int = 10_000
    max_hypotheses: int = 1000
    max_iterations: int = 3000
    max_error: float = 2.0
    band: float = 4.0
    times_null: float = 3.0
    min_inliers: int = 30
    support: SupportOptions = field(default_factory=SupportOptions)


@dataclass(frozen=True, eq=False)
class View:
    """What is known of one release's geometry: positions and lens."""

    keypoints: NDArray[np.float32]
    camera: Camera

    @cached_property
    def rays(self) -> Floats:
        """(N, 3): x/z, y/z, 1 of every keypoint; NaN where no ray of the lens ends."""
        flat = unproject(self.camera, self.keypoints)
        return np.hstack([flat, np.ones((len(flat), 1))])

    @cached_property
    def place(self) -> Rows:
        return positions(self.keypoints)

    @cached_property
    def focal(self) -> float:
        return float(np.sqrt(np.prod(focal_lengths(self.camera))))

    @property
    def area(self) -> float:
        return float(self.camera.width * self.camera.height)

    def shuffled(self, rng: np.random.Generator) -> View:
        """The same positions in other rows: what was matched before now meets by chance."""
        return View(self.keypoints[rng.permutation(len(self.keypoints))], self.camera)


@dataclass(frozen=True, eq=False)
class TwoView:
    """A pair that stands: matches (M, 2) of rows, and second_from_first with |t| = 1.

    num_inliers, num_by_chance  of the first pose: as it is, and with shuffled partners
    """

    matches: Rows
    pose: Pose
    num_inliers: int
    num_by_chance: int


def examine_pair(
    a: View, b: View, candidates: PairCandidates, options: PairOptions, *, seed: int = 0
) -> TwoView | None:
    """The geometry of two releases, or None where shuffled partners do nearly as well."""
    found = first_pose(a, b, candidates, options, seed=seed)
    if found is None or found[1] < options.min_inliers:
        return None
    pose, inliers = found
    null = first_pose(a, b.shuffled(np.random.default_rng(seed)), candidates, options, seed=seed)
    chance = 0 if null is None else null[1]
    if inliers < options.times_null * chance:
        return None
    near = np.flatnonzero(line_distances(a, b, candidates, _STILL, pose) <= options.band)
    matches = _NO_ROWS
    for _ in range(2):  # the better the pose, the more candidates it brings
        matches = supported_matches(a, b, candidates.take(near), options.support)
        if len(matches) < options.min_inliers:
            return None
        better = relative_pose(a, b, matches, options, seed=seed)
        if better is None:
            return None
        pose = better[0]
        near = np.flatnonzero(line_distances(a, b, candidates, _STILL, pose) <= options.max_error)
    matches = supported_matches(a, b, candidates.take(near), options.support)
    if len(matches) < options.min_inliers:
        return None
    return TwoView(matches, pose, inliers, chance)


def first_pose(
    a: View, b: View, candidates: PairCandidates, options: PairOptions, *, seed: int
) -> tuple[Pose, int] | None:
    """A pose from the best supported of the rarest candidates, and how many agree with it."""
    most = max(options.min_rarest, int(options.rarest_share * len(candidates)))
    some = candidates.take(np.argsort(candidates.commonness, kind="stable")[:most])
    matches = supported_matches(a, b, some, options.support)[: options.max_hypotheses]
    if len(matches) < options.min_inliers:
        return None
    return relative_pose(a, b, matches, options, seed=seed)


def supported_matches(
    a: View, b: View, candidates: PairCandidates, options: SupportOptions
) -> Rows:
    """One-to-one matches (M, 2) that have neighbours moving with them, the best first.

    Counted twice: what has no supporter is no supporter. Each picture is asked, and the smaller
    answer counts, so that a crowd in one of them is no evidence.
    """
    support = count_support(a, b, candidates, options)
    candidates = candidates.take(np.flatnonzero(support))
    support = count_support(a, b, candidates, options)
    order = np.lexsort((candidates.commonness, -support))
    candidates, support = candidates.take(order), support[order]
    chosen = np.zeros(len(order), dtype=np.int64)
    for side in (candidates.first, candidates.second):
        chosen[np.unique(side, return_index=True)[1]] += 1
    rows = np.flatnonzero((chosen == 2) & (support > 0))
    return np.stack([candidates.first[rows], candidates.second[rows]], axis=1)


def count_support(
    a: View, b: View, candidates: PairCandidates, options: SupportOptions
) -> NDArray[np.int64]:
    """Neighbours that move with each candidate, in the picture where they are fewer."""
    first, second = a.keypoints[candidates.first], b.keypoints[candidates.second]
    ahead = support_radius(len(candidates), a.area, b.area, options)
    back = support_radius(len(candidates), b.area, a.area, options)
    return np.minimum(
        count_supporters(first, second, a.place[candidates.first], ahead, options),
        count_supporters(second, first, b.place[candidates.second], back, options),
    )


def relative_pose(
    a: View, b: View, matches: Rows, options: PairOptions, *, seed: int = 0
) -> tuple[Pose, int] | None:
    """second_from_first with |t| = 1 by PoseLib, and how many matches agree.

    The best matches come first and are drawn first (PROSAC).
    """
    import poselib

    found, facts = poselib.estimate_relative_pose(
        from_corner(a.keypoints[matches[:, 0]]),
        from_corner(b.keypoints[matches[:, 1]]),
        a.camera.as_dict(),
        b.camera.as_dict(),
        {
            "max_epipolar_error": options.max_error,
            "max_iterations": options.max_iterations,
            "min_iterations": min(100, options.max_iterations),
            "progressive_sampling": True,
            "seed": seed,
        },
        {},
    )
    length = float(np.linalg.norm(found.t))
    rotation = np.asarray(found.R, dtype=np.float64)
    if not (length > 0 and np.isfinite(rotation).all()):
        return None
    motion = Pose(nearest_rotation(rotation), np.asarray(found.t) / length)
    return motion, int(np.sum(facts["inliers"]))


def line_distances(
    a: View, b: View, candidates: PairCandidates, pose_a: Pose, pose_b: Pose
) -> Floats:
    """Sampson distance of each candidate in pixels; ∞ for two pictures from one place.

    Lines are made once per keypoint, not per candidate: there are fifty candidates to each.
    """
    essential = essential_matrix(pose_a, pose_b)
    if essential is None:
        return np.full(len(candidates), np.inf)
    lines_in_b, lines_in_a = a.rays @ essential.T, b.rays @ essential
    slope_a = (lines_in_b[:, :2] ** 2).sum(axis=1) / b.focal**2
    slope_b = (lines_in_a[:, :2] ** 2).sum(axis=1) / a.focal**2
    i, j = candidates.first, candidates.second
    algebraic = np.einsum("md,md->m", lines_in_b[i], b.rays[j])
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(algebraic) / np.sqrt(slope_a[i] + slope_b[j])
    return np.asarray(np.where(np.isfinite(distance), distance, np.inf))


def guided_matches(
    a: View,
    b: View,
    candidates: PairCandidates,
    pose_a: Pose,
    pose_b: Pose,
    *,
    band: float,
    support: SupportOptions,
) -> Rows:
    """Matches (M, 2) among all candidates near their epipolar lines, of known poses.

    In the band few wrong candidates are left, so that the radius of support grows by itself
    and common words speak too.
    """
    near = np.flatnonzero(line_distances(a, b, candidates, pose_a, pose_b) <= band)
    return supported_matches(a, b, candidates.take(near), support)
