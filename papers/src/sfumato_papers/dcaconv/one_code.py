"""Ours beside DCAConv: one code a picture, so that ε is the whole picture's and not one code's.

Every training picture sends a single code from a random place. Encoder and smoothing are chosen
for each ε with held-out training pictures; encoders marked "fixed" learn nothing from pictures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.classification.dcaconv import DCAConv
from sfumato.classification.naive_bayes import DebiasedNaiveBayes
from sfumato.classification.orientations import OrientationCodes
from sfumato.classification.validation import choose, hold_out
from sfumato.core.errors import InvalidInput
from sfumato_papers.dcaconv.classification import Outcome, Setting, Settings, open_outcomes
from sfumato_papers.dcaconv.pictures import Problem
from sfumato_papers.dcaconv.recipes import perturb
from sfumato_papers.harness.outcomes import append_record, records_of
from sfumato_papers.harness.work import show_progress, tracked

NUM_SENT = 1
#: What is chosen from; "fixed" encoders learn nothing from pictures.
WHOLE_ENCODERS: dict[str, Callable[[], Any]] = {
    "fixed 4 orientations, margin 0": lambda: OrientationCodes(4, stride=2),
    "fixed 4 orientations, margin 4": lambda: OrientationCodes(4, stride=2, margin=4),
    "fixed 4 orientations, margin 6": lambda: OrientationCodes(4, stride=2, margin=6),
    "fixed 6 orientations, margin 0": lambda: OrientationCodes(6, stride=2),
    "fixed 6 orientations, margin 4": lambda: OrientationCodes(6, stride=2, margin=4),
    "fixed 8 orientations, margin 4": lambda: OrientationCodes(8, stride=2, margin=4),
    "dcaconv position-4": lambda: DCAConv((5, 2), scatter="position"),
}
_SPATIAL = (0.0, 0.5, 0.7, 1.0)
_ALPHAS = (0.1, 0.3, 1.0, 3.0)
_HELD_OUT = 5000
_CHOICE_SEEDS = (1_000_003, 1_000_033)


@dataclass(frozen=True)
class WholeChoice:
    """What held-out training pictures say is best at one ε of a picture."""

    epsilon: float
    encoder: str
    spatial: float
    alpha: float
    held_out_accuracy: dict[str, float]  # of the best settings of every encoder

    @property
    def words(self) -> str:
        return f"1 code a picture, σ = {self.spatial:g}, α = {self.alpha:g} (held out)"

    def learner(self) -> DebiasedNaiveBayes:
        return DebiasedNaiveBayes(alpha=self.alpha, spatial=self.spatial)


def run_whole_pictures(problem: Problem, settings: Settings, path: Path) -> list[str]:
    """Run every cell that is not on disk, its settings chosen first; nothing is left out."""
    kept = open_outcomes(path, problem)
    epsilons = [epsilon for epsilon in settings.chosen_epsilons if epsilon is not None]
    if len(epsilons) < len(settings.chosen_epsilons) or not epsilons:
        raise InvalidInput("the whole-picture recipe needs finite ε, such as 1 and 2.")
    choices = _choices(problem, epsilons, path)
    for name in dict.fromkeys(choice.encoder for choice in choices):
        cells = [
            (choice, seed)
            for choice in choices
            for seed in range(settings.num_seeds)
            if choice.encoder == name and (_setting(choice), seed) not in kept
        ]
        if cells:
            for outcome in _outcomes(problem, name, cells):
                kept.add(outcome)
                show_progress("whole pictures", outcome.seed + 1, settings.num_seeds)
    return []


def _setting(choice: WholeChoice) -> Setting:
    return Setting("whole", choice.encoder, "naive-bayes", choice.epsilon)


def _outcomes(
    problem: Problem, name: str, cells: list[tuple[WholeChoice, int]]
) -> Iterator[Outcome]:
    encoder = WHOLE_ENCODERS[name]().fit(problem.train, problem.train_labels)
    known, asked = encoder.transform(problem.train), encoder.transform(problem.test)
    for choice, seed in cells:
        start = time.perf_counter()
        released = perturb(encoder, known, choice.epsilon, seed, NUM_SENT)
        learner = choice.learner().fit(released, problem.train_labels)
        found = learner.predict(asked)
        yield Outcome(
            setting=_setting(choice),
            seed=seed,
            num_values=encoder.num_values_,
            num_codes=released.num_sent,
            choice=choice.words,
            correct=int((found == problem.test_labels).sum()),
            total=len(found),
            seconds=time.perf_counter() - start,
        )


def _choices(problem: Problem, epsilons: list[float], path: Path) -> list[WholeChoice]:
    """The choice for every ε; those on disk are kept."""
    found = {one["epsilon"]: WholeChoice(**one) for one in records_of(path, "whole-choice")}
    asked = [epsilon for epsilon in epsilons if epsilon not in found]
    if asked:
        tables = _candidate_scores(problem, asked)
        for epsilon in asked:
            found[epsilon] = _best(epsilon, tables[epsilon])
            append_record(path, {"kind": "whole-choice", **asdict(found[epsilon])})
    return [found[epsilon] for epsilon in epsilons]


Scores = dict[tuple[str, float, float], float]


def _best(epsilon: float, scores: Scores) -> WholeChoice:
    name, spatial, alpha = max(scores, key=scores.__getitem__)
    shown = {
        encoder: max(value for key, value in scores.items() if key[0] == encoder)
        for encoder in WHOLE_ENCODERS
    }
    return WholeChoice(epsilon, name, spatial, alpha, shown)


def _candidate_scores(problem: Problem, epsilons: list[float]) -> dict[float, Scores]:
    """Every encoder with every smoothing on held-out training pictures, over two draws."""
    labels = problem.train_labels
    rest, held = hold_out(labels, min(_HELD_OUT / len(labels), 0.5), seed=_CHOICE_SEEDS[0])
    tables: dict[float, Scores] = {epsilon: {} for epsilon in epsilons}
    learners = [DebiasedNaiveBayes(alpha=a, spatial=s) for s in _SPATIAL for a in _ALPHAS]
    for name in tracked(WHOLE_ENCODERS, "choosing settings on training pictures"):
        encoder = WHOLE_ENCODERS[name]().fit(problem.train[rest], labels[rest])
        known, asked = (
            encoder.transform(problem.train[rest]),
            encoder.transform(problem.train[held]),
        )
        for epsilon in epsilons:
            draws = [
                choose(
                    learners,
                    (perturb(encoder, known, epsilon, seed, NUM_SENT), labels[rest]),
                    (asked, labels[held]),
                ).scores
                for seed in _CHOICE_SEEDS
            ]
            for column in zip(*draws, strict=True):
                learner = column[0][0]
                key = (name, learner.spatial, learner.alpha)
                tables[epsilon][key] = float(np.mean([score for _, score in column]))
    return tables
