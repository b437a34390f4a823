"""LDP-FEAT, Tables 2, 3 and S1; affine embeddings, Table 3: localization by words and by lifts.

Device and server meet here. Releases are drawn with known seeds so that every figure can be made
again: reproducible releases, not for sending. Both recipes get the same releases, so that servers
are compared, not draws.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.releases import KeypointRelease, WordRelease
from sfumato.core.types import Localization
from sfumato.datasets.scenes import Problem, Query
from sfumato.dictionary import Dictionary
from sfumato.dictionary.levels import level_for
from sfumato.server.ldp_feat_recipe import MAX_ITERATIONS, paper_localize
from sfumato.server.localize import LocalizeOptions, localize
from sfumato.server.mapping.map import Map
from sfumato.server.pose import PoseOptions
from sfumato_papers.harness.work import seed_of, worked_through
from sfumato_papers.ldp_feat.localization_frames import predict_frames, window
from sfumato_papers.ldp_feat.localization_predictions import Prediction, Setting, open_predictions
from sfumato_papers.ldp_feat.localization_releases import make_release, own_mechanism
from sfumato_papers.ldp_feat.localization_settings import Settings


def settings_of(
    settings: Settings, dictionaries: Mapping[str, Dictionary], *, has_control: bool
) -> list[Setting]:
    """Every setting once: raw, then by dictionary, ε, |K| and ω, the quickest recipe first."""
    base = Setting(
        "raw",
        max_keypoints=settings.max_keypoints,
        has_gravity=settings.has_gravity,
        gravity_error=settings.gravity_error if settings.has_gravity else None,
        shortlist="all" if settings.shortlist.startswith("top") else settings.shortlist,
    )
    found = [base]
    for name, dictionary in dictionaries.items():
        named = replace(base, dictionary=name)
        lift = replace(
            named, recipe="lifted", num_words=dictionary.num_words, strategy=settings.strategy
        )
        found += [replace(lift, dimension=dimension) for dimension in settings.dimensions]
        for address in settings.mechanisms:
            epsilon = getattr(own_mechanism(address, dictionary), "epsilon", None)
            found.append(replace(lift, recipe="own", strategy=address, epsilon=epsilon))
        for epsilon in (np.inf, *settings.epsilons):
            for size in settings.subset_sizes if np.isfinite(epsilon) else (1,):
                found += _with_words(settings, named, dictionary, epsilon, size)
    found += [several for one in found for several in _with_frames(settings, one)]
    if settings.has_control and has_control:
        ours = [setting for setting in found if setting.recipe != "paper"]  # it makes no claim
        found += [replace(setting, is_control=True) for setting in ours]
    return list(dict.fromkeys(found))


def _with_words(
    settings: Settings, base: Setting, dictionary: Dictionary, epsilon: float, size: int
) -> Iterator[Setting]:
    levels = (*dictionary.levels, dictionary.num_words)
    for words in settings.words:
        count = level_for(levels, epsilon, size) if words == "auto" else int(words)
        given = replace(base, num_words=count, subset_size=size, epsilon=epsilon)
        for ours in ("words", "sfumato"):
            if ours in settings.recipes:
                yield replace(given, recipe=ours)
        if "paper" in settings.recipes:
            for matching in settings.matching:
                yield replace(
                    given,
                    recipe="paper",
                    matching=matching,
                    shortlist=settings.shortlist,
                    iterations=settings.iterations,
                    has_gravity=False,
                    gravity_error=None,
                )


def _with_frames(settings: Settings, one: Setting) -> Iterator[Setting]:
    """The same with several frames, where words are drawn and the whole map is asked."""
    if one.recipe != "sfumato" or one.epsilon == np.inf or one.has_gravity:
        return
    for count in settings.frames:
        for budget in settings.budgets if count > 1 else ():
            yield replace(
                one,
                num_frames=count,
                is_shared=budget == "shared",
                odometry=str(settings.odometry),
            )


def run_localization(
    problem: Problem, dictionaries: Mapping[str, Dictionary], settings: Settings, path: Path
) -> None:
    """Predict everything the settings ask for that the file does not hold yet."""
    shortlists = None if settings.pairs is None else problem.shortlists(settings.pairs)
    if settings.has_gravity and any(query.truth is None for query in problem.queries):
        raise InvalidInput("gravity is made from true poses, and these queries have none.")
    for count in settings.frames if max(settings.frames) > 1 else ():
        for query in problem.queries:
            window(problem, query, count)  # refused before any work
    kept = open_predictions(path, problem, dictionaries)
    work = [
        (setting, seed, query)
        for setting in settings_of(settings, dictionaries, has_control=problem.has_control)
        for seed in range(settings.draws_of(setting))
        for query in problem.queries
        if (setting, seed, query.name) not in kept
    ]
    server = _Server(problem, dictionaries, shortlists)
    for prediction in worked_through(_Server.predict, work, "localizing", server):
        kept.add(prediction)


@dataclass(frozen=True, eq=False)
class _Server:
    """Answers queries, and keeps what many of them need."""

    problem: Problem
    dictionaries: Mapping[str, Dictionary]
    shortlists: Mapping[str, NDArray[np.int64]] | None
    _maps: dict[str, Map] = field(default_factory=dict)
    _levels: dict[tuple[str, int], Dictionary] = field(default_factory=dict)

    def predict(self, asked: tuple[Setting, int, Query]) -> Prediction:
        setting, seed, query = asked
        words, world = self._words(setting), self.problem.world
        if setting.is_control:
            if query.scene not in self._maps:
                self._maps[query.scene] = self.problem.control_map(query.scene)
            world = self._maps[query.scene]
        if setting.num_frames > 1:
            if words is not None:
                world.word_index(words)
            return predict_frames(self.problem, world, query, setting, words, seed)
        release = make_release(query, setting, words, seed)
        listed = None if self.shortlists is None else self.shortlists[query.name]
        if isinstance(release, WordRelease) and words is not None:
            world.word_index(words)  # once per map, not part of a query's time
        start = time.perf_counter()
        found = answer(release, world, setting, words, self.problem, query, listed)
        seconds = time.perf_counter() - start
        key = setting, seed, query.name
        return Prediction.of(key, found, num_keypoints=len(release), seconds=seconds)

    def _words(self, setting: Setting) -> Dictionary | None:
        if not setting.num_words or setting.dictionary is None:
            return None
        key = setting.dictionary, setting.num_words
        if key not in self._levels:
            self._levels[key] = self.dictionaries[key[0]].at(key[1])
        return self._levels[key]


def answer(
    release: KeypointRelease,
    world: Map,
    setting: Setting,
    dictionary: Dictionary | None,
    problem: Problem,
    query: Query,
    shortlist: NDArray[np.int64] | None,
) -> Localization:
    """What the server makes of a release, by the setting's recipe."""
    if shortlist is not None and not len(shortlist):
        return Localization(None, 0, 0, 0.0, "the list of pairs has no image for this query")
    if setting.recipe == "paper" and isinstance(release, WordRelease):
        top = setting.shortlist.split()
        return paper_localize(
            release,
            world,
            dictionary=dictionary,
            top_images=int(top[1]) if top[0] == "top" else None,
            shortlist=shortlist,
            matching=setting.matching,
            max_iterations=setting.iterations or MAX_ITERATIONS,
        )
    gravity = None
    if setting.has_gravity:
        error = setting.gravity_error or 0.0
        gravity = problem.gravity(query, error, seed_of("gravity", query.name, error))
    pose = PoseOptions(use_positions=setting.recipe != "words")
    return localize(
        release,
        world,
        dictionary=dictionary,
        shortlist=shortlist,
        gravity=gravity,
        options=LocalizeOptions(pose=pose),
    )
