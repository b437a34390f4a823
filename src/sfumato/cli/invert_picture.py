"""`sfumato invert picture`: one release or one picture's features, painted."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli import options as opt
from sfumato.cli.command import refuse_given
from sfumato.cli.files import check_output, is_release, read_release
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit, long_work
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import SubspaceRelease, WordRelease
from sfumato.core.storage import write_file
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.adversary.invert.encoders import Source
    from sfumato.core.progress import Progress


def run(
    source: Annotated[Path, argument("FILE", "A release (.sfr) or a features file (.h5).")],
    output: Annotated[Path, output("The picture to write (.png).")],
    image: Annotated[
        str | None, option("Which picture of a features file that holds several.", metavar="NAME")
    ] = None,
    kind: Annotated[
        str,
        option(
            "What the network reads: raw recovers descriptors first; words, subspace and "
            "positions need a network of that kind."
        ),
    ] = "raw",
    networks: opt.Networks = None,
    dictionary: opt.Dictionary = DEFAULT_DICTIONARY,
    one_look: Annotated[bool, option("A quarter of the time, a little worse.")] = (False),
    as_json: JsonFlag = False,
) -> None:
    """This is what a curious server would do. With the kind raw, words are taken for the
    likeliest one and subspaces are read by the vertex attack, which needs to know nothing.

    Example: sfumato invert picture out.sfr -o painted.png
    """
    from PIL import Image

    from sfumato.adversary.invert.networks import find_network
    from sfumato.adversary.invert.reconstruct import Inverter
    from sfumato.adversary.invert.sheet import to_pixels

    check_output(output, ".png")
    seen = _read(source, image)
    inverter = Inverter(find_network(seen.extractor, kind, networks))
    words = Dictionary.load(dictionary) if isinstance(seen, WordRelease) else None
    if words is None:
        refuse_given("has words, and this file has none", "dictionary")
    with long_work() as progress:
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
    shown = facts | ({"remark": made.remark} if made.remark else {})
    told = {**facts, "remark": made.remark or None, "output": str(output)}
    emit(as_json, told, f"wrote {output!s}", shown)


def _read(path: Path, image: str | None) -> Source:
    if is_release(path):
        refuse_given("is for features files, a release holds one picture", "image")
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
