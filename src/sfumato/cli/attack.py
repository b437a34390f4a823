"""`sfumato attack`: a release is read, a photograph is sent in every way and painted again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.attack_photo import attack_photo
from sfumato.cli.attack_release import BUNDLED, attack_release
from sfumato.cli.output import JsonFlag
from sfumato.core.errors import InvalidInput
from sfumato.core.wire import MAGIC


def run(
    file: Annotated[
        Path, typer.Argument(help="A photograph, or a release written by `sfumato protect`.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Photograph: the page (.html). Release: what was recovered (.npz), by attack.",
        ),
    ] = None,
    dictionary: Annotated[
        str | None,
        typer.Option(help="Public words: a dictionary's folder or name; a release's own words."),
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(help="Public descriptors anyone has: a dictionary's folder or name."),
    ] = None,
    extractor: Annotated[
        str | None, typer.Option(help="Photograph: what describes it, sift by default.")
    ] = None,
    networks: Annotated[
        Path | None,
        typer.Option(help="Photograph: folder with further networks, <extractor>-<kind>.onnx."),
    ] = None,
    dimension: Annotated[
        str | None, typer.Option(help="Photograph: m of the lifting, several; 2,4,8 by default.")
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(help="Photograph: ε per descriptor, several; 16,12,10,8 by default."),
    ] = None,
    subset_size: Annotated[
        int | None, typer.Option(help="Photograph: ω, words per descriptor; 1 by default.")
    ] = None,
    side: Annotated[
        int | None,
        typer.Option(help="Photograph: scale its longer side down to this; 512 by default."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Photograph: of every draw; 0 by default.")
    ] = None,
    others: Annotated[
        list[Path] | None,
        typer.Option(help="Release: those of other pictures lifted with the same words; repeat."),
    ] = None,
    repeat: Annotated[
        list[Path] | None,
        typer.Option(help="Release: further ones of the same picture; repeat."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what a curious server can make of a photograph, or of one release.

    A photograph is sent raw, lifted and as words, each is attacked and painted again, and one page
    of HTML shows the pictures. It takes one to three minutes and needs no network connection.

    A release is read by every attack that applies. No attack sees anything but the release and
    what its row names.

    Example: sfumato attack photo.jpg -o attack.html
    """
    for_photo = {
        "--extractor": extractor,
        "--networks": networks,
        "--dimension": dimension,
        "--epsilon": epsilon,
        "--subset-size": subset_size,
        "--side": side,
        "--seed": seed,
    }
    for_release = {"--others": others, "--repeat": repeat}
    if is_release(file):
        _refuse(for_photo, "a photograph", "a release")
        attack_release(
            file,
            dictionary=dictionary,
            public=public or BUNDLED,
            others=others or [],
            repeat=repeat or [],
            output=output,
            as_json=as_json,
        )
        return
    _refuse(for_release, "a release", "a photograph")
    attack_photo(
        file,
        output=output,
        dictionary=dictionary,
        public=public,
        extractor=extractor or "sift",
        networks=networks,
        dimension=dimension,
        epsilon=epsilon,
        subset_size=subset_size,
        side=side,
        seed=seed,
        as_json=as_json,
    )


def is_release(file: Path) -> bool:
    """Whether a file begins or is named as releases are; the rest is for others to say."""
    try:
        with file.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC or file.suffix == ".sfr"
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from None


def _refuse(options: Mapping[str, object], meant: str, got: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise InvalidInput(f"{name} is for {meant}, this is {got}; leave it out.")
