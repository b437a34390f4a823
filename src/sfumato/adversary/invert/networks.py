"""Where the networks are: one comes with sfumato, others are trained and put in a folder.

A file is named after what it was trained on: `<extractor>-<kind>.onnx`.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.adversary.invert.encoders import ENCODERS
from sfumato.core.checks import check_choice
from sfumato.core.errors import InvalidInput, Missing
from sfumato.features.extractors import EXTRACTORS

SHIPPED = Path(__file__).parent / "shipped"


def network_file(extractor: str, kind: str) -> str:
    """The name a network of this extractor and input kind has in any folder."""
    if extractor not in EXTRACTORS:
        raise InvalidInput(
            f"nothing paints from features of {extractor}: painters are made for "
            f"{', '.join(EXTRACTORS)}. `sfumato attack release` runs the attacks that need none; "
            "that nobody made a painter is no protection."
        )
    check_choice("input kind", kind, ENCODERS)
    return f"{extractor}-{kind}.onnx"


def has_network(extractor: str, kind: str, folder: str | Path | None = None) -> bool:
    """Whether `find_network` would find one."""
    return any(path.is_file() for path in _places(extractor, kind, folder))


def find_network(
    extractor: str = "sift", kind: str = "raw", folder: str | Path | None = None
) -> Path:
    """The file of a network: from this folder, and from sfumato itself where it is not there."""
    if folder is not None and not Path(folder).is_dir():
        raise InvalidInput(f"networks must be a folder, {folder} is not one.")
    places = _places(extractor, kind, folder)
    for path in places:
        if path.is_file():
            return path
    name = network_file(extractor, kind)
    looked = "sfumato ships none" if folder is None else f"{folder} holds no {name}"
    raise Missing(
        f"there is no inversion network for {extractor} {kind}: {looked}; train one with `sfumato "
        f"invert train PICTURES -o RUN --extractor {extractor} --kind {kind}`, write it with "
        f"`sfumato invert export RUN -o {name}`, and give its folder."
    )


def _places(extractor: str, kind: str, folder: str | Path | None) -> list[Path]:
    name = network_file(extractor, kind)
    given = [] if folder is None else [Path(folder) / name]
    return [*given, SHIPPED / name]
