"""`sfumato invert export`: a trained network as one ONNX file, which needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.cli.command import applies
from sfumato.cli.files import check_output
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit


@applies({"--blend-share": "--blend"})
def run(
    source: Annotated[Path, argument("RUN", "A folder of `invert train`, or one checkpoint.")],
    output: Annotated[
        Path, output("The network (.onnx); <extractor>-<kind>.onnx is found by name.")
    ],
    compact: Annotated[bool, option("Weights in 16 and 8 bits: small, nearly the same.")] = False,
    blend: Annotated[
        Path | None,
        option("Write the mean with this network, a run or file: often better.", metavar="RUN"),
    ] = None,
    blend_share: Annotated[float, option("Its share of the mean.")] = 0.25,
    as_json: JsonFlag = False,
) -> None:
    """The file is for `sfumato attack photo` and `sfumato invert picture`. Writing it needs torch
    and onnx; using it needs neither.

    Example: sfumato invert export runs/sift -o networks/sift-raw.onnx --compact
    """
    check_output(output, ".onnx")
    from sfumato.adversary.invert.export import export_onnx
    from sfumato.adversary.invert.networks import network_file

    made = export_onnx(source, output, compact=compact, blend=blend, blend_share=blend_share)
    facts = {
        "extractor": made.extractor,
        "kind": made.kind,
        "frames": made.frames,
        "width": made.width,
        "bytes": output.stat().st_size,
        "found as": network_file(made.extractor, made.kind),
    }
    emit(as_json, {**facts, "output": str(output)}, f"wrote {output!s}", facts)
