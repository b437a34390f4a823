"""`sfumato experiment recover`: every recovery attack on real photographs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_json, emit_lines, progress_bar
from sfumato.cli.values import names, numbers, whole_numbers
from sfumato.core.errors import InvalidInput

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.experiments.recover import Grid
    from sfumato.experiments.recover_words import WordGrid

RESULTS = "recoveries.jsonl"
PARTS = ("lifts", "words", "repeats", "inliers")


def run(
    data: Annotated[
        list[Path] | None, typer.Option(help="A folder of photographs to attack; repeat for more.")
    ] = None,
    database: Annotated[
        list[str] | None,
        typer.Option(help="Folders of pictures the words W are drawn from, or one dictionary."),
    ] = None,
    public: Annotated[
        list[Path] | None,
        typer.Option(help="Pictures a stranger has (Z); by default every third of the database."),
    ] = None,
    words: Annotated[int, typer.Option(help="|W|, in 16 sub-databases.")] = 256_000,
    pictures: Annotated[int, typer.Option(help="How many photographs, spread evenly.")] = 10,
    keypoints: Annotated[int, typer.Option(help="The strongest of each that are attacked.")] = 200,
    attack: Annotated[str, typer.Option(help="On lifts, several.")] = (
        "nearest,clustering,database,database+,vertex,vertex+"
    ),
    strategy: Annotated[str, typer.Option(help="How to lift, several.")] = (
        "random,adversarial,hybrid,sub-adversarial,sub-hybrid"
    ),
    dimension: Annotated[str, typer.Option(help="m, several.")] = "2,4,8,16",
    precision: Annotated[str, typer.Option(help="float32 or float16 on the wire.")] = "float32",
    dictionary: Annotated[str, typer.Option(help="Of the LDP releases.")] = "bsds-16k",
    levels: Annotated[str, typer.Option(help="|K| of the LDP releases, several.")] = "1024,16384",
    epsilon: Annotated[str, typer.Option(help="ε per descriptor, several.")] = "2,6,10",
    subset_size: Annotated[str, typer.Option(help="ω, several.")] = "1,2,8",
    scenes: Annotated[
        list[Path] | None,
        typer.Option(help="Scenes with cameras.json, for what inliers reveal; repeat for more."),
    ] = None,
    parts: Annotated[str, typer.Option(help="What to run: lifts, words, repeats, inliers.")] = (
        "lifts,words,repeats,inliers"
    ),
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results (and the scenes' map).")
    ] = Path("experiment-recover"),
    evaluate: Annotated[
        Path | None, typer.Option(help="Print the tables of this file of results, run nothing.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Recover descriptors from lifts and words of photographs, by every attack there is.

    Results are written as they are made; the same command goes on where it was stopped.
    Releases are reproducible, not for sending.

    Example: sfumato experiment recover --data photos --database other-photos --pictures 10
    """
    from sfumato.experiments.recover import Grid
    from sfumato.experiments.recover_words import WordGrid

    path = evaluate or output / RESULTS
    if evaluate is None:
        if not data or not database:
            raise InvalidInput(
                "give --data with photographs and --database with other ones, or --evaluate with a "
                "file of results."
            )
        for part in names(parts):
            if part not in PARTS:
                raise InvalidInput(f"--parts must be of {', '.join(PARTS)}, got {part!r}.")
        grid = Grid(
            attacks=names(attack),
            strategies=names(strategy),
            dimensions=whole_numbers("dimension", dimension),
            num_keypoints=keypoints,
            precision=precision,
        )
        word_grid = WordGrid(
            epsilons=numbers("epsilon", epsilon),
            num_words=whole_numbers("levels", levels),
            subset_sizes=whole_numbers("subset-size", subset_size),
            num_context=keypoints,
        )
        with progress_bar(quiet=as_json) as progress:
            _run(
                data,
                database,
                public or [],
                (words, pictures),
                (grid, word_grid),
                (dictionary, scenes or []),
                names(parts),
                path,
                progress,
            )
    _print(path, as_json=as_json)


def _run(
    data: list[Path],
    database: list[str],
    public: list[Path],
    sizes: tuple[int, int],
    grids: tuple[Grid, WordGrid],
    others: tuple[str, list[Path]],
    parts: tuple[str, ...],
    path: Path,
    progress: Progress,
) -> None:
    from sfumato.dictionary import Dictionary
    from sfumato.experiments.recover import RecordFile, problem_of, run_recover
    from sfumato.experiments.recover_data import load_pictures, load_words
    from sfumato.experiments.recover_inliers import run_inliers
    from sfumato.experiments.recover_words import run_posterior, run_repeats

    (num_words, num_pictures), (grid, word_grid), (name, scenes) = sizes, grids, others
    pictures = load_pictures(data, num_pictures=num_pictures, progress=progress)
    words, strangers = load_words(database, public, num_words, progress=progress)
    file = RecordFile(path, problem_of(data, pictures, words, strangers, grid))
    if "lifts" in parts:
        run_recover(pictures, words, strangers, grid, file, progress=progress)
    if "words" in parts:
        folders = public or [Path(one) for one in database if Path(one).is_dir()]
        if not folders:
            raise InvalidInput("frequencies of words need pictures; give --public.")
        learned = load_pictures(folders, num_pictures=100_000, progress=progress)
        ldp = Dictionary.load(name)
        run_posterior(pictures, list(learned.values()), ldp, word_grid, file, progress=progress)
    if "repeats" in parts:
        run_repeats(
            pictures,
            words,
            word_grid,
            grid.dimensions,
            grid.num_keypoints,
            file,
            progress=progress,
        )
    if "inliers" in parts and scenes:
        epsilons = sorted(word_grid.epsilons)[-2:]
        ldp = Dictionary.load(name)
        run_inliers(scenes, path.parent, ldp, epsilons, 4, file, progress=progress)


def _print(path: Path, *, as_json: bool) -> None:
    from sfumato.experiments.recover import read_results
    from sfumato.experiments.recover_scores import summarise
    from sfumato.experiments.recover_table import table_lines

    records = read_results(path)
    tables = summarise(records)
    if as_json:
        emit_json({"problem": records[0], **tables, "results": str(path)})
    else:
        lines = [*table_lines(records[0], tables), "", f"results: {path}"]
        emit_lines(lines)
