"""`sfumato attack photo`: what would be painted from each way of sending it, as one page."""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from sfumato.cli import options as opt
from sfumato.cli.command import options_given, refuse_given, was_given
from sfumato.cli.files import refuse_release
from sfumato.cli.options import option, output
from sfumato.cli.output import JsonFlag, emit_json, long_work, make_table, printer
from sfumato.cli.selection import Selection, words_to_send
from sfumato.cli.values import numbers, whole_numbers
from sfumato.core.defaults import DEFAULT_DICTIONARY, DEFAULT_SUBSET_SIZE
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.storage import check_writable, write_file
from sfumato.core.types import NOT_PROTECTED
from sfumato.device.explain import Observed
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.device.protect import Pipeline
    from sfumato.pages.photo_result import PhotoResult

#: The options that decide what `sfumato protect` would send, beside ε and the dictionary.
_SENDING = ("subset_size", "words", *(one.name for one in fields(Selection)))


def run(
    photo: opt.Image,
    *,
    output: Annotated[Path, output("The page to write (.html).")] = Path("attack.html"),
    dictionary: opt.Dictionary = DEFAULT_DICTIONARY,
    public: Annotated[
        str | None, option("Public descriptors that anyone has.", metavar="DICTIONARY")
    ] = None,
    extractor: Annotated[str, option("What describes the photograph.", metavar="NAME")] = "sift",
    networks: opt.Networks = None,
    epsilon: Annotated[str, option("ε per descriptor, several.", metavar="ε,…")] = "12,10,8,6",
    subset_size: opt.SubsetSize = DEFAULT_SUBSET_SIZE,
    words: opt.Words = None,
    selection: Selection,
    dimension: Annotated[str, option("m of the lifting, several.", metavar="N,…")] = "4",
    side: Annotated[int, option("Longer side of the paintings, in pixels.")] = 384,
    seed: opt.Seed = 0,
    as_json: JsonFlag = False,
) -> None:
    """The photograph is sent as `sfumato protect` would send it with the same options, once for
    each ε, and raw and lifted to compare; each is attacked and painted again. One page of HTML
    says what is recognised, and what to do. It needs no network, and about a minute.

    Example: sfumato attack photo photo.jpg -o attack.html
    """
    from sfumato.adversary.invert.networks import network_file
    from sfumato.device.mechanisms import SubsetMechanism
    from sfumato.pages.photo import run_photo
    from sfumato.pages.photo_page import photo_page
    from sfumato.pages.photo_result import PhotoSettings
    from sfumato.pages.photo_text import as_dict

    refuse_release(photo, "attack release")
    network_file(extractor, "raw")  # what nothing paints from is refused before the long work
    _check_page(output, photo)
    settings = PhotoSettings(
        extractor=extractor,
        dimensions=whole_numbers("dimension", dimension),
        epsilons=numbers("epsilon", epsilon),
        max_side=side,
        seed=seed,
    )
    public_words = Dictionary.load(dictionary)
    if public_words.extractor != extractor:
        if was_given("dictionary"):
            raise Mismatch(
                f"--dictionary must hold {extractor} words, this one holds "
                f"{public_words.extractor}; give another one or leave it out."
            )
        reason = f"applies only to words, and there are none of {extractor} without --dictionary"
        refuse_given(reason, *_SENDING)

    def send(epsilon: float) -> tuple[Pipeline, Observed]:
        level, observed = words_to_send(public_words, words, epsilon, subset_size), Observed()
        mechanism = SubsetMechanism(epsilon, subset_size, level)
        return selection.pipeline(mechanism, level, observed), observed

    with long_work() as progress:
        result = run_photo(
            photo,
            settings,
            send=send,
            networks=networks,
            dictionary=public_words if public_words.extractor == extractor else None,
            public=None if public is None else Dictionary.load(public),
            progress=progress,
        )
    command = ["sfumato", "attack", "photo", "IMAGE", *options_given("output", "as_json")]
    sending = options_given(only=("dictionary", *_SENDING))
    write_file(output, photo_page(result, shlex.join(command), sending).encode())
    if as_json:
        emit_json({"kind": "photograph", **as_dict(result), "page": str(output)})
    else:
        _print(result, output)


def _check_page(page: Path, photo: Path) -> None:
    """Refuse before the long work what could not be written, or would write over the picture."""
    if page.suffix not in (".html", ".htm"):
        raise InvalidInput(
            f"--output must end in .html for a photograph, got {page.name!r}; for a PDF open the "
            "page and print it."
        )
    if page.is_dir() or not page.parent.is_dir():
        raise InvalidInput(f"--output must be a file in a folder that exists, got {page}.")
    if page.exists() and page.samefile(photo):
        raise InvalidInput("--output is the photograph itself; choose another name.")
    check_writable(page)


def _print(result: PhotoResult, page: Path) -> None:
    from sfumato.pages.photo_text import (
        SHORT_HEADINGS,
        baseline_cells,
        short_cells,
    )
    from sfumato.pages.photo_verdict import advice, verdict

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
    width, height = result.original_size
    with printer() as console:
        console.print("What a curious server would see", style="bold")
        console.print(
            f"{len(result.features):,} keypoints of {result.settings.extractor} in "
            f"{width}×{height} pixels, painted at {result.photo.shape[1]}×{result.photo.shape[0]}",
            style="dim",
        )
        for sentence in verdict(result):
            console.print(sentence)
        console.print(advice(result).sentence, style="bold")
        console.print()
        console.print(table)
        console.print()
        if result.raw.remark:
            console.print(result.raw.remark, soft_wrap=True)
        for reason in result.left_out:
            console.print(f"left out: {reason}", soft_wrap=True)
        console.print(
            "Where there is no ε there is no guarantee. Not protected by any of them: "
            f"{', '.join(NOT_PROTECTED)}.",
            soft_wrap=True,
        )
        console.print(f"\nThe page, with the photograph in it: {page}", soft_wrap=True)
