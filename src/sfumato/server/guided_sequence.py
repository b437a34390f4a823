"""The guided search over several frames: what positions and words of all say together.

Every frame proposes poses. Each is carried to the other frames by the motion and refined in them,
no farther than the motion may be off. What speaks for it adds up. Frames see the same things, so
what agrees by chance in one agrees in the next one more easily: chance is judged accordingly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.core.lens import focal_lengths
from sfumato.server.evidence import Proposal, Refinement
from sfumato.server.guided import (
    ROUNDS,
    TAIL,
    GuidedSearch,
    chance_of_positions,
    chance_of_words,
)
from sfumato.server.motion import compose, inverse
from sfumato.server.pose import Estimate
from sfumato.server.view import EXPLAINED, View

#: Correlation between what a wrong pose explains by chance in two frames of one place; measured on
#: frames of a room: 0.3 to 0.8, and the spread of the sum of three is that of 0.5 to 0.6.
_AGAIN = 0.6


@dataclass(frozen=True, eq=False)
class JointEstimate:
    """What was found: the pose of each frame, None where the frame does not tell it.

    is_contradicted  a frame is sure of being elsewhere
    """

    estimates: tuple[Estimate | None, ...]
    log10_chance: float
    num_inliers: int
    num_matches: int
    is_contradicted: bool = False


@dataclass(frozen=True, eq=False)
class _Joint:
    """A pose in all frames: refined where it was carried to; whether it stayed near there."""

    refined: tuple[Refinement, ...]
    stayed: tuple[bool, ...]

    @property
    def scores(self) -> list[float]:
        """A frame that wants to be elsewhere does not speak for the pose."""
        return [
            one.pose.score if stayed else min(one.pose.score, 0.0)
            for one, stayed in zip(self.refined, self.stayed, strict=True)
        ]


def search_frames(views: Sequence[View]) -> JointEstimate | None:
    """The poses that explain the keypoints of all frames best; None where no words were sent."""
    searches = [GuidedSearch.of(view.retrieval, view.problem) for view in views]
    known = [search for search in searches if search is not None]
    return _JointSearch(views, known).best() if len(known) == len(views) else None


class _JointSearch:
    def __init__(self, views: Sequence[View], searches: list[GuidedSearch]) -> None:
        self._views, self._searches = views, searches
        images = np.unique(np.concatenate([one.evidence.images for one in searches]))
        for search in searches:
            search.evidence.images = images

    def best(self) -> JointEstimate | None:
        """Searches on until the best is believed."""
        proposals: list[list[Proposal]] = [[] for _ in self._views]
        found = None
        for number in range(len(ROUNDS)):
            for kept, search in zip(proposals, self._searches, strict=True):
                kept += search.propose(number)
            tried = sum(search.num_tried for search in self._searches)
            found = self._decide(proposals, tried)
            limit = self._views[0].problem.options.guided_log10_chance
            if found is not None and found.log10_chance <= limit:
                break
        return found

    def _decide(self, proposals: list[list[Proposal]], tried: int) -> JointEstimate | None:
        """The pose that is surest by all frames, or by one of them where the others see little."""
        joints = [
            self._carried(frame, proposal)
            for frame, search in enumerate(self._searches)
            for proposal in search.distinct(proposals[frame])
        ]
        joints = [one for one in joints if np.isfinite(one.scores).all()]
        if not joints:
            return None
        scores = np.array([one.scores for one in joints])
        alone = [int(leader) for leader in scores.argmax(axis=0)]
        leaders = dict.fromkeys([int(np.argmax(scores.sum(axis=1))), *alone])
        found = {leader: self._judged(joints, scores, leader, tried) for leader in leaders}
        best = min(found, key=lambda leader: found[leader].log10_chance)
        limit = self._views[0].problem.options.guided_log10_chance
        is_contradicted = any(
            found[leader].log10_chance <= limit
            and scores[best, frame] < EXPLAINED * scores[leader, frame]
            for frame, leader in enumerate(alone)
        )
        return replace(found[best], is_contradicted=is_contradicted)

    def _judged(
        self, joints: list[_Joint], scores: np.ndarray, leader: int, tried: int
    ) -> JointEstimate:
        best = joints[leader]
        others = [row for row, one in zip(scores, joints, strict=True) if not self._same(one, best)]
        seconds = np.array(others).reshape(-1, len(self._views))
        polished = self._polished(best)
        own = np.array(polished.scores)
        words = [
            search.evidence.words_at(one.pose) if stayed else (0, 0.0)
            for search, one, stayed in zip(
                self._searches, polished.refined, polished.stayed, strict=True
            )
        ]
        tail = TAIL * (1 + _AGAIN * (len(own) - 1))
        second = float(seconds.sum(axis=1).max(initial=0.0))
        chances = [chance_of_positions(float(own.sum()), second, tried, tail)]
        chances[0] += chance_of_words(sum(w[0] for w in words), sum(w[1] for w in words))
        for score, second, word in zip(own, seconds.max(axis=0, initial=0.0), words, strict=True):
            alone = chance_of_positions(float(score), float(second), tried)
            chances.append(alone + chance_of_words(*word))
        # Judged in several ways: by all frames, and by each.
        chance = min(chances) + math.log10(len(chances))
        estimates = tuple(
            search.evidence.estimate(search.evidence.sharpest(one), chance)
            if stayed and one.pose.score > 0
            else None
            for search, one, stayed in zip(
                self._searches, polished.refined, polished.stayed, strict=True
            )
        )
        told = [one for one in estimates if one is not None]
        inliers, matches = (
            sum(one.num_inliers for one in told),
            sum(one.num_matches for one in told),
        )
        return JointEstimate(estimates, chance, inliers, matches)

    def _carried(self, frame: int, proposal: Proposal) -> _Joint:
        """A proposal of one frame in all of them."""
        pose = proposal.as_pose()
        refined, stayed = [], []
        for number, (view, search) in enumerate(zip(self._views, self._searches, strict=True)):
            motion = compose(view.from_rig, inverse(self._views[frame].from_rig))
            there = compose(motion, pose)
            start = replace(proposal, rotation=there.rotation, translation=there.translation)
            refined.append(search.refined(start))
            depth = float(np.sqrt(np.prod(proposal.place.depths)))
            way = float(np.linalg.norm(motion.center))
            angle = view.odometry.angle(way, depth, abs(number - frame))
            limit = view.problem.options.max_error + max(focal_lengths(view.problem.camera)) * angle
            stayed.append(search.evidence.moved(start, refined[-1].pose) <= limit)
        return _Joint(tuple(refined), tuple(stayed))

    def _polished(self, joint: _Joint) -> _Joint:
        """The best poses near these; a frame that leaves the place keeps what it had."""
        refined = []
        for search, one, stayed in zip(self._searches, joint.refined, joint.stayed, strict=True):
            near = search.around(one.pose) if stayed else one
            limit = search.problem.options.max_error
            refined.append(near if search.evidence.moved(one.pose, near.pose) <= limit else one)
        return _Joint(tuple(refined), joint.stayed)

    def _same(self, one: _Joint, other: _Joint) -> bool:
        middle = len(self._views) // 2
        evidence = self._searches[middle].evidence
        return evidence.same(one.refined[middle].pose, other.refined[middle].pose)
