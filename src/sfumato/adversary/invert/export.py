"""Trained networks as ONNX, so that using them needs no torch.

A file carries its architecture as metadata; `session.py` and `keypoint_angles.py` read it back.
"""

from __future__ import annotations

import importlib
import io
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sfumato.adversary.invert import keypoint_angles
from sfumato.adversary.invert.architecture import Architecture, FrameArchitecture
from sfumato.adversary.invert.checkpoints import find_checkpoint
from sfumato.core.errors import InvalidInput
from sfumato.core.extras import need
from sfumato.core.storage import write_file

INPUTS = ("rows", "index", "offsets")
METADATA = "sfumato.architecture"
_OPSET = 17
_LARGE = 100_000  # numbers in a kernel that is stored in 8 bits


def check_export(output: str | Path) -> None:
    """Refuse what could not be exported in the end, before hours of training."""
    need("train", "exporting to ONNX", "torch", "onnx")
    if not Path(output).parent.is_dir():
        raise InvalidInput(f"the folder {Path(output).parent} does not exist; make it first.")


def export_onnx(
    run: str | Path,
    output: str | Path,
    *,
    compact: bool = False,
    blend: str | Path | None = None,
    blend_share: float = 0.25,
) -> Architecture:
    """Write the averaged generator of a run, or of one checkpoint, as an ONNX file.

    compact      weights stored in 16 and 8 bits, computed in 32: about a third of the size,
                 differences of a few in a thousand
    blend        a network of the same shape, usually the one that the run started from: the mean
                 of both often paints better than either
    blend_share  its share of the mean
    """
    check_export(output)
    import torch

    from sfumato.adversary.invert.loop import load_weights
    from sfumato.adversary.invert.network import Generator

    checkpoint = find_checkpoint(run, Architecture)
    a = checkpoint.architecture
    generator = Generator(a).eval()
    weights = checkpoint.parts["average"]
    if blend is not None:
        weights = _blended(a, weights, blend, blend_share)
    load_weights(generator, weights)
    half, k, c = a.map_options.multiple, a.map_options.slots, a.map_options.coordinates
    example = (
        torch.zeros(3, a.channels),
        torch.ones(1, k, half, half, dtype=torch.int64),
        torch.zeros(1, k, c, half, half),
    )
    free = {
        "rows": {0: "n"},
        "index": {0: "b", 2: "half_height", 3: "half_width"},
        "offsets": {0: "b", 3: "half_height", 4: "half_width"},
        "picture": {0: "b", 2: "height", 3: "width"},
    }
    model = _trace(generator, example, INPUTS, ("picture",), free)
    if compact:
        _compact(importlib.import_module("onnx"), model)
    steps = checkpoint.step + int(checkpoint.settings.get("steps_before", 0))
    description = {
        "architecture": a.to_json(),
        "step": steps,
        "view": checkpoint.settings.get("view", ""),
    }
    _write(model, METADATA, description, output)
    return a


def _blended(
    architecture: Architecture, weights: Mapping[str, NDArray[Any]], other: str | Path, share: float
) -> dict[str, NDArray[Any]]:
    """The mean of two networks; only of one shape, or it would be neither."""
    from sfumato.adversary.invert.start_from import Start

    if not 0 < share < 1:
        raise InvalidInput(f"blend_share must lie between 0 and 1, got {share!r}.")
    found = Start.of(other)
    architecture.check_same(found.architecture)
    return {
        name: ((1 - share) * value + share * found.weights[name]).astype(value.dtype)
        for name, value in weights.items()
    }


def export_frames(run: str | Path, output: str | Path) -> None:
    """Write the averaged network for frames of a run, or of one checkpoint, as an ONNX file."""
    check_export(output)
    import torch

    from sfumato.adversary.invert.frames_network import FrameGuesser
    from sfumato.adversary.invert.loop import load_weights

    checkpoint = find_checkpoint(run, FrameArchitecture)
    a = checkpoint.architecture
    network = FrameGuesser(a).eval()
    load_weights(network, checkpoint.parts["average"])
    example = (
        torch.zeros(3, keypoint_angles.COLUMNS),
        torch.zeros(3, a.neighbours, dtype=torch.int64),
        torch.zeros(3, a.neighbours, 4),
        torch.zeros(3, 4),
    )
    inputs, outputs = keypoint_angles.INPUTS, ("logits", "sizes")
    free = {name: {0: "n"} for name in (*inputs, *outputs)}
    model = _trace(network, example, inputs, outputs, free)
    description = {**a.to_json(), "step": checkpoint.step}
    _write(model, keypoint_angles.METADATA, description, output)


def _trace(
    network: Any,
    example: tuple[Any, ...],
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    free: Mapping[str, Mapping[int, str]],
) -> Any:
    """An ONNX model; `free` names the dimensions of inputs and outputs that may vary."""
    import torch

    data = io.BytesIO()
    with warnings.catch_warnings():
        # torch announces that this exporter is the old one; the new one needs onnxscript.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            example,
            data,
            dynamo=False,
            opset_version=_OPSET,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=free,
        )
    return importlib.import_module("onnx").load_model_from_string(data.getvalue())


def _write(model: Any, key: str, description: Mapping[str, Any], output: str | Path) -> None:
    entry = model.metadata_props.add()
    entry.key, entry.value = key, json.dumps(description)
    importlib.import_module("onnx").checker.check_model(model)
    write_file(Path(output), model.SerializeToString())


def _compact(onnx: Any, model: Any) -> None:
    """Store weights behind a cast, as float16; the arithmetic stays in float32.

    Large kernels are stored as int8, with a scale for each output.
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
