"""A search for the pose that uses where all keypoints lie, not only whose words agree.

At a small ε few words are true: too few for RANSAC, and too few to tell a right pose from chance.
But positions are sent as they are. At the right pose the points of the map that should be seen
fall on keypoints of the query far more often than at any wrong one, whatever their words say. So
words only propose: three candidates fix a pose, weighted by rarity and support. Positions decide
(`evidence.py`): the best proposals are refined by expectation-maximisation, in which candidate
words raise the odds of their pairs, and the best must stand out from all others.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.releases import WordRelease
from sfumato.server.evidence import NARROW, WIDE, Evidence, Place, Proposal, Refinement
from sfumato.server.mapping.map import Map
from sfumato.server.pose import Estimate, PoseProblem, log10_chance
from sfumato.server.retrieval import Retrieval
from sfumato.server.word_odds import WordOdds

#: Triples drawn per region, in rounds: the second only where the first finds nothing.
ROUNDS = (3_000, 16_000)
_FIRST_REGIONS = 4  # searched before any pose is believed
_KEPT = 24  # poses kept per region
_REFINED = 16  # distinct poses refined to the end
TAIL = 5.0  # nats; 3 to 8 on pictures of rooms and façades, 1 if keypoints were independent
_POLISHED = 3  # times poses around the best are tried
_AROUND = 20.0  # pixels
_TRIES_AROUND = 3_000
_KEPT_AROUND = 4
_FIRST_VISIBLE = 400  # points that proposals are judged by
_PROPOSED_DEG, _REFINED_DEG = 4.0, 1.0  # what a pose may be off beside the error of gravity
_MORE_WITH_GRAVITY = 8  # triples: most are put aside at once


def search_pose(retrieval: Retrieval, problem: PoseProblem) -> Estimate | None:
    """The best pose by words and positions; None where no words were sent or nothing fits."""
    search = GuidedSearch.of(retrieval, problem)
    return None if search is None else search.best()


def improve_pose(estimate: Estimate, retrieval: Retrieval, problem: PoseProblem) -> Estimate:
    """The same pose, nearer to the truth: words alone leave a pose of few inliers a little off."""
    search = GuidedSearch.of(retrieval, problem)
    if search is None or not search.num_regions:
        return estimate
    pose = estimate.pose
    refinement = search.around(Proposal(0.0, pose.rotation, pose.translation, search.place(0)))
    if refinement.pose.score <= 0:
        return estimate
    return search.evidence.estimate(search.evidence.sharpest(refinement), estimate.log10_chance)


class GuidedSearch:
    """The search for one query in one map."""

    def __init__(
        self, retrieval: Retrieval, problem: PoseProblem, world: Map, release: WordRelease
    ) -> None:
        self.problem, self._world = problem, world
        odds = WordOdds.of(release, world.num_observations)
        self.evidence = Evidence(problem, world, odds, retrieval.all_candidates)
        self._regions, self._places = retrieval.map_regions, dict[int, Place]()
        self._times = 1 if problem.gravity is None else _MORE_WITH_GRAVITY
        self._num_drawn = self._num_possible = self._num_upright = 0

    @staticmethod
    def of(retrieval: Retrieval, problem: PoseProblem) -> GuidedSearch | None:
        """None where no words were sent, or hardly any."""
        if problem.world is None or problem.words is None or len(problem.keypoints) < 4:
            return None
        return GuidedSearch(retrieval, problem, problem.world, problem.words)

    def best(self) -> Estimate | None:
        """The pose that explains the keypoints best; searches on until it is believed."""
        found: Estimate | None = None
        proposals: list[Proposal] = []
        for number in range(len(ROUNDS)):
            for region in range(self.num_regions):
                proposals += self._propose(region, number)
                last = region + 1 == self.num_regions
                if last or self._stands_out(proposals, region):
                    found = self._decide(proposals)
                    if found is not None and found.log10_chance <= self._needed:
                        return found
        return found

    @property
    def _needed(self) -> float:
        return self.problem.options.guided_log10_chance

    @property
    def num_tried(self) -> int:
        """How many triples were drawn from regions until now; of those that gravity allows."""
        return math.ceil(self._num_drawn * self._num_upright / max(self._num_possible, 1))

    def _stands_out(self, proposals: list[Proposal], region: int) -> bool:
        """Whether a region's best pose is so much better than poses elsewhere that the rest of
        the map need not be searched; before its last refinement, so it is tested again."""
        if region < _FIRST_REGIONS - 1:
            return False  # too few wrong poses to compare with
        ordered = sorted(proposals, key=lambda one: -one.score)
        if not ordered:
            return False
        best = ordered[0]
        if best.place is not self.place(region) and region >= _FIRST_REGIONS:
            return False  # looked at before
        others = (one.score for one in ordered[1:] if not self.evidence.same(one, best))
        chance = chance_of_positions(best.score, next(others, 0.0), self.num_tried)
        return chance <= self._needed

    def propose(self, number: int) -> list[Proposal]:
        """Poses from triples of each region's candidates, refined a little; of one round."""
        regions = range(self.num_regions)
        return [proposal for region in regions for proposal in self._propose(region, number)]

    def _propose(self, number: int, turn: int) -> list[Proposal]:
        region, place = self._regions[number], self.place(number)
        if len(region.keypoint) < 3:
            return []
        first = place.visible[:_FIRST_VISIBLE]
        weight = (region.support + 0.05) ** 2 * np.sqrt(region.rarity)
        rays = self.evidence.field.rays[region.keypoint]
        tries = self._times * ROUNDS[turn]
        self._num_drawn += tries
        drawn = self._draw(rays, region.point, weight, first, place, tries, _KEPT, turn)
        return [self.evidence.refined(one, first, region, WIDE).pose for one in drawn]

    def _draw(
        self,
        rays: NDArray[np.float64],
        point: NDArray[np.int64],
        weight: NDArray[np.float64],
        visible: NDArray[np.int64],
        place: Place,
        tries: int,
        keep: int,
        seed: int,
    ) -> list[Proposal]:
        from sfumato.server.guided_kernel import propose_poses  # compiled when first needed

        scores, rotations, translations, possible, upright = propose_poses(
            rays,
            np.asarray(self.evidence.points[point], dtype=np.float64),
            np.cumsum(weight),
            np.asarray(self.evidence.points[visible], dtype=np.float64),
            self.evidence.wide_gain,
            self.evidence.field.nearest,
            self.evidence.field.lens,
            self.evidence.chance(float(WIDE[-1])),
            place.depths,
            self._down,
            len(self.evidence.field.places),
            tries,
            keep,
            seed,
        )
        self._num_possible += possible
        self._num_upright += upright
        return [
            Proposal(score, rotation, translation, place)
            for score, rotation, translation in zip(scores, rotations, translations, strict=True)
            if np.isfinite(score)
        ]

    def around(self, best: Proposal) -> Refinement:
        """The best pose near this one; other points are seen from where it has moved, so thrice."""
        for _ in range(_POLISHED - 1):
            best = self._searched_around(best).pose
        return self._searched_around(best)

    def _searched_around(self, best: Proposal) -> Refinement:
        """Poses near the best one: from points and the keypoints next to where they fall.

        A pose that fits one poster in a corner may be off elsewhere, farther than refinement
        reaches. Among pairs that are near each other at such a pose, many are true ones.
        """
        field = self.evidence.field
        visible = self._visible_at(best)
        seen = np.asarray(self.evidence.points[visible]) @ best.rotation.T + best.translation
        with np.errstate(all="ignore"):
            place = seen[:, :2] / seen[:, 2:] * field.lens[0] + field.lens[1:]
        inside = (seen[:, 2] > 1e-9) & (place >= 0).all(axis=1)
        inside &= (np.rint(place) < field.shape[::-1]).all(axis=1)
        pixel = np.rint(place[inside]).astype(np.int64)
        near = field.distance[pixel[:, 1], pixel[:, 0]] <= _AROUND
        keypoint = field.row_of[field.nearest[pixel[near, 1], pixel[near, 0]]]
        point = visible[inside][near]
        refined = self.evidence.refined(best, visible, self.evidence.candidates, NARROW)
        if len(point) < 3:
            return refined
        drawn = self._draw(
            field.rays[keypoint],
            point,
            np.ones(len(point)),
            visible[:_FIRST_VISIBLE],
            best.place,
            _TRIES_AROUND,
            _KEPT_AROUND,
            seed=0,
        )
        further = [
            self.evidence.refined(one, visible, self.evidence.candidates, NARROW) for one in drawn
        ]
        return max([refined, *further], key=lambda one: one.pose.score)

    def distinct(self, proposals: list[Proposal]) -> list[Proposal]:
        """The best proposals that differ, the best first."""
        found: list[Proposal] = []
        for proposal in sorted(proposals, key=lambda one: -one.score):
            if np.isfinite(proposal.score) and not any(
                self.evidence.same(proposal, other) for other in found
            ):
                found.append(proposal)
            if len(found) == _REFINED:
                break
        return found

    def refined(self, proposal: Proposal) -> Refinement:
        """A proposal refined to the end, with all that should be seen from there."""
        visible = self._visible_at(proposal)
        return self.evidence.refined(proposal, visible, self.evidence.candidates, NARROW)

    def _decide(self, proposals: list[Proposal]) -> Estimate | None:
        """Refine the best distinct proposals; by how much the best beats the second decides."""
        final = [self.refined(proposal).pose for proposal in self.distinct(proposals)]
        if (gravity := self.problem.gravity) is not None:
            final = [one for one in final if gravity.allows(one.rotation, _REFINED_DEG)]
        final.sort(key=lambda one: -one.score)
        if not final or not np.isfinite(final[0].score):
            return None
        best, tried = final[0], self.num_tried
        others = [one.score for one in final[1:] if not self.evidence.same(one, best)]
        refinement = self.around(best)
        chance = chance_of_positions(refinement.pose.score, max(others, default=0.0), tried)
        chance += chance_of_words(*self.evidence.words_at(refinement.pose))
        return self.evidence.estimate(self.evidence.sharpest(refinement), chance)

    def _visible_at(self, proposal: Proposal) -> NDArray[np.int64]:
        """Points that should be seen at a pose: those of the images that stand nearest."""
        depth = float(np.sqrt(np.prod(proposal.place.depths)))
        return self.evidence.visible_from(self.evidence.images_near(proposal, depth))

    @property
    def num_regions(self) -> int:
        return len(self._regions)

    def place(self, number: int) -> Place:
        """Of a region: points that should be seen there, and their depths."""
        if number not in self._places:
            images = self._regions[number].images
            visible = self.evidence.visible_from(images)
            self._places[number] = Place(visible, self._depths(int(images[0]), visible))
        return self._places[number]

    def _depths(self, image: int, visible: NDArray[np.int64]) -> NDArray[np.float64]:
        """Between which depths points may lie: four times nearer and farther than in the map."""
        points = np.asarray(self.evidence.points[visible], dtype=np.float64)
        depth = points @ self._world.rotations[image][2] + self._world.translations[image][2]
        depth = depth[depth > 0]
        if not len(depth):
            return np.array([1e-9, 1e9])
        return np.asarray(np.percentile(depth, [5, 95]) * np.array([0.25, 4.0]))

    @cached_property
    def _down(self) -> NDArray[np.float64]:
        if self.problem.gravity is None:
            return np.array([0.0, 0, 0, 0, 0, 0, -1])
        cosine = self.problem.gravity.least_cosine(_PROPOSED_DEG)
        return np.concatenate([*self.problem.gravity.directions(), [cosine]])


def chance_of_positions(score: float, second: float, tried: int, least_tail: float = TAIL) -> float:
    """log10 of how many of the poses tried would reach this score by chance.

    Scores of wrong poses have an exponential tail: of n tried the best reaches about φ·ln n. The
    best wrong one is at hand, the second of this query, and tells φ for just this picture and
    this map, however regular they are; a score s is then reached by n·exp(−s/φ) of them. φ is at
    least `least_tail`: the second may be a poor one, where few poses were refined.
    """
    log_tried = math.log(max(tried, 2))
    tail = max(second / log_tried, least_tail)
    return (log_tried - score / tail) / math.log(10)


def chance_of_words(count: int, expected: float) -> float:
    """log10 of the chance that so many candidates fit by their words, where few are expected."""
    return min(log10_chance(count, expected, num_matches=1), 0.0)
