"""`sfumato experiment localization`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.output import JsonFlag, emit_json, progress_bar
from sfumato.cli.values import names, numbers, whole_number, whole_numbers
from sfumato.core.errors import InvalidInput

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.datasets.scenes import Problem
    from sfumato.dictionary import Dictionary
    from sfumato.experiments.localization import Grid


PREDICTIONS = "predictions.jsonl"


def run(
    data: Annotated[
        list[Path] | None,
        typer.Option(help="A scene with cameras.json, or Aachen's folder; repeat for more scenes."),
    ] = None,
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]...", help="Further scenes.")
    ] = None,
    recipe: Annotated[str, typer.Option(help="paper, sfumato, or both.")] = "paper,sfumato",
    dictionary: Annotated[
        str, typer.Option(help="Names or folders of dictionaries; map: of the map's own images.")
    ] = "bsds-16k",
    epsilon: Annotated[str, typer.Option(help="ε per descriptor, several.")] = "12,10,8,7,6",
    words: Annotated[
        str, typer.Option(help="|K|: levels of the dictionary; auto: by a rule that knows ε.")
    ] = "auto",
    subset_size: Annotated[str, typer.Option(help="ω, words per descriptor.")] = "1",
    lift: Annotated[
        str | None,
        typer.Option(help="Also lifted queries, of these dimensions; no ε belongs to them."),
    ] = None,
    strategy: Annotated[str, typer.Option(help="How queries are lifted.")] = "sub-hybrid",
    seeds: Annotated[int, typer.Option(help="Releases drawn of each query.")] = 3,
    max_keypoints: Annotated[
        int | None, typer.Option(help="Send only the N strongest of each query.")
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="hloc's pairs.txt: query, image of the map.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Match only the N most voted images in the paper's recipe.")
    ] = None,
    matching: Annotated[
        str, typer.Option(help="vocabulary, nearest or both, in the paper's recipe.")
    ] = "vocabulary",
    iterations: Annotated[
        int, typer.Option(help="RANSAC's limit in the paper's recipe (the paper: 10,000,000).")
    ] = 20_000,
    gravity: Annotated[
        bool, typer.Option("--gravity", help="Give our recipe the direction an IMU would.")
    ] = False,
    control: Annotated[
        bool, typer.Option(help="Also ask for places that are not in the map.")
    ] = True,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for map, words and predictions.")
    ] = Path("experiment-localization"),
    evaluate: Annotated[
        Path | None, typer.Option(help="Print the table of this predictions file, run nothing.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Print every setting tried.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Localize held-out photographs by words alone: our recipe beside the paper's.

    Predictions are written to OUTPUT as they are made; the same command goes on where it was
    stopped. For Aachen the benchmark's submission files are written too. Releases are
    reproducible, not for sending.

    Example: sfumato experiment localization --data strecha/Herz-Jesus-P25 strecha/fountain-P11
    """
    from sfumato.experiments.localization import Grid

    if evaluate is not None:
        _print(evaluate, every=every, as_json=as_json)
        return
    folders = [*(data or []), *(more or [])]
    if not folders:
        raise InvalidInput("give --data with a folder, or --evaluate with a predictions file.")
    if pairs is not None and top is not None:
        raise InvalidInput("--pairs and --top both choose the images to match; give one.")
    grid = Grid(
        recipes=names(recipe),
        epsilons=numbers("epsilon", epsilon),
        words=tuple(
            item if item == "auto" else whole_number("words", item) for item in names(words)
        ),
        subset_sizes=whole_numbers("subset-size", subset_size),
        num_seeds=seeds,
        max_keypoints=max_keypoints,
        matching=names(matching),
        shortlist="pairs" if pairs is not None else "all" if top is None else f"top {top}",
        iterations=iterations,
        has_gravity=gravity,
        has_control=control,
        dimensions=() if lift is None else whole_numbers("lift", lift),
        strategy=strategy,
    )
    with progress_bar(quiet=as_json) as progress:
        problem = _open(folders, output, progress)
        _run(problem, grid, names(dictionary), pairs, output, progress)
    _print(output / PREDICTIONS, every=every, as_json=as_json)


def _open(folders: list[Path], output: Path, progress: Progress) -> Problem:
    from sfumato.datasets.scenes import open_scenes
    from sfumato.experiments.aachen import is_aachen, open_aachen

    output.mkdir(parents=True, exist_ok=True)
    if not any(is_aachen(folder) for folder in folders):
        return open_scenes(folders, output, progress=progress)
    if len(folders) > 1:
        raise InvalidInput("Aachen is a map of its own; give its folder alone.")
    return open_aachen(folders[0], output, progress=progress)


def _run(
    problem: Problem,
    grid: Grid,
    dictionaries: tuple[str, ...],
    pairs: Path | None,
    output: Path,
    progress: Progress,
) -> None:
    from sfumato.experiments.aachen import write_submissions
    from sfumato.experiments.localization import run_localization
    from sfumato.experiments.localization_predictions import PredictionFile, read_predictions

    file = PredictionFile(output / PREDICTIONS, problem)
    run_localization(
        problem,
        {Path(name).name: _dictionary(name, problem, output, progress) for name in dictionaries},
        grid,
        file,
        shortlists=None if pairs is None else problem.shortlists(pairs),
        progress=progress,
    )
    if all(query.truth is None for query in problem.queries):
        write_submissions(read_predictions(file.path), output / "submissions")


def _dictionary(name: str, problem: Problem, output: Path, progress: Progress) -> Dictionary:
    from sfumato.datasets.scenes import map_dictionary
    from sfumato.dictionary import Dictionary

    if name == "map":
        return map_dictionary(problem.world, output, progress=progress)
    return Dictionary.load(name)


def _print(path: Path, *, every: bool, as_json: bool) -> None:
    from sfumato.experiments.localization_predictions import read_predictions
    from sfumato.experiments.localization_scores import choose_rows, evaluate
    from sfumato.experiments.localization_table import table_lines

    found = read_predictions(path)
    rows = evaluate(found)
    shown = rows if every else choose_rows(rows, found)
    if as_json:
        problem: dict[str, Any] = {**found.problem, "queries": len(found.truth)}
        facts = {"problem": problem, "dictionaries": found.dictionaries}
        emit_json({**facts, "rows": [row.as_dict() for row in shown], "predictions": str(path)})
    else:
        sys.stdout.write("\n".join([*table_lines(shown, found), f"predictions: {path}"]) + "\n")
