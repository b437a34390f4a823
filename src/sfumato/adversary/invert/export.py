"""A trained network as ONNX, so that reconstruction needs no torch.

The file carries its architecture as metadata; `reconstruct.py` reads it back from there.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import warnings
from pathlib import Path
from typing import Any

from sfumato.adversary.invert.architecture import Architecture, check_torch
from sfumato.adversary.invert.checkpoints import Checkpoint, last_checkpoint, load_checkpoint
from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.storage import MANIFEST, write_file

INPUTS = ("rows", "index", "offsets")
METADATA = "sfumato.architecture"
_OPSET = 17


def export_onnx(run: str | Path, output: str | Path, *, half: bool = False) -> Architecture:
    """Write the averaged generator of a run, or of one checkpoint, as an ONNX file.

    half  store weights as 16-bit floats, computed in 32: half the size, differences of
          about one in a thousand
    """
    check_torch("exporting to ONNX")
    if importlib.util.find_spec("onnx") is None:
        raise Missing(
            "exporting to ONNX needs the package onnx, not installed here; "
            "pip install 'sfumato[train]' or run scripts/setup train."
        )
    checkpoint = find_checkpoint(run)
    data = _trace(checkpoint)
    onnx: Any = importlib.import_module("onnx")
    model = onnx.load_model_from_string(data)
    if half:
        _halve(onnx, model)
    entry = model.metadata_props.add()
    entry.key = METADATA
    entry.value = json.dumps(
        {"architecture": checkpoint.architecture.to_json(), "step": checkpoint.step}
    )
    onnx.checker.check_model(model)
    write_file(Path(output), model.SerializeToString())
    return checkpoint.architecture


def find_checkpoint(path: str | Path) -> Checkpoint:
    """The checkpoint at this path, or the newest whole one of the run at this path."""
    folder = Path(path)
    if (folder / MANIFEST).exists():
        return load_checkpoint(folder)
    found = last_checkpoint(folder)
    if found is None:
        raise InvalidInput(f"{folder} holds no whole checkpoint; train a network there first.")
    return found


def _trace(checkpoint: Checkpoint) -> bytes:
    import torch

    from sfumato.adversary.invert.loop import load_weights
    from sfumato.adversary.invert.network import Generator

    a = checkpoint.architecture
    generator = Generator(a).eval()
    load_weights(generator, checkpoint.parts["average"])
    side = 2 * a.map_options.multiple
    k, c = a.neighbours, a.map_options.coordinates
    example = (
        torch.zeros(3, a.channels),
        torch.ones(1, k, side // 2, side // 2, dtype=torch.int64),
        torch.zeros(1, k, c, side // 2, side // 2),
    )
    data = io.BytesIO()
    with warnings.catch_warnings():
        # torch announces that this exporter is the old one; the new one needs onnxscript.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            generator,
            example,
            data,
            dynamo=False,
            opset_version=_OPSET,
            input_names=list(INPUTS),
            output_names=["picture"],
            dynamic_axes={
                "rows": {0: "n"},
                "index": {0: "b", 2: "half_height", 3: "half_width"},
                "offsets": {0: "b", 3: "half_height", 4: "half_width"},
                "picture": {0: "b", 2: "height", 3: "width"},
            },
        )
    return data.getvalue()


def _halve(onnx: Any, model: Any) -> None:
    """Store large weights as float16 behind a cast; the arithmetic stays in float32."""
    helper, numbers = onnx.helper, onnx.numpy_helper
    casts = []
    for weight in model.graph.initializer:
        values = numbers.to_array(weight)
        if values.dtype != "float32" or values.size < 64:
            continue
        name = weight.name
        weight.CopyFrom(numbers.from_array(values.astype("float16"), f"{name}.half"))
        casts.append(helper.make_node("Cast", [f"{name}.half"], [name], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
