"""`sfumato classify encoder`: what turns pictures into codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.classification.files import ENCODERS, encoder_class, save_encoder
from sfumato.cli.classify_output import emit, refuse_existing
from sfumato.cli.code_files import one_sentence, read_labels, read_table
from sfumato.cli.output import JsonFlag
from sfumato.cli.values import whole_numbers
from sfumato.core.errors import InvalidInput

#: Encoders that are the same whatever pictures they are shown.
FIXED = ("orientations", "orientation-bits")


def run(
    pictures: Annotated[Path, typer.Argument(help="Pictures N×h×w (idx, .npy, .npz), not hidden.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The encoder's file (.npz).")],
    labels: Annotated[
        Path | None, typer.Option(help="Their labels (idx, .npy, .npz), for encoders that learn.")
    ] = None,
    kind: Annotated[
        str, typer.Option(help=f"{', '.join(ENCODERS)}; {' and '.join(FIXED)} learn nothing.")
    ] = "orientation-bits",
    filters: Annotated[
        str, typer.Option(help="dcaconv: L1,L2; 5,4 gives codes of 16 values.")
    ] = "5,1",
    scatter: Annotated[str, typer.Option(help="dcaconv: position or paper.")] = "position",
    orientations: Annotated[
        int | None, typer.Option(help="orientations (4) and orientation-bits (16): how many.")
    ] = None,
    stride: Annotated[int, typer.Option(help="The same: pixels between cells.")] = 2,
    margin: Annotated[int, typer.Option(help="orientations: pixels without cells.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Make an encoder that devices then share; those that learn see these pictures as they are.

    Example: sfumato classify encoder train-images-idx3-ubyte -o encoder.npz
    """
    refuse_existing(output)
    options: dict[str, Any] = {}
    if kind == "dcaconv":
        options = {"num_filters": whole_numbers("filters", filters), "scatter": scatter}
    elif kind == "orientations":
        options = {
            "num_orientations": 4 if orientations is None else orientations,
            "stride": stride,
            "margin": margin,
        }
    elif kind == "orientation-bits":
        if margin:
            raise InvalidInput("--margin belongs to --kind orientations; leave it out.")
        options = {"num_directions": 16 if orientations is None else orientations, "stride": stride}
    empty = encoder_class(kind)(**options)
    if labels is None and kind == "dcaconv":
        raise InvalidInput("--labels FILE is needed: dcaconv learns from labelled pictures.")
    images = read_table(pictures, "pictures", "images", "array")
    names = None if labels is None else read_labels(labels, len(images))
    with one_sentence():
        made = empty.fit(images, names)
    save_encoder(output, made)
    channels, height, width = made.map_shape_
    facts = {
        "encoder": made.name,
        "codes_per_picture": channels * height * width,
        "map_shape": [channels, height, width],
        "values_per_code": made.num_values_,
        "pictures": len(images),
        "not_protected": ["the size of the pictures"]
        if kind in FIXED
        else ["the pictures the encoder was fitted on"],
        "output": str(output),
    }
    emit(f"wrote {output}", facts, as_json)
