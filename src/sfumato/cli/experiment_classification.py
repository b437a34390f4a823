"""`sfumato experiment classification`: the tables of dcaconv, and our recipe beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_json, emit_lines, progress_bar
from sfumato.cli.values import names, number
from sfumato.core.errors import InvalidInput

OUTCOMES = "outcomes.jsonl"
PLOT = "classification.png"


def run(
    dataset: Annotated[str, typer.Option(help="mnist, fashion or yaleb.")] = "mnist",
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the idx files, or of CroppedYale with its .pgm files."),
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(
            help="paper: Tables 1, 2, Fig. 3, 4; sfumato: the encoder chosen for each ε; whole: "
            "one code a picture."
        ),
    ] = "paper",
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="ε per code, several, inf for clean; the paper's by default, 1,2 for whole."
        ),
    ] = None,
    encoder: Annotated[
        str, typer.Option(help="Only these rows of the paper's recipe, several.")
    ] = "all",
    learner: Annotated[str, typer.Option(help="naive-bayes, knn or both.")] = "naive-bayes,knn",
    seeds: Annotated[int, typer.Option(help="Draws of the noise for each cell.")] = 3,
    max_train: Annotated[
        int | None, typer.Option(help="Only the first training pictures, for a quick look.")
    ] = None,
    max_test: Annotated[
        int | None, typer.Option(help="Only the first test pictures, for a quick look.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for outcomes and the plot.")
    ] = None,
    evaluate: Annotated[
        Path | None, typer.Option(help="Print the table of this file of outcomes, run nothing.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Classify clean pictures with what was learnt from perturbed ones.

    Every row says ε per code and per picture (m·ε); labels are not protected. Outcomes are
    written as they are made; the same command goes on where it was stopped. Noise is seeded, for
    measuring, not for sending.

    Example: sfumato experiment classification --dataset mnist --data mnist --recipe sfumato
    """
    from sfumato.experiments.classification import Grid, read_outcomes, run_classification
    from sfumato.experiments.classification_data import open_problem
    from sfumato.experiments.classification_paper import EPSILONS
    from sfumato.experiments.classification_plot import draw_plot
    from sfumato.experiments.classification_table import summarise, table_lines
    from sfumato.experiments.classification_whole import WHOLE_EPSILONS

    folder = output or Path(f"experiment-classification-{dataset}")
    path = evaluate or folder / OUTCOMES
    notes: list[str] = []
    if evaluate is None:
        if data is None:
            raise InvalidInput("give --data with a folder, or --evaluate with a file of outcomes.")
        usual = WHOLE_EPSILONS if recipe == "whole" else EPSILONS
        chosen = usual if epsilon is None else tuple(_epsilon(item) for item in names(epsilon))
        grid = Grid(
            recipe=recipe,
            epsilons=chosen,
            num_seeds=seeds,
            encoders=() if encoder == "all" else names(encoder),
            learners=names(learner),
        )
        problem = open_problem(dataset, data, max_train=max_train, max_test=max_test)
        with progress_bar(quiet=as_json) as progress:
            notes = run_classification(problem, grid, path, progress=progress)
    head, outcomes = read_outcomes(path)
    rows = summarise(head["dataset"], outcomes)
    plot = path.parent / PLOT
    draw_plot(rows, plot)
    if as_json:
        shown = {**head, "rows": [row.as_dict() for row in rows], "plot": str(plot)}
        emit_json({**shown, "not_run": notes})
    else:
        lines = [*table_lines(head, rows), *notes, f"outcomes: {path}   plot: {plot}"]
        emit_lines(lines)


def _epsilon(text: str) -> float | None:
    return None if text in ("inf", "∞") else number("epsilon", text)
