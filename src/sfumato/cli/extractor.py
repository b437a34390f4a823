"""`sfumato extractor export`: published weights as one ONNX file, which needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.cli.files import check_output, refuse_existing
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit


def export(
    weights: Annotated[
        Path, argument("WEIGHTS", "EdgePoint2's or ALIKED's: .safetensors, or .pth with torch.")
    ],
    output: Annotated[Path, output("The network (.onnx).")],
    name: Annotated[
        str | None, option("What its features are called.", metavar="NAME", shown="by its sizes")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """The file is an extractor wherever --extractor is: pictures in, keypoints and descriptors out.
    Nothing is downloaded: the weights are yours to bring, with the licence they have.

    Example: sfumato extractor export edgepoint2-e64.safetensors -o edgepoint2-e64.onnx
    """
    check_output(output, ".onnx")
    refuse_existing(output)
    from sfumato.features.networks.export import export_network

    made = export_network(weights, output, name=name)
    facts = {
        "name": made.name,
        "dimension": made.dimension,
        "parameters": made.parameters,
        "bytes": made.bytes,
        "use": f"sfumato extract PHOTOS -o features.h5 --extractor {output}",
    }
    emit(as_json, {**facts, "output": str(output)}, f"wrote {output!s}", facts)
