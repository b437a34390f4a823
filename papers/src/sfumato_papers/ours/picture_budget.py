"""Ours: a fixed budget per picture, few keypoints that say much or many that say little?

N keypoints at ε each spend B = N·ε, the whole picture's guarantee. No paper asks how B is best
split. Splits are chosen with one draw of every query and judged with others; the baseline sends
all keypoints at B/N. Draws are seeded: reproducible releases, not for sending.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Features
from sfumato.datasets.scenes import Problem, Query
from sfumato.device.filters.keep import KEEP_BY
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.server.localize import localize
from sfumato_papers.harness.options import EXTRACTOR, Checked, folders, option
from sfumato_papers.harness.outcomes import Journal, Kept
from sfumato_papers.harness.table import grouped, wilson
from sfumato_papers.harness.work import seeded, worked_through
from sfumato_papers.ldp_feat.poses import judge
from sfumato_papers.reverse.posed_pairs import KeypointSource

MIN_KEYPOINTS = 4  # of a pose
Share = dict[str, Any]
#: Draws with this seed choose the split; all others judge it.
TUNING_SEED = 0


@dataclass(frozen=True)
class Split:
    """How a picture's budget B is spent: N keypoints at ε = B/N each.

    num_keypoints  None for all of a picture's, the baseline; then ε differs between pictures
    epsilon        per descriptor; None where num_keypoints is
    """

    budget: float
    num_keypoints: int | None
    epsilon: float | None
    keep_by: str
    num_words: int
    subset_size: int

    @property
    def is_baseline(self) -> bool:
        return self.num_keypoints is None


@dataclass(frozen=True)
class Outcome:
    """One query, one draw. spent is N·ε of this picture, at most the budget."""

    split: Split
    seed: int
    query: str
    num_keypoints: int
    spent: float
    is_localized: bool
    is_wrong: bool
    num_inliers: int
    seconds: float

    @property
    def key(self) -> tuple[Split, int, str]:
        return self.split, self.seed, self.query


JOURNAL = Journal("budget", "the budget experiment", Outcome, version=1)


@dataclass(frozen=True)
class Settings(Checked):
    """Split a fixed budget per picture: the best N and ε beside all keypoints at B/N.

    Outcomes are written as they are made; the same command goes on where it was stopped.
    Releases are reproducible, not for sending.

    Example: sfumato experiment budget --data strecha/ --budget 1000,2000,4000 -o budget/
    """

    data: tuple[Path, ...] = folders(
        "A scene with cameras.json, or a folder of scenes; repeat for more.",
        "one of outcomes",
        further="Further scenes.",
    )
    budgets: tuple[float, ...] = option(
        (500.0, 1000.0, 2000.0, 4000.0), "B = N·ε of a whole picture, several.", "--budget"
    )
    epsilons: tuple[float, ...] = option(
        (10.0, 12.0, 14.0), "ε per descriptor, several; N = B/ε.", "--epsilon", epsilon=True
    )
    words: tuple[int, ...] = option((4096, 16_384), "|K|: levels of the dictionary.", low=2)
    subset_sizes: tuple[int, ...] = option((1,), "ω, words per descriptor.", "--subset-size", low=1)
    keep_by: tuple[str, ...] = option(
        ("strength", "stable"),
        "How N are chosen: strength, spread, stable, several.",
        choices=KEEP_BY,
    )
    num_seeds: int = option(3, "Draws that judge, besides the one that chooses.", "--seeds", low=1)
    extractor: str = option("sift", EXTRACTOR)
    dictionary: str = option("bsds-16k", "A dictionary's folder or name.")
    every: bool = option(False, "Print every split tried.", "--all")

    def __post_init__(self) -> None:
        super().__post_init__()
        for budget in self.budgets:
            if not (math.isfinite(as_number("budget", budget)) and budget > 0):
                raise InvalidInput(f"budget must be a positive number, got {budget!r}.")

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


def shares(outcomes: Iterable[Outcome], *, tuning: bool) -> list[Share]:
    """How often every split localized: in the draw that chooses, or in those that judge."""
    drawn = [outcome for outcome in outcomes if (outcome.seed == TUNING_SEED) == tuning]
    return [_share(split, group) for split, group in grouped(drawn, lambda o: o.split).items()]


def _share(split: Split, group: Sequence[Outcome]) -> Share:
    localized = sum(outcome.is_localized for outcome in group)
    keypoints = float(np.mean([outcome.num_keypoints for outcome in group]))
    spent = float(np.mean([outcome.spent for outcome in group]))
    return {
        **asdict(split),
        "localized": localized,
        "answers": len(group),
        "share": localized / len(group),
        "share_interval_95": wilson(localized, len(group)),
        "wrong_poses": sum(outcome.is_wrong for outcome in group),
        "mean_keypoints": keypoints,
        "mean_epsilon_per_picture": spent,
        "_split": split,
        "_mean_epsilon": spent / keypoints,  # per descriptor
        "_median_inliers": float(np.median([outcome.num_inliers for outcome in group])),
    }


def best_of(found: Iterable[Share]) -> dict[tuple[float, str], Share]:
    """The best split for each budget and way to keep; of equals the one with more inliers.

    Baselines stay out of it: they are what the best is compared with.
    """
    splits = [share for share in found if not share["_split"].is_baseline]
    return {
        key: max(group, key=lambda one: (one["share"], -one["wrong_poses"], one["_median_inliers"]))
        for key, group in grouped(splits, lambda one: (one["budget"], one["keep_by"])).items()
    }


def run_budget(
    problem: Problem, dictionary: Dictionary, settings: Settings, path: Path
) -> Kept[Outcome]:
    """Choose with one draw, then judge the chosen splits and the baselines with the others."""
    about = {
        "dictionary": Path(settings.dictionary).name,
        "data": problem.data,
        "fingerprint": problem.fingerprint,
        "images": problem.world.num_images,
        "points": len(problem.world.points),
        "queries": len(problem.queries),
    }
    others = "outcomes of another map, other queries or another dictionary"
    kept = JOURNAL.begin(path, about, others)
    levels = {words: dictionary.at(words) for words in settings.words}
    source = KeypointSource(settings.data, path.parent)
    runner = _Runner(source, problem, levels, kept)
    splits = settings.splits()
    runner.run([(split, TUNING_SEED) for split in splits], "choosing")
    tuned = [
        share
        for share in shares(kept.outcomes.values(), tuning=True)
        if share["_split"] in splits and share["answers"] == len(problem.queries)
    ]
    chosen = [share["_split"] for share in best_of(tuned).values()]
    judged = [
        (split, seed)
        for seed in range(TUNING_SEED + 1, TUNING_SEED + 1 + settings.num_seeds)
        for split in [*chosen, *settings.baselines()]
    ]
    runner.run(judged, "judging")
    return kept


@dataclass(frozen=True, eq=False)
class _Runner:
    source: KeypointSource
    problem: Problem
    levels: Mapping[int, Dictionary]
    kept: Kept[Outcome]
    orders: dict[tuple[str, str], NDArray[np.int64]] = field(default_factory=dict)

    def run(self, wanted: Sequence[tuple[Split, int]], stage: str) -> None:
        todo = [
            (split, seed, query)
            for split, seed in wanted
            for query in self.problem.queries
            if (split, seed, query.name) not in self.kept
        ]
        for outcome in worked_through(_Runner.ask, todo, stage, self):
            self.kept.add(outcome)

    def ask(self, asked: tuple[Split, int, Query]) -> Outcome:
        split, seed, query = asked
        features = self._strongest(query, split)
        epsilon = split.epsilon
        if epsilon is None:  # the baseline: all keypoints, whatever is left for each
            epsilon = split.budget / max(len(features), 1)
        level = self.levels[split.num_words]
        rng = seeded(seed, query.name, split.budget, epsilon, split.num_words, split.keep_by)
        mechanism = SubsetMechanism(epsilon, split.subset_size, level)
        release = mechanism.release(features, rng=rng, camera=query.camera)
        start = time.perf_counter()
        found = localize(release, self.problem.world, dictionary=level)
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

    def _strongest(self, query: Query, split: Split) -> Features:
        if split.num_keypoints is None:
            return query.features
        key = query.name, split.keep_by
        if key not in self.orders:
            self.orders[key] = self.source.order(*key, query.features)
        return query.features.take(self.orders[key][: split.num_keypoints])
