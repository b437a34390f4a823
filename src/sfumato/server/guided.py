"""A search for the pose that uses where all keypoints lie, not only whose words agree.

At a small ε few words are true: too few for RANSAC, and too few to tell a right pose from chance.
But positions are sent as they are. At the right pose the points of the map that should be seen
fall on keypoints of the query far more often than at any wrong one, whatever their words say. So
words only propose: three candidates fix a pose, weighted by rarity and support. Positions decide:
keypoints are modelled as a Poisson process, whose density is that of all keypoints (chance) plus
a small bell around every point that should be seen. The best proposals are refined under that
model by expectation-maximisation, in which candidate words raise the odds of their pairs.
"""

from __future__ import annotations

import math
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
    log10_chance,
    one_to_one,
)
from sfumato.server.retrieval import MapRegion, Retrieval
from sfumato.server.word_odds import WordOdds

#: Triples drawn per region, in rounds: the second only where the first finds nothing.
_TRIES = (1_500, 6_000)
_KEPT = 24  # poses kept per region
_REFINED = 16  # distinct poses refined to the end
_TIGHT = 3.0  # pixels; how near a candidate by its word must be to speak for a pose
_MOST_CANDIDATES = (1_000, 8_000)  # of a region, of all
_POLISHED = 3  # times the best is refined again
_MOST_VISIBLE = 1_500
_FIRST_VISIBLE = 400  # points that proposals are judged by
_WIDE = np.array([10.0, 8, 8, 6, 6, 5, 5, 4, 4])  # pixels, round after round
_NARROW = np.array([8.0, 8, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 2])
_GRAVITY_DEG = 6.0  # an IMU's error, and that of a pose from three points


@dataclass(frozen=True, eq=False)
class _Proposal:
    score: float
    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]
    region: int


def search_pose(retrieval: Retrieval, problem: PoseProblem) -> Estimate | None:
    """The best pose by words and positions; None where no words were sent or nothing fits."""
    if problem.world is None or problem.words is None or len(problem.keypoints) < 4:
        return None
    return _Search(retrieval, problem, problem.world, problem.words).best()


