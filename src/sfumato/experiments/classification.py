"""Classification from perturbed codes: the paper's tables, our recipe [dcaconv, Tables 1, 2].

Training codes are perturbed, labels and test codes are not. Outcomes go to disk as they are
made; the same call goes on where it was stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.progress import Progress, silent
from sfumato.experiments.classification_data import Problem
from sfumato.experiments.classification_paper import EPSILONS
from sfumato.experiments.classification_recipes import (
    ENCODERS,
    LEARNERS,
    PAPER_ROWS,
    RECIPES,
    candidate_scores,
    choose_learner,
    perturb,
)
from sfumato.experiments.records import append_record, begin_records, read_records


@dataclass(frozen=True)
class Setting:
    """What one cell is about; epsilon is per code, None for clean."""

    recipe: str
    encoder: str
    learner: str
    epsilon: float | None


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
    def accuracy(self) -> float:
        return self.correct / self.total


@dataclass(frozen=True)
class Grid:
    """The cells to run; encoders empty for all of the recipe's."""

    recipe: str = "paper"
    epsilons: tuple[float | None, ...] = EPSILONS
    num_seeds: int = 3
    encoders: tuple[str, ...] = ()
    learners: tuple[str, ...] = LEARNERS

    def __post_init__(self) -> None:
        for name, values, known in (
            ("recipe", (self.recipe,), RECIPES),
            ("encoder", self.encoders, tuple(ENCODERS)),
            ("learner", self.learners, LEARNERS),
        ):
            for value in values:
                if value not in known:
                    raise InvalidInput(f"{name} must be one of {', '.join(known)}, got {value!r}.")
        for epsilon in self.epsilons:
            if epsilon is not None:
                check_epsilon(epsilon)
        check_count("seeds", self.num_seeds, low=1)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Encoder and learner of each row of the paper's recipe."""
        for encoder, learner in PAPER_ROWS:
            if learner in self.learners and encoder in (self.encoders or ENCODERS):
                yield encoder, learner


def run_classification(
    problem: Problem, grid: Grid, path: Path, *, progress: Progress = silent
) -> list[str]:
    """Run every cell that is not on disk; returns sentences on what could not be run."""
    if grid.recipe == "whole":
        from sfumato.experiments.classification_whole import run_whole_pictures

        return run_whole_pictures(problem, grid, path, progress=progress)
    done = open_outcomes(path, problem)
    if grid.recipe == "sfumato":
        cells = _chosen_cells(problem, grid, path, progress)
    else:
        cells = [Setting("paper", *row, e) for row in grid.rows() for e in grid.epsilons]
    missing = []
    wanted = [(cell, seed) for cell in cells for seed in range(_seeds(cell, grid))]
    left = [pair for pair in wanted if pair not in done]
    finished = len(wanted) - len(left)
    for encoder in dict.fromkeys(cell.encoder for cell, _ in left):
        mine = [pair for pair in left if pair[0].encoder == encoder]
        try:
            for outcome in _outcomes(problem, encoder, mine):
                append_record(path, {"kind": "outcome", **asdict(outcome)})
                finished += 1
                progress("classification", finished, len(wanted))
        except Missing as error:
            missing.append(f"{encoder} was not run: {error}")
    return missing


def _seeds(cell: Setting, grid: Grid) -> int:
    """Without noise every seed gives the same answer."""
    return 1 if cell.epsilon is None else grid.num_seeds


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


def _chosen_cells(problem: Problem, grid: Grid, path: Path, progress: Progress) -> list[Setting]:
    """Encoder and learner of each ε by held-out training pictures; choices are kept on disk."""
    choices = {
        record["epsilon"]: record for record in read_records(path) if record["kind"] == "choice"
    }
    asked = tuple(epsilon for epsilon in grid.epsilons if epsilon not in choices)
    if asked:
        progress("choosing encoders on training pictures", 0, 1)
        scores = candidate_scores(problem.train, problem.train_labels, asked, seed=1_000_003)
        for epsilon in asked:
            encoder, learner = max(scores[epsilon], key=scores[epsilon].__getitem__)
            choices[epsilon] = {
                "kind": "choice",
                "epsilon": epsilon,
                "encoder": encoder,
                "learner": learner,
                "held_out_accuracy": {
                    f"{name}, {kind}": share for (name, kind), share in scores[epsilon].items()
                },
            }
            append_record(path, choices[epsilon])
    return [
        Setting("sfumato", choices[epsilon]["encoder"], choices[epsilon]["learner"], epsilon)
        for epsilon in grid.epsilons
    ]


def read_outcomes(path: str | Path) -> tuple[dict[str, Any], tuple[Outcome, ...]]:
    """The data that was classified, and every outcome of a file."""
    head, *lines = [*read_records(Path(path))] or [{}]
    if head.get("kind") != "classification":
        raise InvalidInput(f"{path} is not a file of the classification experiment.")
    outcomes = []
    for number, line in enumerate(lines, start=2):
        if line.get("kind") != "outcome":
            continue
        try:
            line.pop("kind")
            outcomes.append(Outcome(setting=Setting(**line.pop("setting")), **line))
        except (KeyError, TypeError) as error:
            raise InvalidInput(f"{path} is damaged in line {number}: {error}.") from None
    return head, tuple(outcomes)


def open_outcomes(path: Path, problem: Problem) -> set[tuple[Setting, int]]:
    """Begin a file of outcomes, or go on with one of the same pictures; the cells it has."""
    head = {
        "kind": "classification",
        "dataset": problem.name,
        "train": len(problem.train),
        "test": len(problem.test),
        "data": problem.fingerprint,
    }
    begin_records(path, head, "outcomes of other pictures")
    _, outcomes = read_outcomes(path)
    return {(outcome.setting, outcome.seed) for outcome in outcomes}
