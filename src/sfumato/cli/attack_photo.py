"""`sfumato attack photo`: what would be painted from each way of sending it, as one page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from sfumato.cli import options as opt
from sfumato.cli.command import options_given, was_given
from sfumato.cli.files import refuse_release
from sfumato.cli.options import option, output
from sfumato.cli.output import JsonFlag, emit_json, long_work, make_table, printer
from sfumato.cli.values import numbers, whole_numbers
from sfumato.core.defaults import DEFAULT_DICTIONARY, DEFAULT_SUBSET_SIZE
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.storage import check_writable, write_file
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.pages.photo_result import PhotoResult


def run(
    photo: opt.Image,
    output: Annotated[Path, output("The page to write (.html).")] = Path("attack.html"),
    dictionary: opt.Dictionary = DEFAULT_DICTIONARY,
    public: Annotated[
        str | None, option("Public descriptors that anyone has.", metavar="DICTIONARY")
    ] = None,
    extractor: Annotated[str, option("What describes the photograph.", metavar="NAME")] = "sift",
    networks: opt.Networks = None,
    dimension: Annotated[str, option("m of the lifting, several.", metavar="N,…")] = "2,4,8",
    epsilon: Annotated[str, option("ε per descriptor, several.", metavar="ε,…")] = "16,12,10,8",
    subset_size: opt.SubsetSize = DEFAULT_SUBSET_SIZE,
    side: Annotated[int, option("Scale its longer side down to this, in pixels.")] = 512,
    seed: opt.Seed = 0,
    as_json: JsonFlag = False,
) -> None:
    """The photograph is sent raw, lifted and as words, each is attacked and painted again, and
    one page of HTML shows the pictures. It takes one to three minutes, without a network.

    Example: sfumato attack photo photo.jpg -o attack.html
    """
    from sfumato.pages.photo import run_photo
    from sfumato.pages.photo_page import photo_page
    from sfumato.pages.photo_result import PhotoSettings
    from sfumato.pages.photo_text import as_dict

    refuse_release(photo, "attack release")
    _check_page(output, photo)
    settings = PhotoSettings(
        extractor=extractor,
        dimensions=whole_numbers("dimension", dimension),
        epsilons=numbers("epsilon", epsilon),
        subset_size=subset_size,
        max_side=side,
        seed=seed,
    )
    words = Dictionary.load(dictionary)
    if was_given("dictionary") and words.extractor != extractor:
        raise Mismatch(
            f"--dictionary must hold {extractor} words, this one holds {words.extractor}; give "
            "another one or leave it out."
        )
    with long_work() as progress:
        result = run_photo(
            photo,
            settings,
            networks=networks,
            dictionary=words if words.extractor == extractor else None,
            public=None if public is None else Dictionary.load(public),
            progress=progress,
        )
    command = ["sfumato", "attack", "photo", "IMAGE", *options_given("output", "as_json")]
    write_file(output, photo_page(result, shlex.join(command)).encode())
    if as_json:
        emit_json({"kind": "photograph", **as_dict(result), "page": str(output)})
    else:
        _print(result, output)


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
    from sfumato.pages.photo_text import (
        SHORT_HEADINGS,
        baseline_cells,
        not_protected,
        short_cells,
        verdict,
    )

    table = make_table(header_style="dim", padding=(0, 1, 0, 0))
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
