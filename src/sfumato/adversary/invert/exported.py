"""The weights of an exported network, read back so that training can begin with them.

A shipped file is all that most people have of a network. Its weights carry the generator's own
names, but for those that torch renames when it exports: kernels of `Linear` are turned, and the
two arrays of a group norm become a product and a sum behind the convolution they belong to.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.session import open_session
from sfumato.core.errors import InvalidInput
from sfumato.core.extras import need
from sfumato.core.onnx_file import read_network

Arrays = dict[str, NDArray[Any]]
_WHAT = "an inversion network"


def read_exported(path: str | Path) -> tuple[Architecture, Arrays, int]:
    """Architecture, weights by the generator's names, and training steps behind an ONNX file."""
    need("train", "reading the weights of an ONNX file", "torch", "onnx")
    from sfumato.adversary.invert.network import Generator

    session = open_session(path)
    model = importlib.import_module("onnx").load_model_from_string(read_network(Path(path), _WHAT))
    weights = _named(model.graph)
    shapes = {
        name: tuple(value.shape)
        for name, value in Generator(session.architecture).state_dict().items()
    }
    for name, shape in shapes.items():
        if name not in weights or weights[name].shape != shape:
            raise InvalidInput(
                f"{path} does not hold {name} as it was trained, so no run can start from it; "
                "start from the run that it was exported from."
            )
    return session.architecture, {name: weights[name] for name in shapes}, session.step or 0


def _named(graph: Any) -> Arrays:
    """Weights by name. Nodes come in the order in which they are computed."""
    stored = _stored(graph.initializer)
    named: Arrays = dict(stored)
    convolution = ""
    product: NDArray[Any] = np.zeros(0)
    for node in graph.node:
        inputs = [name for name in node.input if name in stored]
        if not inputs:
            continue
        values = stored[inputs[-1]]
        if node.op_type == "Conv":
            convolution = node.input[1]
        elif node.op_type == "MatMul":
            product = values
        elif node.op_type == "Add" and inputs[0].endswith(".bias"):
            named[inputs[0].removesuffix("bias") + "weight"] = product.T
        elif node.op_type in ("Mul", "Add") and convolution.endswith(".0.weight"):
            part = "weight" if node.op_type == "Mul" else "bias"
            named[convolution.removesuffix("0.weight") + f"1.{part}"] = values.reshape(-1)
    return named


def _stored(initializers: Any) -> Arrays:
    """All arrays as float32, under the names that the nodes use: see `export._compact`."""
    numbers = importlib.import_module("onnx").numpy_helper
    arrays = {one.name: numbers.to_array(one) for one in initializers}
    stored: Arrays = {}
    for name, values in arrays.items():
        base, _, how = name.rpartition(".")
        if how == "half":
            stored[base] = values.astype(np.float32)
        elif how == "q":
            scale = arrays.get(f"{base}.scale", np.zeros(0))
            if scale.shape == values.shape[:1]:
                stored[base] = values * scale.reshape(-1, *[1] * (values.ndim - 1))
        elif values.dtype == np.float32 and how != "scale":
            stored[name] = values.copy()  # views of the file cannot be written
    return stored
