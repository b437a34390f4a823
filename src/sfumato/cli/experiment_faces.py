"""`sfumato experiment faces`: verification on private embeddings, and what they still tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.output import JsonFlag, emit_json, emit_lines, progress_bar
from sfumato.cli.values import names, numbers, whole_numbers
from sfumato.core.errors import InvalidInput

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.experiments.faces import Grid
    from sfumato.experiments.faces_history import HistoryGrid
    from sfumato.experiments.faces_setup import Setup

RESULTS = "faces.jsonl"
PARTS = ("verification", "history", "attributes")


def run(
    data: Annotated[Path | None, typer.Option(help="A folder of faces.")] = None,
    layout: Annotated[
        str,
        typer.Option(
            help="auto, identities (a folder per person), lfw, cfp-ff, cfp-fp, listed, agedb, "
            "utkface or fairface."
        ),
    ] = "auto",
    embedder: Annotated[
        str, typer.Option(help="dlib, a network *.onnx, or embeddings *.npz or *.npy.")
    ] = "dlib",
    cropped: Annotated[
        bool, typer.Option("--cropped", help="Each picture is a face: look for none.")
    ] = False,
    several: Annotated[
        str, typer.Option(help="With several faces in a picture: refuse, largest or surest.")
    ] = "refuse",
    jitters: Annotated[int, typer.Option(help="Changed copies that dlib averages.")] = 0,
    database: Annotated[
        Path | None,
        typer.Option(help="Faces of other people, the public ones; same embedder."),
    ] = None,
    public_people: Annotated[
        int, typer.Option(help="Without --database: so many people of DATA are the public ones.")
    ] = 10,
    folds: Annotated[int, typer.Option(help="Folds of drawn pairs.")] = 10,
    pairs: Annotated[int, typer.Option(help="Drawn pairs of each kind in each fold.")] = 100,
    centre: Annotated[bool, typer.Option(help="Send embeddings as seen from the public mean.")] = (
        True
    ),
    strategy: Annotated[str, typer.Option(help="How to lift, several.")] = (
        "random,adversarial,hybrid,hybrid+"
    ),
    dimension: Annotated[str, typer.Option(help="m, several.")] = "2,4,8,16",
    epsilon: Annotated[str, typer.Option(help="ε per embedding, several.")] = "6,8,10",
    words: Annotated[str, typer.Option(help="|K|, several.")] = "32,128,512",
    seeds: Annotated[int, typer.Option(help="Releases drawn of each face and setting.")] = 3,
    attribute: Annotated[
        str | None, typer.Option(help="To be inferred and balanced by hybrid+; all by default.")
    ] = None,
    people: Annotated[int, typer.Option(help="People whose history is attacked.")] = 30,
    parts: Annotated[
        str | None, typer.Option(help="verification, history, attributes; all DATA allows.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for embeddings, results and plots.")
    ] = Path("experiment-faces"),
    evaluate: Annotated[
        Path | None, typer.Option(help="Print the tables of this file of results, run nothing.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Verify faces on private embeddings, and attack these: histories and attributes.

    Results are written as they are made; the same command goes on where it was stopped. The folder
    also holds the embeddings, which tell who is who: keep it as private as the pictures are.

    Example: sfumato experiment faces --data orl_faces -o faces
    """
    from sfumato.experiments.faces import Grid
    from sfumato.experiments.faces_history import HistoryGrid
    from sfumato.experiments.faces_setup import Setup

    path = evaluate or output / RESULTS
    if evaluate is None:
        if data is None:
            raise InvalidInput("give --data with a folder, or --evaluate with a file of results.")
        for part in names(parts) if parts else ():
            if part not in PARTS:
                raise InvalidInput(f"--parts must be of {', '.join(PARTS)}, got {part!r}.")
        grid = Grid(
            strategies=names(strategy),
            dimensions=whole_numbers("dimension", dimension),
            epsilons=numbers("epsilon", epsilon),
            num_words=whole_numbers("words", words),
            num_seeds=seeds,
        )
        setup = Setup(
            data=data,
            layout=layout,
            embedder=embedder,
            cropped=cropped,
            several=several,
            jitters=jitters,
            database=database,
            public_people=public_people,
            num_folds=folds,
            num_pairs=pairs,
            is_centred=centre,
            attribute=attribute,
        )
        with progress_bar(quiet=as_json) as progress:
            _run(setup, grid, HistoryGrid(people), names(parts) if parts else (), output, progress)
    _print(path, has_run=evaluate is None, as_json=as_json)


def _run(
    setup: Setup,
    grid: Grid,
    history: HistoryGrid,
    parts: tuple[str, ...],
    output: Path,
    progress: Progress,
) -> None:
    from sfumato.datasets.faces import open_faces
    from sfumato.experiments.faces_setup import open_setup, parts_of

    faces = open_faces(setup.data, setup.layout)
    allowed = parts_of(faces)
    for part in parts:
        if part not in allowed:
            raise InvalidInput(
                f"{setup.data} has no {'attributes' if part == 'attributes' else 'identities'}: "
                f"--parts can be {', '.join(allowed)} here."
            )
    output.mkdir(parents=True, exist_ok=True)
    opened = open_setup(setup, faces, output, progress=progress)
    opened.run(parts or allowed, grid, history, output / RESULTS, progress=progress)


def _print(path: Path, *, has_run: bool, as_json: bool) -> None:
    from sfumato.experiments.faces_plot import draw_plots
    from sfumato.experiments.faces_results import read_results
    from sfumato.experiments.faces_rows import attribute_rows, history_rows, verification_rows
    from sfumato.experiments.faces_table import table_lines

    head, records = read_results(path)
    plots = draw_plots(records, path.parent) if has_run else []
    if as_json:
        tables: dict[str, Any] = {
            "verification": [row.as_dict() for row in verification_rows(records)],
            "history": list(history_rows(records)),
            "attributes": list(attribute_rows(records)),
        }
        emit_json({"problem": head, **tables, "results": str(path), "plots": [*map(str, plots)]})
    else:
        lines = [*table_lines(head, records), *(f"plot: {plot}" for plot in plots)]
        emit_lines([*lines, f"results: {path}"])