class _Search:
    """The search for one query in one map."""

    def __init__(
        self, retrieval: Retrieval, problem: PoseProblem, world: Map, words: WordOdds
    ) -> None:
        self._field = KeypointField(problem.keypoints, problem.camera)
        self._problem, self._world, self._words = problem, world, words
        self._points = world.points
        self._regions = [region for region in retrieval.map_regions if len(region.keypoint) >= 3]
        self._candidates = retrieval.all_candidates
        self._visible = [self._visible_from(region.images) for region in self._regions]

    def best(self) -> Estimate | None:
        """The pose that explains the keypoints best; searches on until it is believed."""
        found: Estimate | None = None
        proposals: list[_Proposal] = []
        tried = 0
        for seed, tries in enumerate(_TRIES):
            for number in range(len(self._regions)):
                proposals += self._propose(number, tries, seed)
                tried += tries
            found = self._decide(proposals, tried)
            if (
                found is not None
                and found.log10_chance <= self._problem.options.guided_log10_chance
            ):
                break
        return found

    def _propose(self, number: int, tries: int, seed: int) -> list[_Proposal]:
        from sfumato.server.guided_kernel import propose_poses  # compiled when first needed

        region, visible = self._regions[number], self._visible[number][:_FIRST_VISIBLE]
        field, points = self._field, np.asarray(self._points[region.point], dtype=np.float64)
        weight = (region.support + 0.05) ** 2 * np.sqrt(region.rarity)
        scores, rotations, translations = propose_poses(
            field.rays[region.keypoint],
            points,
            np.cumsum(weight),
            np.asarray(self._points[visible], dtype=np.float64),
            self._wide_gain,
            field.nearest,
            field.lens,
            self._wide_chance,
            self._depths(number),
            self._down,
            len(field.places),
            tries,
            _KEPT,
            seed,
        )
        return [
            self._refined(_Proposal(score, rotation, translation, number), visible, region, _WIDE)[
                0
            ]
            for score, rotation, translation in zip(scores, rotations, translations, strict=True)
            if np.isfinite(score)
        ]

    def _decide(self, proposals: list[_Proposal], tried: int) -> Estimate | None:
        """Refine the best distinct proposals; by how much the best beats the second decides."""
        distinct: list[_Proposal] = []
        for proposal in sorted(proposals, key=lambda one: -one.score):
            if np.isfinite(proposal.score) and not any(
                self._same(proposal, other) for other in distinct
            ):
                distinct.append(proposal)
            if len(distinct) == _REFINED:
                break
        final = []
        for proposal in distinct:
            visible = self._visible_from(self._images_near(proposal))
            final.append((*self._refined(proposal, visible, self._candidates, _NARROW), visible))
        final.sort(key=lambda one: -one[0].score)
        if not final or not np.isfinite(final[0][0].score):
            return None
        best, belongs, weight, visible = final[0]
        others = [one[0].score for one in final[1:] if not self._same(one[0], best)]
        for _ in range(_POLISHED):  # other points are seen from where it has moved
            visible = self._visible_from(self._images_near(best))
            best, belongs, weight = self._refined(best, visible, self._candidates, _NARROW)
        chance = _log10_chance(best.score, max(others, default=0.0), tried)
        pose = Pose(nearest_rotation(best.rotation), best.translation)
        by_words, expected = self._chance_of_words(pose)
        point = np.concatenate([visible, self._most_likely(self._candidates).point])
        keypoint, point = self._matches(belongs, weight, point)
        return Estimate(
            pose, len(keypoint), len(belongs), chance + by_words, keypoint, point, expected
        )

    def _chance_of_words(self, pose: Pose) -> tuple[float, float]:
        """log10 of the chance that so many candidates by words fit, and how many chance fits."""
        keypoints, points = self._problem.matches(self._candidates)
        projected = project(self._problem.camera, points @ pose.rotation.T + pose.translation)
        away = projected - keypoints
        fits = one_to_one(np.hypot(away[:, 0], away[:, 1]), self._candidates, _TIGHT)
        expected = expected_by_chance(projected, self._problem.keypoints, _TIGHT)
        return min(log10_chance(len(fits), expected, num_matches=1), 0.0), expected

    def _refined(
        self,
        start: _Proposal,
        visible: NDArray[np.int64],
        candidates: MapRegion,
        spreads: NDArray[np.float64],
    ) -> tuple[_Proposal, NDArray[np.int64], NDArray[np.float64]]:
        from sfumato.server.guided_kernel import refine_pose

        field = self._field
        candidates = self._most_likely(candidates)
        ratio = self._words.ratio(candidates.rarity)
        helpful = ratio > 1
        point = np.concatenate([visible, candidates.point])
        nobody = np.full(len(visible), -1, dtype=np.int64)
        odds = np.concatenate([np.ones(len(visible)), np.where(helpful, ratio - 1, 0.0)])
        rotation, translation, score, belongs, weight = refine_pose(
            np.ascontiguousarray(start.rotation),
            np.ascontiguousarray(start.translation),
            np.asarray(self._points[point], dtype=np.float64),
            np.concatenate([nobody, field.place_of[candidates.keypoint]]),
            DETECTED * odds,
            field.places,
            field.density,
            field.nearest,
            field.lens,
            spreads,
            self._wide_chance if spreads[-1] == _WIDE[-1] else self._narrow_chance,
        )
        return _Proposal(score, rotation, translation, start.region), belongs, weight

    def _most_likely(self, candidates: MapRegion) -> MapRegion:
        """The first of the candidates; they are sorted, and thousands take time."""
        most = _MOST_CANDIDATES[candidates is self._candidates]
        first = slice(0, most)
        return MapRegion(
            candidates.images,
            candidates.keypoint[first],
            candidates.point[first],
            candidates.support[first],
            candidates.rarity[first],
        )

    def _matches(
        self, belongs: NDArray[np.int64], weight: NDArray[np.float64], point: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs that belong together more likely than not, each keypoint and each point once."""
        rows = np.flatnonzero((belongs >= 0) & (weight > 0.5))
        rows = rows[np.argsort(-weight[rows], kind="stable")]
        rows = rows[np.unique(belongs[rows], return_index=True)[1]]
        rows = rows[np.unique(point[rows], return_index=True)[1]]
        return self._field.row_of[belongs[rows]], np.asarray(point[rows], dtype=np.int64)

    def _same(self, one: _Proposal, other: _Proposal) -> bool:
        """Whether two poses see the same points at nearly the same places."""
        points = np.asarray(self._points[self._visible[one.region][:64]], dtype=np.float64)
        with np.errstate(all="ignore"):
            seen = [points @ pose.rotation.T + pose.translation for pose in (one, other)]
            flat = [p[:, :2] / np.where(p[:, 2:] > 1e-9, p[:, 2:], np.nan) for p in seen]
            away = np.hypot(*(flat[0] - flat[1]).T) * self._field.lens[0]
        away = np.where(np.isfinite(away), away, np.inf)
        return bool(np.median(away) < 0.1 * self._field.shape[1])

    def _visible_from(self, images: NDArray[np.int64]) -> NDArray[np.int64]:
        """Points that these images of the map saw, in random order, at most _MOST_VISIBLE."""
        features = [self._world.features_of(int(image)) for image in images]
        rows = [np.asarray(self._world.point_of_feature[part]) for part in features]
        points = np.unique(np.concatenate([*rows, np.zeros(0, dtype=np.int32)])).astype(np.int64)
        points = points[points >= 0]
        return np.random.default_rng(0).permutation(points)[:_MOST_VISIBLE]

    def _images_near(self, proposal: _Proposal) -> NDArray[np.int64]:
        """The images whose cameras stand and look most alike, of those that were searched."""
        images = self._candidates.images
        rotations = np.asarray(self._world.rotations[images])
        translations = np.asarray(self._world.translations[images])
        centers = -np.einsum("nij,ni->nj", rotations, translations)
        away = np.linalg.norm(centers + proposal.rotation.T @ proposal.translation, axis=1)
        cosine = np.clip(rotations[:, 2] @ proposal.rotation[2], -1, 1)
        depth = float(np.median(self._depths(proposal.region)))
        cost = np.arccos(cosine) / np.radians(30) + away / max(0.3 * depth, 1e-9)
        return np.asarray(images[np.argsort(cost, kind="stable")[:4]])

    def _depths(self, number: int) -> NDArray[np.float64]:
        """Between which depths points may lie: four times nearer and farther than in the map."""
        seed = int(self._regions[number].images[0])
        points = np.asarray(self._points[self._visible[number]], dtype=np.float64)
        depth = points @ self._world.rotations[seed][2] + self._world.translations[seed][2]
        depth = depth[depth > 0]
        if not len(depth):
            return np.array([0.0, np.inf])
        return np.asarray(np.percentile(depth, [5, 95]) * np.array([0.25, 4.0]))

    @cached_property
    def _down(self) -> NDArray[np.float64]:
        if self._problem.gravity is None:
            return np.array([0.0, 0, 0, 0, 0, 0, -1])
        inside, world = (
            np.asarray(vector) / np.linalg.norm(vector)
            for vector in (self._problem.gravity.in_camera, self._problem.gravity.in_world)
        )
        return np.concatenate([inside, world, [math.cos(math.radians(_GRAVITY_DEG))]])

    @cached_property
    def _wide_gain(self) -> NDArray[np.float32]:
        return self._field.gain(_WIDE[-1])

    @cached_property
    def _wide_chance(self) -> float:
        return self._field.chance(_WIDE[-1])

    @cached_property
    def _narrow_chance(self) -> float:
        return self._field.chance(_NARROW[-1])


def _log10_chance(score: float, second: float, tried: int) -> float:
    """log10 of how many of the poses tried would reach this score by chance.

    Scores of wrong poses have an exponential tail: of n tried the best reaches about φ·ln n. The
    best wrong one is at hand, the second of this query, and tells φ for just this picture and
    this map, however regular they are; a score s is then reached by n·exp(−s/φ) of them.
    """
    log_tried = math.log(max(tried, 2))
    tail = max(second / log_tried, 1.0)
    return (log_tried - score / tail) / math.log(10)
