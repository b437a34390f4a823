"""`sfumato experiment matching`: lifted descriptors under the HPatches protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_json, emit_lines, progress_bar
from sfumato.cli.values import names, whole_numbers
from sfumato.core.errors import InvalidInput

OUTCOMES = "outcomes.jsonl"
PLOT = "matching.png"


def run(
    data: Annotated[
        Path | None, typer.Option(help="A folder of sequences as in HPatches or Oxford's set.")
    ] = None,
    database: Annotated[
        str, typer.Option(help="The words that subspaces pass through: a dictionary.")
    ] = "bsds-16k",
    strategy: Annotated[
        str, typer.Option(help="How to lift, several.")
    ] = "random,adversarial,hybrid,sub-adversarial,sub-hybrid",
    dimension: Annotated[str, typer.Option(help="m, several.")] = "2,4,8,16",
    distance: Annotated[
        str, typer.Option(help="point-subspace (one side lifted), subspace-subspace, or both.")
    ] = "point-subspace,subspace-subspace",
    precision: Annotated[str, typer.Option(help="float32 or float16 on the wire.")] = "float32",
    max_keypoints: Annotated[int, typer.Option(help="The strongest of each picture.")] = 1000,
    seeds: Annotated[int, typer.Option(help="Lifts of each picture.")] = 3,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for outcomes and the plot.")
    ] = Path("experiment-matching"),
    evaluate: Annotated[
        Path | None, typer.Option(help="Print the table of this file of outcomes, run nothing.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Match pictures by subspaces: mean matching accuracy beside raw descriptors.

    Outcomes are written as they are made; the same command goes on where it was stopped.

    Example: sfumato experiment matching --data oxford --max-keypoints 1000
    """
    from sfumato.datasets.hpatches import read_sequences
    from sfumato.dictionary import Dictionary
    from sfumato.experiments.matching import Grid, read_outcomes, run_matching
    from sfumato.experiments.matching_table import draw_plot, summarise, table_lines

    path = evaluate or output / OUTCOMES
    if evaluate is None:
        if data is None:
            raise InvalidInput("give --data with a folder, or --evaluate with a file of outcomes.")
        grid = Grid(
            strategies=names(strategy),
            dimensions=whole_numbers("dimension", dimension),
            distances=names(distance),
            precision=precision,
            num_seeds=seeds,
            max_keypoints=max_keypoints,
        )
        with progress_bar(quiet=as_json) as progress:
            words = Dictionary.load(database)
            run_matching(read_sequences(data), words, grid, path, progress=progress)
    head, outcomes = read_outcomes(path)
    rows = summarise(outcomes)
    plot = path.parent / PLOT
    draw_plot(rows, plot)
    if as_json:
        emit_json({**head, "rows": [row.as_dict() for row in rows], "plot": str(plot)})
    else:
        shown = [*table_lines(head, rows), f"outcomes: {path}   plot: {plot}"]
        emit_lines(shown)
