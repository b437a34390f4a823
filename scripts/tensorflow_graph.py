"""Graphs of TensorFlow.js written again as ONNX, as far as `convert_nanodet.py` needs it.

Weights are read, what is constant is computed, and every other node becomes one of ONNX.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput

Array = NDArray[Any]

_OPSET = 17


def read_weights(model: dict[str, Any], data: bytes) -> dict[str, Array]:
    """Arrays by name; those kept as float16 become float32."""
    found: dict[str, Array] = {}
    at = 0
    for group in model["weightsManifest"]:
        for entry in group["weights"]:
            kept = entry.get("quantization", {}).get("dtype", entry["dtype"])
            if kept not in ("float16", "float32", "int32"):
                raise InvalidInput(f"weights of the kind {kept!r} are not read; only plain ones.")
            count = int(np.prod(entry["shape"], dtype=np.int64))
            end = at + count * np.dtype(kept).itemsize
            if end > len(data):
                raise InvalidInput(f"the weights end after {len(data):,} bytes; fetch them again.")
            values = np.frombuffer(data[at:end], dtype=kept).astype(entry["dtype"])
            found[entry["name"]] = values.reshape(entry["shape"])
            at = end
    return found


class Graph:
    """ONNX nodes, written one after the other; what is constant is known at once."""

    def __init__(self) -> None:
        import onnx

        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, values: Array) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants[name] = self._onnx.numpy_helper.from_array(
            np.ascontiguousarray(values), name
        )
        return name

    def add(self, operator: str, *inputs: str | Array, name: str = "", **attributes: Any) -> str:
        output = name or f"value_{len(self.nodes)}"
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(self._onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def split(self, value: str, sizes: Array, axis: int) -> list[str]:
        outputs = [f"value_{len(self.nodes)}_{i}" for i in range(len(sizes))]
        inputs = [value, self.constant(sizes.astype(np.int64))]
        self.nodes.append(self._onnx.helper.make_node("Split", inputs, outputs, axis=axis))
        return outputs

    def save(
        self, inputs: dict[str, list[int]], outputs: dict[str, list[int]], told: dict[str, str]
    ) -> bytes:
        """The bytes of a file with these inputs and outputs; told is its metadata."""
        onnx, helper = self._onnx, self._onnx.helper
        kind = onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes,
            "graph",
            [helper.make_tensor_value_info(*one) for one in _ports(inputs, kind)],
            [helper.make_tensor_value_info(*one) for one in _ports(outputs, kind)],
            list(self.constants.values()),
        )
        model = helper.make_model(
            graph, ir_version=9, opset_imports=[helper.make_opsetid("", _OPSET)]
        )
        helper.set_model_props(model, told)
        onnx.checker.check_model(model)
        made: bytes = model.SerializeToString()
        return made


def _ports(shapes: dict[str, list[int]], kind: Any) -> list[tuple[str, Any, list[int]]]:
    return [(name, kind, shape) for name, shape in shapes.items()]


class Translation:
    """One pass over a TensorFlow graph: every value is a name in the new graph, or an array.

    picture  what the one input of the graph is in the new one
    """

    def __init__(self, graph: Graph, weights: dict[str, Array], picture: str) -> None:
        self.graph, self._picture = graph, picture
        self.values: dict[str, str | Array] = dict(weights)

    def node(self, node: dict[str, Any]) -> None:
        """Translate one node, whose inputs were translated before."""
        operator = node["op"]
        if operator == "Const":
            return  # its value is among the weights
        if operator == "Placeholder":
            self.values[node["name"]] = self._picture
            return
        translate = _TRANSLATIONS.get(operator)
        if translate is None:
            raise InvalidInput(f"{node['name']} is a {operator}, which is not translated here.")
        inputs = [self._value(name) for name in node["input"]]
        made = translate(self.graph, node.get("attr", {}), *inputs)
        for i, value in enumerate(made if isinstance(made, list) else [made]):
            self.values[f"{node['name']}:{i}" if i else node["name"]] = value

    def _value(self, name: str) -> str | Array:
        if name not in self.values:
            raise InvalidInput(f"the graph uses {name} before it is made; fetch it again.")
        return self.values[name]


def _in_channels_first(
    graph: Graph, operator: str, value: str, *more: str | Array, **attributes: Any
) -> str:
    """TensorFlow has colours last, ONNX first; onnxruntime joins and drops the turns."""
    turned = graph.add("Transpose", value, perm=[0, 3, 1, 2])
    made = graph.add(operator, turned, *more, **attributes)
    return graph.add("Transpose", made, perm=[0, 2, 3, 1])


def _text(attributes: dict[str, Any], name: str) -> str:
    return base64.b64decode(attributes[name]["s"]).decode()


def _window(attributes: dict[str, Any], name: str) -> list[int]:
    return [int(number) for number in attributes[name]["list"]["i"][1:3]]


def _check_plain(attributes: dict[str, Any]) -> None:
    if _text(attributes, "padding") != "VALID" or _text(attributes, "data_format") != "NHWC":
        raise InvalidInput(
            "only layers without padding of their own, colours last, are translated."
        )


def _convolution(graph: Graph, attributes: dict[str, Any], value: str, kernel: Array) -> str:
    _check_plain(attributes)
    return _in_channels_first(
        graph,
        "Conv",
        value,
        kernel.transpose(3, 2, 0, 1),
        strides=_window(attributes, "strides"),
        dilations=_window(attributes, "dilations"),
    )


def _pool(graph: Graph, attributes: dict[str, Any], value: str) -> str:
    _check_plain(attributes)
    size, step = _window(attributes, "ksize"), _window(attributes, "strides")
    return _in_channels_first(graph, "MaxPool", value, kernel_shape=size, strides=step)


def _resize(graph: Graph, attributes: dict[str, Any], value: str, size: Array) -> str:
    if not attributes["half_pixel_centers"]["b"] or attributes["align_corners"]["b"]:
        raise InvalidInput("only enlarging around the centres of pixels is translated.")
    turned = graph.add("Transpose", value, perm=[0, 3, 1, 2])
    lengths = graph.add("Shape", turned, start=0, end=2)
    target = graph.add("Concat", lengths, size.astype(np.int64), axis=0)
    made = graph.add("Resize", turned, "", "", target, mode="linear")
    return graph.add("Transpose", made, perm=[0, 2, 3, 1])


def _pad(graph: Graph, _: Any, value: str, around: Array, filled: Array | None = None) -> str:
    fill = np.array(0 if filled is None else filled, dtype=np.float32)
    return graph.add("Pad", value, around.T.reshape(-1).astype(np.int64), fill)


def _sum(graph: Graph, _: Any, a: str | Array, b: str | Array) -> str | Array:
    if not isinstance(a, str) and not isinstance(b, str):
        return np.asarray(a + b)
    return graph.add("Add", a, b)


def _dense(_: Graph, __: Any, places: Array, shape: Array, values: Array, other: Array) -> Array:
    made = np.full(tuple(shape.tolist()), other)
    made[tuple(places.T)] = values
    return made


_TRANSLATIONS: dict[str, Callable[..., Any]] = {
    "Identity": lambda _, __, value: value,
    "Transpose": lambda graph, _, value, turn: graph.add("Transpose", value, perm=turn.tolist()),
    "Reshape": lambda graph, _, value, shape: graph.add("Reshape", value, shape.astype(np.int64)),
    "Sigmoid": lambda graph, _, value: graph.add("Sigmoid", value),
    "LeakyRelu": lambda graph, a, value: graph.add("LeakyRelu", value, alpha=a["alpha"]["f"]),
    "ConcatV2": lambda graph, _, *v: graph.add("Concat", *v[:-1], axis=int(v[-1])),
    "SplitV": lambda graph, _, value, sizes, axis: graph.split(value, sizes, int(axis)),
    "SparseToDense": _dense,
    "Conv2D": _convolution,
    "MaxPool": _pool,
    "ResizeBilinear": _resize,
    "Pad": _pad,
    "PadV2": _pad,
    "Add": _sum,
    "AddV2": _sum,
}
