"""A fixed budget per picture: few keypoints that say much, or many that say little?

N keypoints at ε each spend B = N·ε, the whole picture's guarantee. No paper asks how B is best
split. Splits are chosen with one draw of every query and judged with others; the baseline sends
all keypoints at B/N. Draws are seeded: reproducible releases, not for sending.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number, check_count, check_epsilon
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Features
from sfumato.datasets.scenes import Problem, Query
from sfumato.device.filters.keep import KEEP_BY
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.experiments.budget_outcomes import (
    TUNING_SEED,
    Outcome,
    OutcomeFile,
    Split,
    best_of,
    shares,
)
from sfumato.server.localize import localize
from sfumato_papers.posed_pairs import keep_order, survivals_of
from sfumato_papers.poses import judge

MIN_KEYPOINTS = 4  # of a pose


@dataclass(frozen=True)
class Grid:
    """Which splits are tried: for every budget and ε, N = B/ε, with every |K| and ω.

    words      levels |K| of the dictionary, for the baseline too
    num_seeds  draws that judge, besides the one that chooses
    """

    budgets: tuple[float, ...] = (500, 1000, 2000, 4000)
    epsilons: tuple[float, ...] = (10, 12, 14)
    words: tuple[int, ...] = (4096, 16_384)
    subset_sizes: tuple[int, ...] = (1,)
    keep_by: tuple[str, ...] = ("strength", "stable")
    num_seeds: int = 3

    def __post_init__(self) -> None:
        for budget in self.budgets:
            if not (math.isfinite(as_number("budget", budget)) and budget > 0):
                raise InvalidInput(f"budget must be a positive number, got {budget!r}.")
        for epsilon in self.epsilons:
            check_epsilon(epsilon)
        for words in self.words:
            check_count("words", words, low=2)
        for size in self.subset_sizes:
            check_count("subset_size", size, low=1)
        check_count("seeds", self.num_seeds, low=1)
        for value in self.keep_by:
            if value not in KEEP_BY:
                raise InvalidInput(f"keep-by must be one of {', '.join(KEEP_BY)}, got {value!r}.")

    def splits(self) -> list[Split]:
        """Every split that leaves enough keypoints for a pose, once."""
        found = [
            Split(float(budget), count, budget / count, keep_by, words, size)
            for budget in self.budgets
            for epsilon in self.epsilons
            if (count := math.floor(budget / epsilon)) >= MIN_KEYPOINTS
            for keep_by in self.keep_by
            for words in self.words
            for size in self.subset_sizes
        ]
        if not found:
            raise InvalidInput(
                f"a pose needs {MIN_KEYPOINTS} keypoints; give a larger budget or a smaller ε."
            )
        return list(dict.fromkeys(found))

    def baselines(self) -> list[Split]:
        """All keypoints at B/N, with every |K|: what is compared with is the best of them."""
        return [
            Split(float(budget), None, None, "strength", words, 1)
            for budget in self.budgets
            for words in self.words
        ]


def run_budget(
    folders: Sequence[str | Path],
    problem: Problem,
    dictionary: Dictionary,
    grid: Grid,
    work: str | Path,
    file: OutcomeFile,
    *,
    progress: Progress = silent,
) -> None:
    """Choose with one draw, then judge the chosen splits and the baselines with the others."""
    levels = {words: dictionary.at(words) for words in grid.words}
    runner = _Runner(folders, problem, levels, work, file)
    splits = grid.splits()
    runner.run([(split, TUNING_SEED) for split in splits], "choosing", progress)
    tuned = [
        share
        for share in shares(file.outcomes.values(), tuning=True)
        if share.split in splits and share.num_answers == len(problem.queries)
    ]
    chosen = [share.split for share in best_of(tuned).values()]
    judged = [
        (split, seed)
        for seed in range(TUNING_SEED + 1, TUNING_SEED + 1 + grid.num_seeds)
        for split in [*chosen, *grid.baselines()]
    ]
    runner.run(judged, "judging", progress)


class _Runner:
    def __init__(
        self,
        folders: Sequence[str | Path],
        problem: Problem,
        levels: Mapping[int, Dictionary],
        work: str | Path,
        file: OutcomeFile,
    ) -> None:
        self._folders, self._problem, self._levels = folders, problem, levels
        self._work, self._file = work, file
        self._orders: dict[tuple[str, str], NDArray[np.int64]] = {}

    def run(self, wanted: Sequence[tuple[Split, int]], stage: str, progress: Progress) -> None:
        todo = [
            (split, seed, query)
            for split, seed in wanted
            for query in self._problem.queries
            if (split, seed, query.name) not in self._file.outcomes
        ]
        for done, (split, seed, query) in enumerate(todo):
            progress(stage, done, len(todo))
            self._file.add(self._ask(split, seed, query))
        progress(stage, len(todo), len(todo))

    def _ask(self, split: Split, seed: int, query: Query) -> Outcome:
        features = self._kept(query, split)
        epsilon = split.epsilon
        if epsilon is None:  # the baseline: all keypoints, whatever is left for each
            epsilon = split.budget / max(len(features), 1)
        level = self._levels[split.num_words]
        drawn = f"{seed}|{query.name}|{split.budget}|{epsilon}|{split.num_words}|{split.keep_by}"
        rng = SeededRandom(int.from_bytes(hashlib.sha256(drawn.encode()).digest()[:8], "big"))
        mechanism = SubsetMechanism(epsilon, split.subset_size, level)
        release = mechanism.release(features, rng=rng, camera=query.camera)
        start = time.perf_counter()
        found = localize(release, self._problem.world, dictionary=level)
        seconds = time.perf_counter() - start
        if query.truth is None:
            raise InvalidInput("the budget experiment needs queries with known poses.")
        inside, is_wrong = judge(found.pose, query.truth)
        return Outcome(
            split=split,
            seed=seed,
            query=query.name,
            num_keypoints=len(features),
            spent=epsilon * len(features),
            is_localized=inside[0],
            is_wrong=is_wrong,
            num_inliers=found.num_inliers,
            seconds=seconds,
        )

    def _kept(self, query: Query, split: Split) -> Features:
        if split.num_keypoints is None:
            return query.features
        key = query.name, split.keep_by
        if key not in self._orders:
            survived = None
            if split.keep_by == "stable":
                survived = survivals_of(self._folders, query.name, query.features, self._work, None)
            self._orders[key] = keep_order(query.features, split.keep_by, survived)
        return query.features.take(self._orders[key][: split.num_keypoints])
