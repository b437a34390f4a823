"""What speaks for a pose: keypoints where points should be seen, and words that agree.

Keypoints are modelled as a Poisson process, whose density is that of all keypoints (chance) plus
a small bell around every point that should be seen. A score is the logarithm of how much likelier
the keypoints are with a pose than without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import nearest_rotation
from sfumato.core.lens import project
from sfumato.core.types import Pose
from sfumato.server.keypoint_field import DETECTED, KeypointField
from sfumato.server.mapping.map import Map
from sfumato.server.pose import (
    Estimate,
    PoseProblem,
    expected_by_chance,
    one_to_one,
)
from sfumato.server.pose_fit import moved_by, pose_slopes
from sfumato.server.retrieval import MapRegion
from sfumato.server.soft_fit import SoftMatches
from sfumato.server.word_odds import WordOdds

_TIGHT = 3.0  # pixels; how near a candidate by its word must be to speak for a pose
_MOST_CANDIDATES = (1_000, 8_000)  # of a region, of all
_MOST_VISIBLE = 1_500
_NOTHING = 1e-3  # a pair less likely than this does not count
WIDE = np.array([10.0, 8, 8, 6, 6, 5, 5, 4, 4])  # pixels, round after round
NARROW = np.array([8.0, 8, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 2])
_SHARPER = (1.4, 1.0, 0.7, 0.5)
_ROUNDS_EACH = 8
_SHAKEN = (-4.0, -2.0, 2.0, 4.0)  # pixels that a pose is moved, along so many axes
_AXES = 3
_NEAR = 40.0  # pixels
_REACH = 100.0  # pixels: candidates farther from a pose have no part in its refinement


@dataclass(frozen=True, eq=False)
class Place:
    """A part of the map: points that are seen there, and between which depths they may lie."""

    visible: NDArray[np.int64]
    depths: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Proposal:
    score: float
    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]
    place: Place

    def as_pose(self) -> Pose:
        return Pose(nearest_rotation(self.rotation), self.translation)


@dataclass(frozen=True, eq=False)
class Refinement:
    """A refined pose and what it was fitted to.

    belongs  (n,) of every point the place of its keypoint, −1 for none; weight (n,): how likely
             it is the right one
    visible  points that should be seen
    point    (n,) those, then the points of candidates
    spread   how far a right pair is off, in pixels
    """

    pose: Proposal
    belongs: NDArray[np.int64]
    weight: NDArray[np.float64]
    visible: NDArray[np.int64]
    point: NDArray[np.int64]
    spread: float


class Evidence:
    """What one query says about poses in one map."""

    def __init__(
        self, problem: PoseProblem, world: Map, words: WordOdds, candidates: MapRegion
    ) -> None:
        self.field = KeypointField(problem.keypoints, problem.camera)
        self._problem, self._world, self._words = problem, world, words
        self.candidates, self.points = candidates, world.points
        self.images = candidates.images  # where the pose may be
        self._chances: dict[float, float] = {}

    def refined(
        self,
        start: Proposal,
        visible: NDArray[np.int64],
        candidates: MapRegion,
        spreads: NDArray[np.float64],
    ) -> Refinement:
        from sfumato.server.guided_kernel import refine_pose

        field = self.field
        if candidates is self.candidates:
            candidates = self._near(start, _REACH)
        else:
            candidates = _first(candidates, _MOST_CANDIDATES[0])
        ratio = self._words.ratio(candidates.rarity)
        helpful = ratio > 1
        point = np.concatenate([visible, candidates.point])
        nobody = np.full(len(visible), -1, dtype=np.int64)
        odds = np.concatenate([np.ones(len(visible)), np.where(helpful, ratio - 1, 0.0)])
        rotation, translation, score, belongs, weight = refine_pose(
            np.array(start.rotation),  # of read-only ones another kernel would be compiled
            np.array(start.translation),
            np.asarray(self.points[point], dtype=np.float64),
            np.concatenate([nobody, field.place_of[candidates.keypoint]]),
            DETECTED * odds,
            field.places,
            field.density,
            field.nearest,
            field.lens,
            spreads,
            self.chance(float(spreads[-1])),
        )
        pose = Proposal(score, rotation, translation, start.place)
        return Refinement(pose, belongs, weight, visible, point, float(spreads[-1]))

    def sharpest(self, refinement: Refinement) -> Refinement:
        """The pose near this one that explains most with bells as narrow as fit.

        Maps of good pictures are exact to a fraction of a pixel, those of a tracker are not.
        Where they are, narrow bells tell apart what wide ones do not: poses a few pixels away.
        """
        near = self._near(refinement.pose, _NEAR)
        starts = [refinement.pose, *self._shaken(refinement)]
        found = [self._sharpened(start, refinement.visible, near) for start in starts]
        return max(found, key=lambda one: one.pose.score)

    def _sharpened(
        self, start: Proposal, visible: NDArray[np.int64], near: MapRegion
    ) -> Refinement:
        best = self.refined(start, visible, near, np.full(_ROUNDS_EACH, NARROW[-1]))
        for spread in _SHARPER:
            sharper = self.refined(best.pose, visible, near, np.full(_ROUNDS_EACH, spread))
            if sharper.pose.score <= best.pose.score:
                break
            best = sharper
        return best

    def _near(self, pose: Proposal, reach: float) -> MapRegion:
        """Candidates that a pose nearly explains: the others cannot tell it from its neighbours."""
        candidates, keypoints, points = self._most_likely
        seen = points @ pose.rotation.T + pose.translation
        away = np.abs(project(self._problem.camera, seen) - keypoints).max(axis=1)
        return _rows(candidates, np.flatnonzero(away < reach))

    def _shaken(self, refinement: Refinement) -> list[Proposal]:
        """Poses that see their pairs a few pixels away, along what fixes the pose least."""
        pose = refinement.pose
        used = np.flatnonzero((refinement.belongs >= 0) & (refinement.weight > 0.5))
        if len(used) < 6:
            return []
        start = pose.as_pose()
        points = np.asarray(self.points[refinement.point[used]], dtype=np.float64)
        slopes = pose_slopes(self._problem.camera, start, points)
        normal = np.einsum("nij,nik->jk", slopes, slopes) / len(used)
        size = np.sqrt(np.diag(normal))
        values, axes = np.linalg.eigh(normal / np.outer(size, size))
        steps = (axes / np.sqrt(np.maximum(values, 1e-9))).T / size
        moved = [moved_by(start, far * step) for step in steps[:_AXES] for far in _SHAKEN]
        return [Proposal(0.0, one.rotation, one.translation, pose.place) for one in moved]

    @cached_property
    def _most_likely(self) -> tuple[MapRegion, NDArray[np.float64], NDArray[np.float64]]:
        """The first of all candidates, which are sorted; their keypoints and points."""
        candidates = _first(self.candidates, _MOST_CANDIDATES[1])
        return candidates, *self._problem.matches(candidates)

    def _matches(
        self, belongs: NDArray[np.int64], weight: NDArray[np.float64], point: NDArray[Any]
    ) -> NDArray[np.int64]:
        """Pairs that belong together more likely than not; each keypoint and each point once."""
        rows = np.flatnonzero((belongs >= 0) & (weight > 0.5))
        rows = rows[np.argsort(-weight[rows], kind="stable")]
        rows = rows[np.unique(belongs[rows], return_index=True)[1]]
        rows = rows[np.unique(point[rows], return_index=True)[1]]
        return np.asarray(rows)

    def estimate(self, refinement: Refinement, chance: float) -> Estimate:
        """A refined pose with its matches; chance: log10 of what it is by chance."""
        belongs, weight, point = refinement.belongs, refinement.weight, refinement.point
        pose = refinement.pose.as_pose()
        rows = self._matches(belongs, weight, point)
        wrong = float(np.sum(1 - weight[rows]))
        keypoint = self.field.row_of[belongs[rows]]
        near = np.flatnonzero((belongs >= 0) & (weight > _NOTHING))
        soft = SoftMatches(
            self.field.row_of[belongs[near]], point[near], weight[near], refinement.spread
        )
        return Estimate(pose, len(rows), len(belongs), chance, keypoint, point[rows], wrong, soft)

    def words_at(self, pose: Proposal) -> tuple[int, float]:
        """How many candidates fit by their words, and how many would by chance."""
        keypoints, points = self._problem.matches(self.candidates)
        projected = project(self._problem.camera, points @ pose.rotation.T + pose.translation)
        away = projected - keypoints
        fits = one_to_one(np.hypot(away[:, 0], away[:, 1]), self.candidates, _TIGHT)
        return len(fits), expected_by_chance(projected, self._problem.keypoints, _TIGHT)

    def same(self, one: Proposal, other: Proposal) -> bool:
        """Whether two poses see the same points at nearly the same places."""
        return self.moved(one, other) < 0.1 * self.field.shape[1]

    def moved(self, one: Proposal, other: Proposal) -> float:
        """How far apart, in pixels, two poses see the points of the first one's place."""
        points = np.asarray(self.points[one.place.visible[:64]], dtype=np.float64)
        with np.errstate(all="ignore"):
            seen = [points @ pose.rotation.T + pose.translation for pose in (one, other)]
            flat = [p[:, :2] / np.where(p[:, 2:] > 1e-9, p[:, 2:], np.nan) for p in seen]
            away = np.hypot(*(flat[0] - flat[1]).T) * self.field.lens[0]
        return float(np.median(np.where(np.isfinite(away), away, np.inf)))

    def visible_from(self, images: NDArray[np.int64]) -> NDArray[np.int64]:
        """Points that these images of the map saw, in random order, at most _MOST_VISIBLE."""
        features = [self._world.features_of(int(image)) for image in images]
        rows = [np.asarray(self._world.point_of_feature[part]) for part in features]
        points = np.unique(np.concatenate([*rows, np.zeros(0, dtype=np.int32)])).astype(np.int64)
        points = points[points >= 0]
        return np.random.default_rng(0).permutation(points)[:_MOST_VISIBLE]

    def images_near(self, proposal: Proposal, depth: float) -> NDArray[np.int64]:
        """The images whose cameras stand and look most alike, of those that were searched."""
        images = self.images
        rotations = np.asarray(self._world.rotations[images])
        translations = np.asarray(self._world.translations[images])
        centers = -np.einsum("nij,ni->nj", rotations, translations)
        away = np.linalg.norm(centers + proposal.rotation.T @ proposal.translation, axis=1)
        cosine = np.clip(rotations[:, 2] @ proposal.rotation[2], -1, 1)
        cost = np.arccos(cosine) / np.radians(30) + away / max(0.6 * depth, 1e-9)
        return np.asarray(images[np.argsort(cost, kind="stable")[:4]])

    @cached_property
    def wide_gain(self) -> NDArray[np.float32]:
        return self.field.gain(WIDE[-1])

    def chance(self, spread: float) -> float:
        if spread not in self._chances:
            self._chances[spread] = self.field.chance(spread)
        return self._chances[spread]


def _first(candidates: MapRegion, most: int) -> MapRegion:
    """The most promising candidates; thousands more take time."""
    return candidates if len(candidates.keypoint) <= most else _rows(candidates, slice(0, most))


def _rows(candidates: MapRegion, rows: Any) -> MapRegion:
    return MapRegion(
        candidates.images,
        candidates.keypoint[rows],
        candidates.point[rows],
        candidates.support[rows],
        candidates.rarity[rows],
    )
