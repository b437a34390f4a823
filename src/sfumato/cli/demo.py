"""`sfumato demo`: a room, its photographs, and a server that finds them without seeing them."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli.command import options_given
from sfumato.cli.options import option, output
from sfumato.cli.output import JsonFlag, emit_json, long_work, make_table, printer
from sfumato.core.errors import InvalidInput
from sfumato.core.extras import need
from sfumato.core.storage import check_writable, write_file

if TYPE_CHECKING:
    from sfumato.datasets import Scene
    from sfumato.pages.demo_result import DemoResult

PAGE = "index.html"
_STYLES = {"raw": "dim", "sfumato": "bold", "paper": ""}


def run(
    queries: Annotated[int, option("How many of the 20 queries to localize.")] = 20,
    output: Annotated[Path, output("Where the page goes; made if missing.", "FOLDER")] = Path(
        "demo-output"
    ),
    as_json: JsonFlag = False,
) -> None:
    """Needs no data and no network; takes one to three minutes. Writes one page of HTML.

    Example: sfumato demo --queries 10 --output demo-output
    """
    need("studio", "sfumato demo", "jinja2", "poselib", "pycolmap", "skimage", "sklearn")
    from sfumato.core.checks import check_count
    from sfumato.datasets import GallerySettings, load_gallery
    from sfumato.pages.demo import run_demo
    from sfumato.pages.demo_page import demo_page
    from sfumato.pages.demo_text import as_dict

    most = GallerySettings().num_queries
    check_count("queries", queries, low=1, high=most)
    _make(output)
    with long_work() as progress:
        # All queries are rendered and kept, so that another number needs no rendering.
        scene = load_gallery(progress=progress)
        result = run_demo(_first(scene, queries), progress=progress)
    page = output / PAGE
    command = ["sfumato", "demo", *options_given("output", "as_json")]
    write_file(page, demo_page(result, shlex.join(command)).encode())
    if as_json:
        emit_json({**as_dict(result), "page": str(page)})
    else:
        _print(result, page)


def _first(scene: Scene, queries: int) -> Scene:
    return replace(scene, queries=scene.queries[:queries])


def _make(output: Path) -> None:
    """Make the folder before the long work: a page that cannot be written is told at once."""
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"output must be a folder that can be made, {output} cannot ({error.strerror}); "
            "choose another one."
        ) from None
    check_writable(output / PAGE)


def _print(result: DemoResult, page: Path) -> None:
    from sfumato.pages.demo_text import (
        NOT_IN_TERMINAL,
        cells,
        headings,
        notes,
        short_name,
        sizes,
        words_sent,
    )

    table = make_table(header_style="dim", padding=(0, 1, 0, 0))
    table.add_column("sent, to whom", no_wrap=True, vertical="bottom")
    names = headings(result)
    shown = [place for place, name in enumerate(names) if name not in NOT_IN_TERMINAL]
    lines = [[cells(row, result)[place] for place in shown] for row in result.rows]
    for name, *column in zip([names[place] for place in shown], *lines, strict=True):
        # ε must keep its unit: a heading is wrapped between words and never cut.
        width = max(map(len, [*name.split(), *column]))
        table.add_column(name, justify="right", vertical="bottom", width=width)
    for row, line in zip(result.rows, lines, strict=True):
        table.add_row(short_name(row), *line, style=_STYLES[row.method])
    with printer() as console:
        console.print("Localized without showing the picture", style="bold")
        console.print(
            f"words: {words_sent(result)}; paper: the published recipe, given the same bytes\n",
            style="dim",
        )
        console.print(table)
        console.print()
        for note in (sizes(result), *notes(result)):
            console.print(note)
        console.print(f"\nThe page: {page}", soft_wrap=True)
