"""`sfumato experiment fewer`: what matching and reconstruction lose with fewer keypoints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_json, emit_lines, progress_bar
from sfumato.cli.values import names, whole_numbers
from sfumato.core.errors import InvalidInput

OUTCOMES = "outcomes.jsonl"
PRIVACY = "privacy.jsonl"
PLOT = "fewer.png"


def run(
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A scene with cameras.json, or a folder of scenes; repeat for more."),
    ] = None,
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]...", help="Further scenes.")
    ] = None,
    extractor: Annotated[str, typer.Option(help="Extractors, several.")] = "sift,freak,vgg,beblid",
    keypoints: Annotated[str, typer.Option(help="N, several.")] = "1000,800,400,200,100",
    keep_by: Annotated[
        str, typer.Option(help="How N are chosen: strength, spread, stable, several.")
    ] = "strength,spread",
    protocol: Annotated[
        str, typer.Option(help="both: either picture keeps N; query: one does; or both,query.")
    ] = "both",
    pool: Annotated[
        int | None, typer.Option(help="Find at most so many keypoints to choose from; else all.")
    ] = None,
    ransac: Annotated[
        bool, typer.Option("--ransac", help="Also count inliers without knowing poses; slower.")
    ] = False,
    pictures: Annotated[
        Path | None, typer.Option(help="Photographs to reconstruct, for 1 − SSIM.")
    ] = None,
    num_pictures: Annotated[int, typer.Option(help="So many of them, spread evenly.")] = 40,
    networks: Annotated[
        Path | None, typer.Option(help="A folder of EXTRACTOR-raw.onnx, beside those shipped.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for features, outcomes and the plot.")
    ] = Path("experiment-fewer"),
    evaluate: Annotated[
        Path | None, typer.Option(help="Print the table of this folder, run nothing.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Keep fewer keypoints: matching recall on posed pairs, and 1 − SSIM of what is rebuilt.

    Outcomes are written as they are made; the same command goes on where it was stopped, and
    further extractors or rules are added to the same folder.

    Example: sfumato experiment fewer --data strecha/ --pictures photos/ -o fewer/
    """
    from sfumato.experiments.fewer import Grid, read_outcomes, run_fewer
    from sfumato.experiments.fewer_data import open_pairs, scene_folders
    from sfumato.experiments.fewer_plot import draw_plot
    from sfumato.experiments.fewer_privacy import read_privacy, run_privacy
    from sfumato.experiments.fewer_table import losses, summarise, table_lines, whole_rows

    work = evaluate or output
    missing: dict[str, str] = {}
    if evaluate is None:
        folders = [*(data or []), *(more or [])]
        if not folders:
            raise InvalidInput("give --data with a folder, or --evaluate with one of outcomes.")
        grid = Grid(
            extractors=names(extractor),
            keypoints=whole_numbers("keypoints", keypoints),
            keep_by=names(keep_by),
            protocols=names(protocol),
            pool=pool,
            has_ransac=ransac,
        )
        scenes = scene_folders(folders)
        with progress_bar(quiet=as_json) as progress:
            pairs = open_pairs(scenes, work, progress=progress)
            run_fewer(scenes, pairs, grid, work, work / OUTCOMES, progress=progress)
            if pictures is not None:
                missing = run_privacy(
                    pictures,
                    grid,
                    work / PRIVACY,
                    networks=networks,
                    num_pictures=num_pictures,
                    progress=progress,
                )
    head, outcomes = read_outcomes(work / OUTCOMES)
    rows = summarise(outcomes, read_privacy(work / PRIVACY))
    whole, _ = whole_rows(head, rows)
    draw_plot(whole, work / PLOT)
    if as_json:
        found = {"rows": [row.as_dict() for row in whole], "losses": losses(whole)}
        emit_json({**head, **found, "without_network": missing, "plot": str(work / PLOT)})
    else:
        shown = [*table_lines(head, rows, missing), f"outcomes: {work / OUTCOMES}"]
        emit_lines([*shown, f"plot: {work / PLOT}"])
