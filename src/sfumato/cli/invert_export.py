"""`sfumato invert export`: a trained network as one ONNX file, which needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_facts, emit_json
from sfumato.core.errors import InvalidInput


def run(
    source: Annotated[
        Path, typer.Argument(metavar="RUN", help="A folder of `invert train`, or one checkpoint.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="The file (.onnx); <extractor>-<kind>.onnx is found by name."
        ),
    ],
    compact: Annotated[
        bool, typer.Option("--compact", help="Weights in 16 and 8 bits: small, nearly the same.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Write the network of a run as ONNX, for `sfumato attack` and `invert picture`.

    Needs torch and onnx; using the file needs neither.

    Example: sfumato invert export runs/sift -o networks/sift-raw.onnx --compact
    """
    if output.suffix != ".onnx":
        raise InvalidInput(f"--output must end in .onnx, got {output.name!r}.")
    from sfumato.adversary.invert.export import export_onnx
    from sfumato.adversary.invert.networks import network_file

    made = export_onnx(source, output, compact=compact)
    facts = {
        "extractor": made.extractor,
        "kind": made.kind,
        "frames": made.frames,
        "width": made.width,
        "bytes": output.stat().st_size,
        "found as": network_file(made.extractor, made.kind),
    }
    if as_json:
        emit_json({**facts, "output": str(output)})
    else:
        emit_facts(f"wrote {output!s}", facts)
