"""`sfumato experiment budget`: how a picture's budget N·ε is best split into N and ε."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_json, progress_bar
from sfumato.cli.values import names, numbers, whole_numbers
from sfumato.core.errors import InvalidInput

OUTCOMES = "outcomes.jsonl"
PLOT = "budget.png"


def run(
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A scene with cameras.json, or a folder of scenes; repeat for more."),
    ] = None,
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]...", help="Further scenes.")
    ] = None,
    budget: Annotated[
        str, typer.Option(help="B = N·ε of a whole picture, several.")
    ] = "500,1000,2000,4000",
    epsilon: Annotated[str, typer.Option(help="ε per descriptor, several; N = B/ε.")] = "10,12,14",
    words: Annotated[str, typer.Option(help="|K|: levels of the dictionary.")] = "4096,16384",
    subset_size: Annotated[str, typer.Option(help="ω, words per descriptor.")] = "1",
    keep_by: Annotated[
        str, typer.Option(help="How N are chosen: strength, spread, stable, several.")
    ] = "strength,stable",
    seeds: Annotated[int, typer.Option(help="Draws that judge, besides the one that chooses.")] = 3,
    dictionary: Annotated[str, typer.Option(help="A dictionary's folder or name.")] = "bsds-16k",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the map, outcomes and the plot.")
    ] = Path("experiment-budget"),
    evaluate: Annotated[
        Path | None, typer.Option(help="Print the table of this folder, run nothing.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Print every split tried.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Split a fixed budget per picture: the best N and ε beside all keypoints at B/N.

    Outcomes are written as they are made; the same command goes on where it was stopped.
    Releases are reproducible, not for sending.

    Example: sfumato experiment budget --data strecha/ --budget 1000,2000,4000 -o budget/
    """
    from sfumato.datasets.scenes import open_scenes
    from sfumato.dictionary import Dictionary
    from sfumato.experiments.budget import Grid, run_budget
    from sfumato.experiments.budget_outcomes import OutcomeFile, read_outcomes
    from sfumato.experiments.budget_plot import draw_plot
    from sfumato.experiments.budget_table import advise, table_lines
    from sfumato_papers.posed_pairs import scene_folders

    work = evaluate or output
    if evaluate is None:
        folders = [*(data or []), *(more or [])]
        if not folders:
            raise InvalidInput("give --data with a folder, or --evaluate with one of outcomes.")
        grid = Grid(
            budgets=numbers("budget", budget),
            epsilons=numbers("epsilon", epsilon),
            words=whole_numbers("words", words),
            subset_sizes=whole_numbers("subset-size", subset_size),
            keep_by=names(keep_by),
            num_seeds=seeds,
        )
        scenes = scene_folders(folders)
        with progress_bar(quiet=as_json) as progress:
            public = Dictionary.load(dictionary)
            problem = open_scenes(scenes, work, progress=progress)
            file = OutcomeFile(work / OUTCOMES, problem, Path(dictionary).name)
            run_budget(scenes, problem, public, grid, work, file, progress=progress)
    head, outcomes = read_outcomes(work / OUTCOMES)
    found = advise(head, outcomes)
    draw_plot(found, work / PLOT)
    if as_json:
        emit_json({**head, "advice": [one.as_dict() for one in found], "plot": str(work / PLOT)})
    else:
        lines = [*table_lines(head, outcomes, every=every), f"outcomes: {work / OUTCOMES}"]
        sys.stdout.write("\n".join([*lines, f"plot: {work / PLOT}"]) + "\n")
