"""Localization by recipe, dictionary, |K|, ω and ε: [ldp-feat, Tables 2, 3 and S1], and ours;
and of lifted queries [affine, Table 3].

Device and server meet here. Releases are drawn with known seeds so that every figure can be made
again: reproducible releases, not for sending. Both recipes get the same releases, so that servers
are compared, not draws.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import KeypointRelease, WordRelease
from sfumato.core.types import Localization
from sfumato.datasets.scenes import Problem, Query
from sfumato.device.filters import KeepStrongest
from sfumato.device.mechanisms import Plain, SubsetMechanism, SubspaceLifting
from sfumato.dictionary import Dictionary
from sfumato.experiments.localization_predictions import Prediction, PredictionFile, Setting
from sfumato.server.ldp_feat_recipe import MATCHING, MAX_ITERATIONS, paper_localize
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map

RECIPES = ("paper", "sfumato")
#: The rule for |K|: the largest level at which the true word is sent at least this often.
MIN_KEEP = 0.08


@dataclass(frozen=True)
class Grid:
    """Which settings are tried.

    epsilons     per descriptor; the raw and the quantised (ε = ∞) rows come by themselves
    words        levels |K| to try; "auto" adds the one that `rule_words` names, for our recipe
    matching     of the paper's recipe
    shortlist    "all", "top N" (the paper's recipe only) or "pairs"
    dimensions   m of lifted queries, each with `strategy`, the whole dictionary as database
    """

    recipes: tuple[str, ...] = RECIPES
    epsilons: tuple[float, ...] = (12.0, 10.0, 8.0, 7.0, 6.0)
    words: tuple[int | str, ...] = ("auto",)
    subset_sizes: tuple[int, ...] = (1,)
    num_seeds: int = 3
    max_keypoints: int | None = None
    matching: tuple[str, ...] = ("vocabulary",)
    shortlist: str = "all"
    iterations: int = MAX_ITERATIONS
    has_gravity: bool = False
    has_control: bool = True
    dimensions: tuple[int, ...] = ()
    strategy: str = "sub-hybrid"

    def __post_init__(self) -> None:
        for name, given, known in (
            ("recipe", self.recipes, RECIPES),
            ("matching", self.matching, MATCHING),
        ):
            for value in given:
                if value not in known:
                    raise InvalidInput(f"{name} must be one of {', '.join(known)}, got {value!r}.")
        for epsilon in self.epsilons:
            check_epsilon(epsilon)
        for words in self.words:
            if words != "auto":
                check_count("words", words, low=2)
        for size in self.subset_sizes:
            check_count("subset_size", size, low=1)
        check_count("seeds", self.num_seeds, low=1)
        check_count("iterations", self.iterations, low=1)
        if self.max_keypoints is not None:
            check_count("max_keypoints", self.max_keypoints, low=4)


def rule_words(levels: tuple[int, ...], epsilon: float, subset_size: int) -> int:
    """|K| by rule: the largest level whose keep probability is at least MIN_KEEP.

    Larger dictionaries tell points apart better as long as the true word is sent often enough.
    Tuned on images of the Strecha maps, not on the queries; `sfumato plan` measures instead.
    """
    size = np.array(sorted(levels), dtype=np.float64)
    odds = subset_size * np.exp(min(epsilon, 50.0))
    often = size[odds / (odds + size - subset_size) >= MIN_KEEP]
    return int(often[-1] if len(often) else size[0])


def settings_of(
    grid: Grid, dictionaries: Mapping[str, Dictionary], *, num_scenes: int
) -> list[Setting]:
    """Every setting once: raw, then by dictionary, ε, |K| and ω, the quickest recipe first."""
    base = Setting("raw", max_keypoints=grid.max_keypoints, has_gravity=grid.has_gravity)
    base = replace(base, shortlist="all" if grid.shortlist.startswith("top") else grid.shortlist)
    found = [base]
    for name, dictionary in dictionaries.items():
        found += [
            replace(
                base,
                recipe="lifted",
                dictionary=name,
                num_words=dictionary.num_words,
                strategy=grid.strategy,
                dimension=dimension,
            )
            for dimension in grid.dimensions
        ]
        for epsilon in (np.inf, *grid.epsilons):
            for size in grid.subset_sizes if np.isfinite(epsilon) else (1,):
                found += _with_words(
                    grid, replace(base, dictionary=name), dictionary, epsilon, size
                )
    if grid.has_control and num_scenes > 1:
        ours = [setting for setting in found if setting.recipe != "paper"]  # it makes no claim
        found += [replace(setting, is_control=True) for setting in ours]
    return list(dict.fromkeys(found))


def _with_words(
    grid: Grid, base: Setting, dictionary: Dictionary, epsilon: float, size: int
) -> Iterator[Setting]:
    levels = (*dictionary.levels, dictionary.num_words)
    for words in grid.words:
        count = rule_words(levels, epsilon, size) if words == "auto" else int(words)
        given = replace(base, num_words=count, subset_size=size, epsilon=epsilon)
        if "sfumato" in grid.recipes:
            yield replace(given, recipe="sfumato")
        if "paper" in grid.recipes:
            for matching in grid.matching:
                yield replace(
                    given,
                    recipe="paper",
                    matching=matching,
                    shortlist=grid.shortlist,
                    iterations=grid.iterations,
                    has_gravity=False,
                )


def run_localization(
    problem: Problem,
    dictionaries: Mapping[str, Dictionary],
    grid: Grid,
    file: PredictionFile,
    *,
    shortlists: Mapping[str, NDArray[np.int64]] | None = None,
    progress: Progress = silent,
) -> None:
    """Predict everything the grid asks for that the file does not hold yet."""
    if (grid.shortlist == "pairs") != (shortlists is not None):
        raise InvalidInput("a shortlist of pairs needs the list of pairs, and no other does.")
    if grid.has_gravity and any(query.truth is None for query in problem.queries):
        raise InvalidInput("gravity is made from true poses, and these queries have none.")
    for name, dictionary in dictionaries.items():
        file.add_dictionary(name, dictionary)
    work = [
        (setting, seed, query)
        for setting in settings_of(grid, dictionaries, num_scenes=len(problem.scenes))
        for seed in range(grid.num_seeds if setting.is_random and not setting.is_control else 1)
        for query in problem.queries
        if (setting, seed, query.name) not in file.done
    ]
    cache = _Cache(problem, dictionaries)
    for done, (setting, seed, query) in enumerate(work):
        progress("localizing", done, len(work))
        words, world = cache.words(setting), cache.world(setting, query)
        release = make_release(query, setting, words, seed)
        listed = None if shortlists is None else shortlists[query.name]
        if isinstance(release, WordRelease) and words is not None:
            world.word_index(words)  # once per map, not part of a query's time
        start = time.perf_counter()
        found = answer(release, world, setting, words, problem, query, listed)
        seconds = time.perf_counter() - start
        file.add(Prediction.of(setting, seed, query.name, len(release), found, seconds))
    progress("localizing", len(work), len(work))


def make_release(
    query: Query, setting: Setting, dictionary: Dictionary | None, seed: int
) -> KeypointRelease:
    """What the device would send; the same for every recipe, and for the control."""
    drawn = f"{seed}|{query.name}|{setting.num_words}|{setting.subset_size}|{setting.epsilon}"
    drawn += "" if setting.strategy is None else f"|{setting.strategy}|{setting.dimension}"
    rng = SeededRandom(int.from_bytes(hashlib.sha256(drawn.encode()).digest()[:8], "big"))
    features = query.features
    if setting.max_keypoints is not None:
        features = KeepStrongest(setting.max_keypoints)(features, rng=rng)
    if dictionary is None:
        return Plain().release(features, rng=rng, camera=query.camera)
    if setting.strategy is not None and setting.dimension is not None:
        lifting = SubspaceLifting(setting.strategy, setting.dimension, dictionary)
        return lifting.release(features, rng=rng, camera=query.camera)
    mechanism = SubsetMechanism(setting.epsilon or np.inf, setting.subset_size or 1, dictionary)
    return mechanism.release(features, rng=rng, camera=query.camera)


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
    gravity = problem.gravity(query) if setting.has_gravity else None
    return localize(release, world, dictionary=dictionary, shortlist=shortlist, gravity=gravity)


class _Cache:
    """What several queries share, each made once.

    The map, or for the control the map without the query's scene; levels of dictionaries.
    """

    def __init__(self, problem: Problem, dictionaries: Mapping[str, Dictionary]) -> None:
        self._problem, self._dictionaries = problem, dictionaries
        self._without: dict[str, Map] = {}
        self._levels: dict[tuple[str, int], Dictionary] = {}

    def world(self, setting: Setting, query: Query) -> Map:
        if not setting.is_control:
            return self._problem.world
        if query.scene not in self._without:
            self._without[query.scene] = self._problem.without_scene(query.scene)
        return self._without[query.scene]

    def words(self, setting: Setting) -> Dictionary | None:
        if setting.dictionary is None or setting.num_words is None:
            return None
        key = setting.dictionary, setting.num_words
        if key not in self._levels:
            self._levels[key] = self._dictionaries[setting.dictionary].at(setting.num_words)
        return self._levels[key]
