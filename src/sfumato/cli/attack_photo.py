"""`sfumato attack PHOTO`: what would be painted from each way of sending it, as one page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sfumato.cli.output import emit_json, printer, progress_bar
from sfumato.cli.values import numbers, whole_numbers
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.storage import check_writable, write_file
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.pages.photo_result import PhotoResult

BUNDLED = "bsds-16k"
PAGE = "attack.html"


def attack_photo(
    photo: Path,
    *,
    output: Path | None,
    dictionary: str | None,
    public: str | None,
    extractor: str,
    networks: Path | None,
    dimension: str | None,
    epsilon: str | None,
    subset_size: int | None,
    side: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Attack one photograph and write the page; without -o it is attack.html."""
    from sfumato.pages.photo import run_photo
    from sfumato.pages.photo_page import photo_page
    from sfumato.pages.photo_result import PhotoSettings
    from sfumato.pages.photo_text import as_dict

    page = Path(PAGE) if output is None else output
    _check_page(page, photo)
    given: dict[str, Any] = {
        "dimensions": None if dimension is None else whole_numbers("dimension", dimension),
        "epsilons": None if epsilon is None else numbers("epsilon", epsilon),
        "subset_size": subset_size,
        "max_side": side,
        "seed": seed,
    }
    settings = PhotoSettings(
        extractor=extractor, **{name: value for name, value in given.items() if value is not None}
    )
    words = Dictionary.load(dictionary or BUNDLED)
    if dictionary is not None and words.extractor != extractor:
        raise Mismatch(
            f"--dictionary must hold {extractor} words, this one holds {words.extractor}; give "
            "another one or leave it out."
        )
    with progress_bar(quiet=as_json) as progress:
        result = run_photo(
            photo,
            settings,
            networks=networks,
            dictionary=words if words.extractor == extractor else None,
            public=None if public is None else Dictionary.load(public),
            progress=progress,
        )
    asked = {
        "--extractor": None if extractor == "sift" else extractor,
        "--dictionary": dictionary,
        "--public": public,
        "--networks": networks,
        "--dimension": dimension,
        "--epsilon": epsilon,
        "--subset-size": subset_size,
        "--side": side,
        "--seed": seed,
    }
    command = ["sfumato", "attack", "PHOTO"]
    for name, value in asked.items():
        command += [] if value is None else [name, str(value)]
    write_file(page, photo_page(result, shlex.join(command)).encode())
    if as_json:
        emit_json({"kind": "photograph", **as_dict(result), "page": str(page)})
    else:
        _print(result, page)


def _check_page(page: Path, photo: Path) -> None:
    """Refuse before the long work what could not be written, or would write over the picture."""
    if page.suffix not in (".html", ".htm"):
        raise InvalidInput(f"--output must end in .html for a photograph, got {page.name!r}.")
    if page.is_dir() or not page.parent.is_dir():
        raise InvalidInput(f"--output must be a file in a folder that exists, got {page}.")
    if page.exists() and page.samefile(photo):
        raise InvalidInput("--output is the photograph itself; choose another name.")
    check_writable(page)


def _print(result: PhotoResult, page: Path) -> None:
    from rich.table import Table

    from sfumato.pages.photo_text import (
        SHORT_HEADINGS,
        baseline_cells,
        not_protected,
        short_cells,
        verdict,
    )

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    lines = [*map(short_cells, result.rows)]
    lines += [baseline_cells(one, len(SHORT_HEADINGS)) for one in result.baselines]
    for i, (name, *column) in enumerate(zip(SHORT_HEADINGS, *lines, strict=True)):
        # ε must keep its unit: a heading is wrapped between words and never cut.
        width = max(map(len, [*name.split(), *column]))
        justify: Literal["left", "right"] = "left" if i < 2 else "right"
        table.add_column(name, justify=justify, vertical="bottom", width=width)
    for line in lines:
        table.add_row(*line)
    width, height = result.features.image_size
    with printer() as console:
        console.print("What a curious server would see", style="bold")
        console.print(
            f"{len(result.features):,} keypoints of {result.settings.extractor} in "
            f"{width}×{height} pixels",
            style="dim",
        )
        for sentence in verdict(result):
            console.print(sentence)
        console.print()
        console.print(table)
        console.print()
        if result.raw.remark:
            console.print(result.raw.remark, soft_wrap=True)
        for reason in result.left_out:
            console.print(f"left out: {reason}", soft_wrap=True)
        console.print(
            "Where there is no ε there is no guarantee. Not protected by any of them: "
            f"{not_protected(result.rows[-1])}.",
            soft_wrap=True,
        )
        console.print(f"\nThe page, with the photograph in it: {page}", soft_wrap=True)
