"""`sfumato invert picture`: one release or one picture's features, painted."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.files import read_release
from sfumato.cli.output import JsonFlag, emit_facts, emit_json, progress_bar
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import SubspaceRelease, WordRelease
from sfumato.core.storage import check_writable, write_file
from sfumato.core.wire import MAGIC
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.adversary.invert.encoders import Source
    from sfumato.core.progress import Progress

BUNDLED = "bsds-16k"


def run(
    source: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A release (.sfr) or a features file (.h5)."),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture to write (.png).")],
    image: Annotated[
        str | None, typer.Option(help="Which picture of a features file; needed if it has several.")
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            help="What the network reads: raw recovers descriptors first; words, subspace and "
            "positions need a network of that kind."
        ),
    ] = "raw",
    networks: Annotated[
        Path | None, typer.Option(help="Folder with further networks, <extractor>-<kind>.onnx.")
    ] = None,
    dictionary: Annotated[
        str, typer.Option(help="The words of a release of words: a dictionary's folder or name.")
    ] = BUNDLED,
    one_look: Annotated[
        bool, typer.Option("--one-look", help="A quarter of the time, a little worse.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Paint the picture behind a release or features, as a curious server would.

    With the kind raw, words are taken for the likeliest one and subspaces are read by the vertex
    attack, which needs to know nothing.

    Example: sfumato invert picture out.sfr -o painted.png
    """
    from PIL import Image

    from sfumato.adversary.invert.networks import find_network
    from sfumato.adversary.invert.reconstruct import Inverter
    from sfumato.adversary.invert.sheet import to_pixels

    if output.suffix != ".png":
        raise InvalidInput(f"--output must end in .png, got {output.name!r}.")
    check_writable(output)
    seen = _read(source, image)
    inverter = Inverter(find_network(seen.extractor, kind, networks))
    words = Dictionary.load(dictionary) if isinstance(seen, WordRelease) else None
    with progress_bar(quiet=as_json) as progress:
        if kind == "raw":
            seen = _recovered(seen, words, progress)
        made = inverter.reconstruct(seen, dictionary=words, one_look=one_look)
    data = io.BytesIO()
    Image.fromarray(to_pixels(made.picture)).save(data, format="PNG")
    write_file(output, data.getvalue())
    height, width = made.picture.shape[:2]
    facts = {
        "network": inverter.path.name,
        "keypoints": made.num_keypoints,
        "width": width,
        "height": height,
    }
    if as_json:
        emit_json({**facts, "remark": made.remark or None, "output": str(output)})
        return
    if made.remark:
        facts["remark"] = made.remark
    emit_facts(f"wrote {output!s}", facts)


def _read(path: Path, image: str | None) -> Source:
    try:
        with path.open("rb") as file:
            is_release = file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    if is_release or path.suffix == ".sfr":
        if image is not None:
            raise InvalidInput("--image is for features files, a release holds one picture.")
        return read_release(path, purpose="paint")
    from sfumato.features.h5 import list_feature_names, read_features

    names = list_feature_names(path)
    if image is None and len(names) != 1:
        raise InvalidInput(f"{path} holds {len(names)} pictures; name one with --image.")
    return read_features(path, names[0] if image is None else image)


def _recovered(seen: Source, words: Dictionary | None, progress: Progress) -> Source:
    """Descriptors as the attacker believes they were; what is sent plainly stays as it is."""
    from sfumato.adversary.invert.recovered import as_sent_plainly, words_as_sent_plainly

    if isinstance(seen, SubspaceRelease):
        from sfumato.adversary.recover.vertex import vertex_attack

        return as_sent_plainly(seen, vertex_attack(seen, progress=progress))
    if isinstance(seen, WordRelease) and words is not None:
        from sfumato.adversary.recover.posterior import dictionary_of, guess_words

        public = dictionary_of(seen, words)
        return words_as_sent_plainly(seen, guess_words(seen).words, public)
    return seen
