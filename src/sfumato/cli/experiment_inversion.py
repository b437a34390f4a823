"""`sfumato experiment inversion`: what a network paints from releases, beside the papers."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.output import JsonFlag, emit_json, progress_bar
from sfumato.cli.values import names, numbers, whole_numbers
from sfumato.core.errors import InvalidInput

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.experiments.inversion import Grid
    from sfumato.experiments.inversion_networks import Budget

OUTCOMES = "outcomes.jsonl"
PLOT = "inversion.png"


def run(
    pictures: Annotated[
        Path | None, typer.Option(help="A folder of photographs to send and attack.")
    ] = None,
    num_pictures: Annotated[
        int | None, typer.Option(help="How many of them, spread evenly; all without it.")
    ] = None,
    parts: Annotated[
        str, typer.Option(help="raw, lifting, affine, words, descriptors: which tables.")
    ] = "raw,words",
    database: Annotated[
        list[str] | None,
        typer.Option(help="Lifts: folders of pictures the words W are drawn from, or a dictionary"),
    ] = None,
    public: Annotated[
        list[Path] | None,
        typer.Option(help="Lifts: pictures a stranger has (Z); else every third of the database."),
    ] = None,
    words: Annotated[int, typer.Option(help="Lifts: |W|, in 16 sub-databases.")] = 256_000,
    attack: Annotated[str, typer.Option(help="On lifts, several.")] = (
        "nearest,clustering,database,vertex,direct"
    ),
    dimension: Annotated[str, typer.Option(help="m of lifts, several.")] = "2,4,8,16",
    dictionary: Annotated[str, typer.Option(help="Of the words, by name or folder.")] = "bsds-16k",
    levels: Annotated[str, typer.Option(help="|K|, several.")] = "16384",
    subset_size: Annotated[str, typer.Option(help="ω, several.")] = "1",
    epsilon: Annotated[str, typer.Option(help="ε per descriptor, several.")] = "16,14,12,10,8",
    word_attack: Annotated[
        str, typer.Option(help="posterior: the likeliest word, painted as raw; direct: trained.")
    ] = "posterior,direct",
    extractor: Annotated[
        str, typer.Option(help="Kinds of descriptors, several.")
    ] = "sift,freak,vgg,beblid",
    networks: Annotated[
        Path | None, typer.Option(help="Folder of networks, and for those trained here.")
    ] = None,
    train: Annotated[
        list[Path] | None,
        typer.Option(help="Train missing attackers on these pictures (needs torch)."),
    ] = None,
    budget: Annotated[int, typer.Option(help="Training steps for each.")] = 800,
    minutes: Annotated[
        float | None, typer.Option(help="At most so many minutes of training for each.")
    ] = None,
    start_from: Annotated[
        Path | None, typer.Option(help="Let them begin as the network of this training run.")
    ] = None,
    width: Annotated[int, typer.Option(help="Width of the networks trained.")] = 48,
    perceptual: Annotated[
        bool, typer.Option(help="Train with VGG16's loss, which needs its weights.")
    ] = True,
    detector: Annotated[
        str | None, typer.Option(help="Look for objects: person, face, text or a YOLO file.")
    ] = None,
    one_look: Annotated[
        bool, typer.Option("--one-look", help="Paint once, not four times turned: faster, worse.")
    ] = False,
    show: Annotated[int, typer.Option(help="Pictures kept for contact sheets.")] = 6,
    threads: Annotated[int | None, typer.Option(help="Of the networks.")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for outcomes, pictures and the plot.")
    ] = Path("experiment-inversion"),
    evaluate: Annotated[
        Path | None, typer.Option(help="Print the tables of this file of outcomes, run nothing.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Paint photographs from what was sent of them, by every attack, and measure.

    Outcomes are written as they are made; the same command goes on where it was stopped. A row
    whose network is missing is trained with --train, or listed with the reason.

    Example: sfumato experiment inversion --pictures photos --num-pictures 50 --parts raw,words
    """
    from sfumato.experiments.inversion import Grid
    from sfumato.experiments.inversion_networks import Budget

    path = evaluate or output / OUTCOMES
    if evaluate is None:
        if pictures is None:
            raise InvalidInput("give --pictures with a folder, or --evaluate with outcomes.")
        grid = Grid(
            parts=names(parts),
            attacks=names(attack),
            dimensions=whole_numbers("dimension", dimension),
            word_attacks=names(word_attack),
            num_words=whole_numbers("levels", levels),
            subset_sizes=whole_numbers("subset-size", subset_size),
            epsilons=numbers("epsilon", epsilon),
            extractors=names(extractor),
        )
        lifts = {"lifting", "affine"} & {*grid.parts}
        if lifts and not database:
            raise InvalidInput("lifts need --database with other pictures or a dictionary.")
        spend = None
        if train:
            weight = 0.03 if perceptual else 0.0
            spend = Budget(tuple(train), budget, width, minutes, weight, threads, start_from)
        with progress_bar(quiet=as_json) as progress:
            _run(
                (pictures, num_pictures, show),
                (database or [] if lifts else [], public or [], words, dictionary),
                (networks or output / "networks", spend, threads, one_look),
                grid,
                detector,
                path,
                progress,
            )
    _print(path, as_json=as_json)


