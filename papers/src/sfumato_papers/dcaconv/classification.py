"""DCAConv, Tables 1 and 2, Fig. 3 and 4: classification from perturbed codes, and our recipe.

Training codes are perturbed, labels and test codes are not. Outcomes go to disk as they are
made; the same call goes on where it was stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sfumato.cli.values import names, number
from sfumato.core.errors import Missing
from sfumato_papers.dcaconv.pictures import Problem
from sfumato_papers.dcaconv.recipes import (
    ENCODERS,
    EPSILONS,
    LEARNERS,
    PAPER_ROWS,
    RECIPES,
    WHOLE_EPSILONS,
    candidate_scores,
    choose_learner,
    perturb,
)
from sfumato_papers.harness.options import Checked, folder, option
from sfumato_papers.harness.outcomes import Journal, Kept, append_record, records_of
from sfumato_papers.harness.work import show_progress


@dataclass(frozen=True)
class Setting:
    """What one cell is about; epsilon is per code, None for clean."""

    recipe: str
    encoder: str
    learner: str
    epsilon: float | None

    @property
    def name(self) -> tuple[str, str, str]:
        return self.recipe, self.encoder, self.learner


@dataclass(frozen=True)
class Outcome:
    """One setting with one seed of the noise.

    num_values, num_codes  d and m; a picture's codes compose to m·ε
    choice                 the settings used, and where they come from
    correct, total         test pictures
    """

    setting: Setting
    seed: int
    num_values: int
    num_codes: int
    choice: str
    correct: int
    total: int
    seconds: float

    @property
    def key(self) -> tuple[Setting, int]:
        return self.setting, self.seed

    @property
    def accuracy(self) -> float:
        return self.correct / self.total


JOURNAL = Journal(
    "classification", "the classification experiment", Outcome, besides=("choice", "whole-choice")
)


def _epsilons(text: str) -> tuple[float | None, ...]:
    return tuple(None if one in ("inf", "∞") else number("epsilon", one) for one in names(text))


@dataclass(frozen=True)
class Settings(Checked):
    """Classify clean pictures with what was learnt from perturbed ones.

    Every row says ε per code and per picture (m·ε); labels are not protected. Outcomes are
    written as they are made; the same command goes on where it was stopped. Noise is seeded, for
    measuring, not for sending.

    Example: sfumato experiment classification --dataset mnist --data mnist --recipe sfumato
    """

    dataset: str = option("mnist", "mnist, fashion or yaleb.")
    data: Path | None = folder(
        "Folder of the idx files, or of CroppedYale with its .pgm files.", "a file of outcomes"
    )
    recipe: str = option(
        "paper",
        "paper: Tables 1, 2, Fig. 3, 4; sfumato: the encoder chosen for each ε; whole: one code "
        "a picture.",
        choices=RECIPES,
    )
    epsilons: tuple[float | None, ...] = option(
        (),
        "ε per code, several, inf for clean; the paper's by default, 1,2 for whole.",
        "--epsilon",
        epsilon=True,
        parse=_epsilons,
    )
    encoders: tuple[str, ...] = option(
        (),
        "Only these rows of the paper's recipe, several.",
        "--encoder",
        choices=ENCODERS,
        parse=lambda text: () if text == "all" else names(text),
        shown="all",
    )
    learners: tuple[str, ...] = option(
        LEARNERS, "naive-bayes, knn or both.", "--learner", choices=LEARNERS
    )
    num_seeds: int = option(3, "Draws of the noise for each cell.", "--seeds", low=1)
    max_train: int | None = option(None, "Only the first training pictures, for a quick look.")
    max_test: int | None = option(None, "Only so many test pictures, for a quick look.")

    @property
    def chosen_epsilons(self) -> tuple[float | None, ...]:
        return self.epsilons or (WHOLE_EPSILONS if self.recipe == "whole" else EPSILONS)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Encoder and learner of each row of the paper's recipe."""
        for encoder, learner in PAPER_ROWS:
            if learner in self.learners and encoder in (self.encoders or ENCODERS):
                yield encoder, learner


