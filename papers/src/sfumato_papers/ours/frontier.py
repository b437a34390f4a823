"""Ours: utility and leak of every mechanism on one map, measured for `sfumato experiment frontier`.

Device, server and adversary meet here. Each query is sent in every way, localized, matched with
the picture of the map that shows most of it, and a few are attacked. Releases are drawn with known
seeds: for measuring, not for sending.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.lpips import find_lpips
from sfumato.adversary.invert.networks import find_network
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.core.accounting import compose
from sfumato.core.errors import InvalidInput
from sfumato.core.lens import project
from sfumato.core.releases import KeypointRelease
from sfumato.datasets.scenes import Problem, Query
from sfumato.device.mechanisms import Plain
from sfumato.dictionary import Dictionary
from sfumato.server.localize import localize, match_release
from sfumato.server.mapping.map import Map
from sfumato_papers.harness.outcomes import Journal, Kept
from sfumato_papers.harness.work import evenly, seeded, worked_through
from sfumato_papers.ldp_feat.poses import judge
from sfumato_papers.ours.frontier_attack import Attack, Attacker, middle_of
from sfumato_papers.ours.frontier_ways import SEEN_BY, Settings, Way, ways_of

#: A match with a point of the map is right if the point is seen so near, in pixels.
MAX_ERROR = 3.0
NO_TRUTH = "the frontier needs queries with known poses; give a scene whose cameras.json has them."

Points = NDArray[np.int64]
Look = Callable[[Query], NDArray[np.uint8]]


@dataclass(frozen=True)
class Outcome:
    """One query, sent one way, one draw.

    picture  E of this picture at δ = 1e-6; object: the advantage for an object that SEEN_BY
             descriptors see; both None where nothing is promised
    recall   of the points of a reference picture that raw descriptors match right, the share
             that is matched right
    attack   None for queries that are not attacked
    """

    way: Way
    seed: int
    query: str
    num_keypoints: int
    picture: float | None
    object: float | None
    is_localized: bool
    is_wrong: bool
    recall: float
    seconds: float
    attack: Attack | None

    @property
    def key(self) -> tuple[Way, int, str]:
        return self.way, self.seed, self.query


JOURNAL = Journal("frontier", "the frontier experiment", Outcome, version=1)


def run_frontier(
    problem: Problem, dictionary: Dictionary, settings: Settings, path: Path, look: Look
) -> Kept[Outcome]:
    """Send, localize, match and attack everything that the file does not hold yet.

    look  gives the picture of a query
    """
    most = max(len(query.features) for query in problem.queries)
    about = {
        "data": problem.data,
        "fingerprint": problem.fingerprint,
        "images": problem.world.num_images,
        "points": len(problem.world.points),
        "queries": [query.name for query in problem.queries],
        "within": str(settings.within),
        "dictionary": Path(settings.dictionary).name,
        "levels": sorted({*dictionary.levels, dictionary.num_words}),
        "most_keypoints": most,
        "window": settings.window,
        "side": settings.side,
    }
    others = "outcomes of another map, other queries, another dictionary or other settings"
    kept = JOURNAL.begin(path, about, others)
    work = [
        (way, seed, query)
        for seed in range(settings.num_seeds)
        for way in ways_of(settings, dictionary, most)
        for query in problem.queries
        if (way.is_random or not seed) and (way, seed, query.name) not in kept
    ]
    runner = _Runner(problem, dictionary, settings, look)
    for outcome in worked_through(_Runner.ask, work, "sending, localizing, attacking", runner):
        kept.add(outcome)
    return kept


class _Runner:
    """Keeps what many outcomes share."""

    def __init__(
        self, problem: Problem, dictionary: Dictionary, settings: Settings, look: Look
    ) -> None:
        self._world, self._settings, self._look = problem.world, settings, look
        wanted = {*dictionary.levels, dictionary.num_words, *settings.words}
        self._levels = {count: dictionary.at(count) for count in sorted(wanted)}
        count = settings.num_attacked
        self._attacked = {q.name for q in evenly(problem.queries, count)} if count else set()
        self._references: dict[str, tuple[Reference, Points]] = {}

    @cached_property
    def _attacker(self) -> Attacker:
        painter = Inverter(find_network(self._world.extractor), threads=1)
        known = np.asarray(self._world.descriptors[self._world.observations()])
        return Attacker(painter, known, find_lpips()[0])

    def ask(self, asked: tuple[Way, int, Query]) -> Outcome:
        way, seed, query = asked
        settings, mechanism = self._settings, way.mechanism(self._levels)
        rng = seeded(seed, query.name, way)
        features = way.filtered(query.features, settings.window, rng)
        release = mechanism.release(features, rng=rng, camera=query.camera)
        level = self._levels[way.num_words or max(self._levels)]
        start = time.perf_counter()
        found = localize(release, self._world, dictionary=level)
        seconds = time.perf_counter() - start
        if query.truth is None:
            raise InvalidInput(NO_TRUTH)
        (is_localized,), is_wrong = judge(found.pose, query.truth, (settings.within,))
        attack = None
        if seed == 0 and query.name in self._attacked:
            cut, window = middle_of(features, settings.side)
            sent = mechanism.release(cut, rng=rng)
            attack = self._attacker.strongest(sent, cut, self._look(query)[window], level)
        if query.name not in self._references:
            self._references[query.name] = reference_of(query, self._world)
        reference, points = self._references[query.name]
        matched = np.intersect1d(reference.right(release, level), points)
        picture, thing = (_promise(mechanism, count) for count in (len(release), SEEN_BY))
        return Outcome(
            way=way,
            seed=seed,
            query=query.name,
            num_keypoints=len(release),
            picture=None if picture is None else picture.epsilon(),
            object=None if thing is None else thing.advantage,
            is_localized=is_localized,
            is_wrong=is_wrong,
            recall=len(matched) / max(len(points), 1),
            seconds=seconds,
            attack=attack,
        )


def _promise(mechanism: Any, count: int) -> Any:
    """What so many answers promise together; None where there is no ε, or an infinite one."""
    epsilon = getattr(mechanism, "epsilon", None)
    return None if epsilon is None or np.isinf(epsilon) else compose(mechanism, count)


@dataclass(frozen=True, eq=False)
class Reference:
    """A picture of the map, and what a query shows of it.

    world   the map, with the points of this picture alone
    seen    where each point of the map is in the query, in pixels; NaN behind the camera
    """

    world: Map
    seen: NDArray[np.float64]

    def right(self, release: KeypointRelease, dictionary: Dictionary | None) -> Points:
        """The points that a release matches, seen where its keypoint is."""
        found = match_release(release, self.world, dictionary)
        point = np.asarray(self.world.point_of_feature)[found.row]
        error = np.linalg.norm(self.seen[point] - release.keypoints[found.keypoint], axis=1)
        return np.unique(point[error <= MAX_ERROR])


def reference_of(query: Query, world: Map) -> tuple[Reference, Points]:
    """The picture with most points that raw descriptors match right, and these points."""
    if query.truth is None:
        raise InvalidInput(NO_TRUTH)
    seen = project(query.camera, query.truth.apply(np.asarray(world.points, dtype=np.float64)))
    raw = Plain().release(query.features, rng=seeded(query.name), camera=query.camera)
    matched = Reference(world, seen).right(raw, None)
    point_of = np.asarray(world.point_of_feature)
    images = [point_of[world.features_of(image)] for image in range(world.num_images)]
    best = max(range(len(images)), key=lambda image: np.isin(images[image], matched).sum())
    own = np.full_like(point_of, -1)
    own[world.features_of(best)] = images[best]
    alone = replace(world, point_of_feature=own, _indices={}, sidecars=None)
    reference = Reference(alone, seen)
    return reference, reference.right(raw, None)
