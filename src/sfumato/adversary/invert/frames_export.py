"""A trained network for frames as ONNX. Imported only where torch is installed."""

from __future__ import annotations

import importlib
import io
import json
import warnings
from pathlib import Path
from typing import Any

import torch

from sfumato.adversary.invert.frames_loop import part_of, read_run
from sfumato.adversary.invert.frames_network import FrameArchitecture, FrameGuesser
from sfumato.adversary.invert.keypoint_angles import COLUMNS, INPUTS, METADATA
from sfumato.core.storage import write_file

_OPSET = 17
_SHAPE = "shape."


def write_onnx(run: str | Path, output: str | Path) -> None:
    """Write the averaged network of a run as an ONNX file."""
    onnx: Any = importlib.import_module("onnx")
    arrays, told = read_run(Path(run))
    shape = {k[len(_SHAPE) :]: v for k, v in told["settings"].items() if k.startswith(_SHAPE)}
    architecture = FrameArchitecture(**shape)
    network = FrameGuesser(architecture).eval()
    network.load_state_dict(part_of(arrays, "average"))
    reach = architecture.neighbours
    example = (
        torch.zeros(3, COLUMNS),
        torch.zeros(3, reach, dtype=torch.int64),
        torch.zeros(3, reach, 4),
        torch.zeros(3, 4),
    )
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
            input_names=list(INPUTS),
            output_names=["logits", "sizes"],
            dynamic_axes={name: {0: "n"} for name in (*INPUTS, "logits", "sizes")},
        )
    model = onnx.load_model_from_string(data.getvalue())
    entry = model.metadata_props.add()
    entry.key, entry.value = METADATA, json.dumps({**shape, "step": told["step"]})
    onnx.checker.check_model(model)
    write_file(Path(output), model.SerializeToString())
