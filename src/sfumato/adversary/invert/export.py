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

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.checkpoints import Checkpoint, find_checkpoint
from sfumato.core.extras import need
from sfumato.core.storage import write_file

INPUTS = ("rows", "index", "offsets")
METADATA = "sfumato.architecture"
_OPSET = 17
_LARGE = 500_000  # numbers in a kernel that is stored in 8 bits


def export_onnx(run: str | Path, output: str | Path, *, compact: bool = False) -> Architecture:
    """Write the averaged generator of a run, or of one checkpoint, as an ONNX file.

    compact  weights stored in 16 and 8 bits, computed in 32: about a third of the size,
             differences of a few in a thousand
    """
    need("train", "exporting to ONNX", "torch", "onnx")
    checkpoint = find_checkpoint(run)
    data = _trace(checkpoint)
    onnx: Any = importlib.import_module("onnx")
    model = onnx.load_model_from_string(data)
    if compact:
        _compact(onnx, model)
    entry = model.metadata_props.add()
    entry.key = METADATA
    entry.value = json.dumps(
        {
            "architecture": checkpoint.architecture.to_json(),
            "step": checkpoint.step + int(checkpoint.settings.get("steps_before", 0)),
        }
    )
    onnx.checker.check_model(model)
    write_file(Path(output), model.SerializeToString())
    return checkpoint.architecture


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


def _compact(onnx: Any, model: Any) -> None:
    """Store weights behind a cast, as float16; the arithmetic stays in float32.

    Kernels of half a million numbers are stored as int8, with a scale for each output.
    """
    helper, numbers = onnx.helper, onnx.numpy_helper
    stored, nodes = [], []
    for weight in model.graph.initializer:
        values, name = numbers.to_array(weight), weight.name
        if values.dtype != "float32" or values.size < 64:
            stored.append(weight)
        elif values.size < _LARGE:
            stored.append(numbers.from_array(values.astype("float16"), f"{name}.half"))
            nodes.append(
                helper.make_node("Cast", [f"{name}.half"], [name], to=onnx.TensorProto.FLOAT)
            )
        else:
            scale = abs(values).max(axis=tuple(range(1, values.ndim))) / 127
            wide = scale.reshape(-1, *[1] * (values.ndim - 1))
            stored.append(numbers.from_array((values / wide).round().astype("int8"), f"{name}.q"))
            stored.append(numbers.from_array(scale, f"{name}.scale"))
            inputs = [f"{name}.q", f"{name}.scale"]
            nodes.append(helper.make_node("DequantizeLinear", inputs, [name], axis=0))
    nodes += model.graph.node
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(stored)
    model.graph.node.extend(nodes)