def run_classification(problem: Problem, settings: Settings, path: Path) -> list[str]:
    """Run every cell that is not on disk; returns sentences on what could not be run."""
    if settings.recipe == "whole":
        from sfumato_papers.dcaconv.one_code import run_whole_pictures

        return run_whole_pictures(problem, settings, path)
    kept = open_outcomes(path, problem)
    if settings.recipe == "sfumato":
        cells = _chosen_cells(problem, settings, path)
    else:
        cells = [
            Setting("paper", *row, e) for row in settings.rows() for e in settings.chosen_epsilons
        ]
    missing = []
    wanted = [(cell, seed) for cell in cells for seed in range(_seeds(cell, settings))]
    left = [pair for pair in wanted if pair not in kept]
    finished = len(wanted) - len(left)
    for encoder in dict.fromkeys(cell.encoder for cell, _ in left):
        mine = [pair for pair in left if pair[0].encoder == encoder]
        try:
            for outcome in _outcomes(problem, encoder, mine):
                kept.add(outcome)
                finished += 1
                show_progress("classification", finished, len(wanted))
        except Missing as error:
            missing.append(f"{encoder} was not run: {error}")
    return missing


def _seeds(cell: Setting, settings: Settings) -> int:
    """Without noise every seed gives the same answer."""
    return 1 if cell.epsilon is None else settings.num_seeds


def _outcomes(problem: Problem, name: str, cells: list[tuple[Setting, int]]) -> Iterator[Outcome]:
    encoder = ENCODERS[name]().fit(problem.train, problem.train_labels)
    known, asked = encoder.transform(problem.train), encoder.transform(problem.test)
    order = dict.fromkeys((cell.epsilon, seed) for cell, seed in cells)
    for epsilon, seed in order:
        released = perturb(encoder, known, epsilon, seed)
        for cell in (c for c, s in cells if (c.epsilon, s) == (epsilon, seed)):
            start = time.perf_counter()
            chosen = choose_learner(
                cell.learner, cell.recipe, released, known, problem.train_labels, seed
            )
            answers = chosen.learner.fit(released, problem.train_labels).predict(asked)
            yield Outcome(
                setting=cell,
                seed=seed,
                num_values=encoder.num_values_,
                num_codes=known.shape[1],
                choice=chosen.words,
                correct=int((answers == problem.test_labels).sum()),
                total=len(answers),
                seconds=time.perf_counter() - start,
            )


def _chosen_cells(problem: Problem, settings: Settings, path: Path) -> list[Setting]:
    """Encoder and learner of each ε by held-out training pictures; choices are kept on disk."""
    choices = {record["epsilon"]: record for record in records_of(path, "choice")}
    asked = tuple(epsilon for epsilon in settings.chosen_epsilons if epsilon not in choices)
    if asked:
        show_progress("choosing encoders on training pictures", 0, 1)
        scores = candidate_scores(
            problem.train, problem.train_labels, asked, seed=1_000_003, dataset=problem.name
        )
        for epsilon in asked:
            encoder, learner = max(scores[epsilon], key=scores[epsilon].__getitem__)
            choices[epsilon] = {
                "epsilon": epsilon,
                "encoder": encoder,
                "learner": learner,
                "held_out_accuracy": {
                    f"{name}, {kind}": share for (name, kind), share in scores[epsilon].items()
                },
            }
            append_record(path, {"kind": "choice", **choices[epsilon]})
    return [
        Setting("sfumato", choices[epsilon]["encoder"], choices[epsilon]["learner"], epsilon)
        for epsilon in settings.chosen_epsilons
    ]


def open_outcomes(path: Path, problem: Problem) -> Kept[Outcome]:
    """Begin a file of outcomes, or go on with one of the same pictures."""
    about = {
        "dataset": problem.name,
        "train": len(problem.train),
        "test": len(problem.test),
        "data": problem.fingerprint,
    }
    return JOURNAL.begin(path, about, "outcomes of other pictures")
