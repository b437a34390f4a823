"""`sfumato classify encoder`: what turns pictures into codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from sfumato.classification.files import ENCODERS, JOINED, encoder_class, save_encoder
from sfumato.cli import options as opt
from sfumato.cli.classify import tell_facts
from sfumato.cli.code_files import one_sentence, read_labels, read_table
from sfumato.cli.command import applies
from sfumato.cli.files import refuse_existing
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag
from sfumato.cli.values import whole_numbers
from sfumato.core.checks import check_choice, check_count
from sfumato.core.errors import InvalidInput

#: Encoders that are the same whatever pictures they are shown.
FIXED = ("orientations", "orientation-bits")
KINDS = tuple(name for name in ENCODERS if name != JOINED)


@applies(
    {
        "--filters --scatter --labels": "--kind=dcaconv",
        "--orientations --stride": "--kind=orientations,orientation-bits",
        "--margin": "--kind=orientations",
    }
)
def run(
    pictures: Annotated[Path, argument("FILE", "Pictures N×h×w (idx, .npy, .npz), not hidden.")],
    output: Annotated[Path, output("The encoder's file (.npz).")],
    labels: opt.Labels = None,
    kind: Annotated[
        str, option(f"{', '.join(KINDS)}; {' and '.join(FIXED)} learn nothing.", metavar="NAME")
    ] = "orientation-bits",
    filters: Annotated[
        str, option("dcaconv: L1,L2; 5,4 gives codes of 16 values.", metavar="N,N")
    ] = "5,1",
    scatter: Annotated[str, option("dcaconv: position or paper.")] = "position",
    orientations: Annotated[
        int | None, option("How many.", shown="4; 16 for orientation-bits")
    ] = None,
    stride: Annotated[int, option("orientations, orientation-bits: pixels between cells.")] = 2,
    margin: Annotated[int, option("orientations: pixels without cells.")] = 0,
    join: Annotated[int, option("Cells that one code holds, answered together.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """Devices then share the encoder; those that learn see these pictures as they are.

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
        options = {"num_directions": 16 if orientations is None else orientations, "stride": stride}
    check_choice("encoder", kind, KINDS)
    empty = encoder_class(kind)(**options)
    if check_count("join", join, low=1) > 1:
        empty = encoder_class(JOINED)(empty, join)
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
        "cells_per_code": join,
        "codes_per_picture": channels * height * width,
        "map_shape": [channels, height, width],
        "values_per_code": made.num_values_,
        "pictures": len(images),
        "not_protected": ["the size of the pictures"]
        if kind in FIXED
        else ["the pictures the encoder was fitted on"],
        "output": str(output),
    }
    tell_facts(f"wrote {output}", facts, as_json)
