"""`sfumato experiment sfm`: reconstructions from private releases alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_json, emit_lines, progress_bar
from sfumato.cli.values import numbers, whole_numbers
from sfumato.core.errors import InvalidInput


def run(
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A scene with cameras.json; repeat for more scenes."),
    ] = None,
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]...", help="Further scenes.")
    ] = None,
    dimension: Annotated[
        str, typer.Option(help="m of lifted releases, several; none for no such row.")
    ] = "2,4",
    epsilon: Annotated[
        str, typer.Option(help="ε per descriptor, several; none for no such row.")
    ] = "12,10,8",
    words: Annotated[
        int | None, typer.Option(help="|K|: a level of the dictionary; near ω·e^ε/5 by default.")
    ] = None,
    subset_size: Annotated[int, typer.Option(help="ω, words per descriptor.")] = 1,
    dictionary: Annotated[str, typer.Option(help="A dictionary's folder or name.")] = "bsds-16k",
    max_keypoints: Annotated[
        int | None, typer.Option(help="Send only the N strongest of each picture.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Draws of each setting.")] = 1,
    raw: Annotated[bool, typer.Option(help="Also reconstruct from raw descriptors.")] = True,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for features and predictions.")
    ] = Path("experiment-sfm"),
    evaluate: Annotated[
        Path | None,
        typer.Option(help="Print the table of this folder of predictions, run nothing."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Reconstruct scenes from private releases alone: raw, lifted and words.

    Each reconstruction is written to OUTPUT/predictions; the same command goes on where it was
    stopped. Releases are reproducible, not for sending.

    Example: sfumato experiment sfm --data strecha/fountain-P11 strecha/Herz-Jesus-P25
    """
    from sfumato.dictionary import Dictionary
    from sfumato.experiments.sfm import Grid, run_sfm
    from sfumato.experiments.sfm_scores import read_rows
    from sfumato.experiments.sfm_table import table_lines

    if evaluate is not None:
        files = sorted(evaluate.glob("*.json"))
        if not files:
            raise InvalidInput(f"there are no predictions (*.json) in {evaluate}.")
    else:
        folders = [*(data or []), *(more or [])]
        if not folders:
            raise InvalidInput("give --data with a folder, or --evaluate with predictions.")
        grid = Grid(
            dimensions=() if dimension == "none" else whole_numbers("dimension", dimension),
            epsilons=() if epsilon == "none" else numbers("epsilon", epsilon),
            words=words,
            subset_size=subset_size,
            max_keypoints=max_keypoints,
            num_seeds=seeds,
            has_raw=raw,
        )
        with progress_bar(quiet=as_json) as progress:
            files = run_sfm(folders, grid, Dictionary.load(dictionary), output, progress=progress)
    rows = read_rows(files)
    if as_json:
        emit_json({"rows": [row.as_dict() for row in rows], "predictions": [str(f) for f in files]})
    else:
        emit_lines(table_lines(rows))
