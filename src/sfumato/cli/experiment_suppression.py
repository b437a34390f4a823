"""`sfumato experiment suppression`: nothing around people, and what that costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.output import JsonFlag, emit_json, emit_lines, progress_bar
from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.storage import write_file

if TYPE_CHECKING:
    from sfumato.adversary.invert.reconstruct import Inverter
    from sfumato.core.progress import Progress
    from sfumato.datasets.pascal import Annotated as Picture
    from sfumato.detectors import Detector
    from sfumato.dictionary import Dictionary
    from sfumato.experiments.suppression import Grid

OUTCOMES, AGAIN, DECOYS = "outcomes.jsonl", "again.jsonl", "decoys.json"
SHEET, PAGE = "suppression.png", "suppression.html"


def run(
    data: Annotated[
        Path | None,
        typer.Option(help="Pictures with PASCAL-style boxes: folders images and annotations."),
    ] = None,
    detector: Annotated[
        str, typer.Option(help="person (built in), or a YOLO file as ONNX.")
    ] = "person",
    margin: Annotated[float, typer.Option(help="Share of a box's shorter side.")] = 0.1,
    reach: Annotated[float, typer.Option(help="Diameters from which keypoints see inside.")] = 0.0,
    epsilon: Annotated[float, typer.Option(help="ε per descriptor.")] = 10.0,
    dictionary: Annotated[str, typer.Option(help="A dictionary's folder or name.")] = "bsds-16k",
    max_keypoints: Annotated[int, typer.Option(help="The strongest of each picture.")] = 1000,
    seeds: Annotated[int, typer.Option(help="Releases of each picture and setting.")] = 3,
    networks: Annotated[
        Path | None, typer.Option(help="Folder of inversion networks; the shipped ones otherwise.")
    ] = None,
    shown: Annotated[int, typer.Option(help="Number of the picture drawn, from 0.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for outcomes, PNG and HTML.")
    ] = Path("experiment-suppression"),
    evaluate: Annotated[
        Path | None, typer.Option(help="Print the table of this folder, run nothing.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Suppress keypoints around people: what is hidden, what it costs, what shows anyway.

    Outcomes are written as they are made; the same command goes on where it was stopped. HTML
    and PNG show one of the pictures: keep them as private as the pictures are.

    Example: sfumato experiment suppression --data penn_fudan -o suppression
    """
    from sfumato.experiments.suppression import Grid, read_outcomes
    from sfumato.experiments.suppression_attack import read_again
    from sfumato.experiments.suppression_table import summarise, table_lines

    folder = evaluate or output
    remark = ""
    if evaluate is None:
        if data is None:
            raise InvalidInput("give --data with a folder, or --evaluate with one of outcomes.")
        grid = Grid(margin, reach, epsilon, max_keypoints=max_keypoints, num_seeds=seeds)
        with progress_bar(quiet=as_json) as progress:
            remark = _run(data, detector, dictionary, grid, networks, shown, output, progress)
    head, outcomes = read_outcomes(folder / OUTCOMES)
    again = read_again(folder / AGAIN) if (folder / AGAIN).exists() else ()
    auc = _read_auc(folder)
    if as_json:
        rows = [row.as_dict() for row in summarise(outcomes, again)]
        emit_json({**head, "rows": rows, "decoys_auc": auc, "remark": remark})
    else:
        lines = table_lines(head, outcomes, again, auc)
        lines += [remark] if remark else []
        lines += [f"page: {folder / PAGE}   outcomes: {folder / OUTCOMES}"]
        emit_lines(lines)


def _run(
    data: Path,
    detector: str,
    dictionary: str,
    grid: Grid,
    networks: Path | None,
    shown: int,
    output: Path,
    progress: Progress,
) -> str:
    from sfumato.datasets.pascal import read_annotated
    from sfumato.dictionary import Dictionary
    from sfumato.experiments.suppression import run_suppression
    from sfumato.experiments.suppression_attack import find_again, tell_decoys_apart

    pictures = read_annotated(data)
    if not 0 <= shown < len(pictures):
        raise InvalidInput(f"--shown must be below {len(pictures)}, got {shown}.")
    words = Dictionary.load(dictionary)
    eyes = _detector(detector)
    run_suppression(pictures, eyes, words, grid, output / OUTCOMES, progress=progress)
    if not (output / DECOYS).exists():
        progress("decoys", 0, 1)
        auc = tell_decoys_apart(pictures, words, grid)
        write_file(output / DECOYS, json.dumps(auc).encode())
        progress("decoys", 1, 1)
    inverter, remark = _inverter(words.extractor, networks)
    if inverter is not None:
        find_again(pictures, eyes, inverter, grid, output / AGAIN, progress=progress)
    _draw(pictures[shown], eyes, words, grid, inverter, output)
    return remark


def _detector(name: str) -> Detector:
    from sfumato.detectors import DETECTORS, YoloFile, find_detectors

    return find_detectors([name])[0] if name in DETECTORS else YoloFile(name, classes=["person"])


def _inverter(extractor: str, networks: Path | None) -> tuple[Inverter | None, str]:
    """The network that reconstructs, or the reason why that column is missing."""
    from sfumato.adversary.invert.networks import find_network
    from sfumato.adversary.invert.reconstruct import Inverter

    try:
        return Inverter(find_network(extractor, "raw", networks)), ""
    except Missing as error:
        return None, f"found again was not measured: {error}"


def _draw(
    picture: Picture,
    eyes: Detector,
    words: Dictionary,
    grid: Grid,
    inverter: Inverter | None,
    output: Path,
) -> None:
    from sfumato.detectors import detect
    from sfumato.experiments.suppression import read_outcomes
    from sfumato.experiments.suppression_attack import read_again
    from sfumato.experiments.suppression_page import draw_sheet, suppression_page
    from sfumato.features import load_image

    (found,) = detect([eyes], load_image(picture.picture), timeout=600)
    draw_sheet(picture, found, words, grid, output / SHEET, inverter=inverter)
    head, outcomes = read_outcomes(output / OUTCOMES)
    again = read_again(output / AGAIN) if (output / AGAIN).exists() else ()
    page = suppression_page(
        head,
        outcomes,
        again,
        _read_auc(output),
        load_image(output / SHEET),
        f"sfumato experiment suppression --margin {grid.margin:g} --epsilon {grid.epsilon:g}",
    )
    write_file(output / PAGE, page.encode())


def _read_auc(folder: Path) -> dict[str, Any] | None:
    try:
        content = json.loads((folder / DECOYS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        raise InvalidInput(f"{folder / DECOYS} is damaged; remove it and run again.") from None
    return dict(content)