def _run(
    photos: tuple[Path, int | None, int],
    known: tuple[list[str], list[Path], int, str],
    painters: tuple[Path, Budget | None, int | None, bool],
    grid: Grid,
    detector: str | None,
    path: Path,
    progress: Progress,
) -> None:
    from sfumato.dictionary import Dictionary
    from sfumato.experiments.inversion import run_inversion
    from sfumato.experiments.inversion_data import Knowledge, Releases
    from sfumato.experiments.inversion_measures import make_judge
    from sfumato.experiments.inversion_networks import Networks
    from sfumato.experiments.inversion_outcomes import OutcomeFile
    from sfumato.experiments.inversion_pictures import MAX_KEYPOINTS, SIDE, load_squares
    from sfumato_papers.attacker_knowledge import load_words

    (folder, count, show), (database, public, num_words, name) = photos, known
    squares, unreadable = load_squares(folder, count, progress=progress)
    told = "\n".join(f"{one.name} {one.fingerprint}" for one in squares)
    problem: dict[str, Any] = {
        "data": folder.resolve().name,
        "pictures": len(squares),
        "fingerprint": hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:16],
        "unreadable": unreadable,
        "side": SIDE,
        "max_keypoints": MAX_KEYPOINTS,
        "detector": detector or "",
    }
    judge = make_judge(_detector(detector))
    file = OutcomeFile(path, problem)
    knowledge = ldp = None
    if database:
        knowledge = Knowledge(*load_words(database, public, num_words, progress=progress))
        file.tell("database", knowledge.facts())
    if "words" in grid.parts:
        ldp = Dictionary.load(name)
        facts = {"fingerprint": ldp.fingerprint, "provenance": ldp.manifest["provenance"]}
        file.tell("dictionary", facts)
    releases = Releases(knowledge, ldp, path.parent / "recovered")
    home, spend, threads, one_look = painters
    networks = Networks(
        home,
        spend,
        dictionary=ldp,
        database=None if knowledge is None else knowledge.words,
        threads=threads,
        one_look=one_look,
        progress=progress,
    )
    run_inversion(squares, releases, networks, grid, judge, file, num_shown=show, progress=progress)


def _detector(name: str | None) -> Any:
    if name is None:
        return None
    from sfumato.detectors.find import DETECTORS, find_detectors

    if name in DETECTORS or not Path(name).is_file():
        return find_detectors([name])[0]
    from sfumato.detectors.yolo import YoloFile

    return YoloFile(name)


def _print(path: Path, *, as_json: bool) -> None:
    from sfumato.experiments.inversion import PICTURES
    from sfumato.experiments.inversion_outcomes import read_outcomes
    from sfumato.experiments.inversion_scores import steps_down, summarise
    from sfumato.experiments.inversion_sheet import draw_plot, draw_sheet, sheets_of
    from sfumato.experiments.inversion_table import table_lines

    results = read_outcomes(path)
    rows = summarise(results)
    plot = path.parent / PLOT
    draw_plot(rows, plot)
    sheets = []
    for name, columns in sheets_of(rows).items():
        sheet = path.parent / f"sheet-{name}.png"
        if draw_sheet(path.parent / PICTURES, columns, sheet):
            sheets.append(str(sheet))
    if as_json:
        emit_json(
            {
                **results.facts,
                "rows": [row.as_dict() for row in rows],
                "steps": {name: gap.__dict__ for name, gap in steps_down(results)},
                "absent": {row.name: reason for row, reason in results.absent.items()},
                "plot": str(plot),
                "sheets": sheets,
            }
        )
    else:
        lines = [*table_lines(results), "", f"outcomes: {path}   plot: {plot}", *sheets]
        sys.stdout.write("\n".join(lines) + "\n")
