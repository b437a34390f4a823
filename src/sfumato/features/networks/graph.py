"""Writes ONNX: operators by name, constants as arrays, and the bytes of the file.

A message of protobuf is a list of (field number, value); the numbers are those of onnx.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The operators' version: the first that has GridSample, and old enough for every runtime.
OPSET = 17
_IR_VERSION = 8
_TYPES = {"float32": 1, "int64": 7, "bool": 9}

Shape = Sequence[int | str]


class Graph:
    """A network in the making; names of values are made up, those of ports are given."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._known: dict[tuple[str, bytes, tuple[int, ...]], str] = {}
        self._count = 0

    def input(self, name: str, dtype: str, shape: Shape) -> str:
        self._inputs.append(_port(name, dtype, shape))
        return name

    def output(self, name: str, value: str, dtype: str, shape: Shape) -> None:
        self._nodes.append(_node("Identity", [value], [name], {}))
        self._outputs.append(_port(name, dtype, shape))

    def constant(self, values: Any, dtype: str = "float32") -> str:
        """An array that is part of the file; the same one is stored once."""
        array = np.array(values, dtype=dtype, order="C")
        key = dtype, array.tobytes(), array.shape
        if key not in self._known:
            self._known[key] = self._new_name("constant")
            self._constants.append(_tensor(self._known[key], array))
        return self._known[key]

    def integers(self, *values: int) -> str:
        return self.constant(values, "int64")

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """One operator with one result."""
        return self.add_many(kind, 1, *inputs, **attributes)[0]

    def add_many(self, kind: str, results: int, *inputs: str, **attributes: Any) -> list[str]:
        names = [self._new_name(kind.lower()) for _ in range(results)]
        self._nodes.append(_node(kind, list(inputs), names, attributes))
        return names

    def convolution(
        self,
        value: str,
        weight: NDArray[np.float32],
        bias: NDArray[np.float32] | None = None,
        *,
        stride: int = 1,
        padding: int = 0,
        groups: int = 1,
    ) -> str:
        given = [self.constant(weight)] + ([] if bias is None else [self.constant(bias)])
        return self.add(
            "Conv",
            value,
            *given,
            kernel_shape=list(weight.shape[2:]),
            strides=[stride, stride],
            pads=[padding] * 4,
            group=groups,
        )

    def average(self, value: str, side: int) -> str:
        """Means of squares that do not overlap."""
        return self.add("AveragePool", value, kernel_shape=[side, side], strides=[side, side])

    def upsample(self, value: str, times: int, *, align_corners: bool) -> str:
        mode = "align_corners" if align_corners else "half_pixel"
        scales = self.constant([1, 1, times, times])
        return self.add(
            "Resize", value, "", scales, mode="linear", coordinate_transformation_mode=mode
        )

    def reshape(self, value: str, *shape: int) -> str:
        return self.add("Reshape", value, self.integers(*shape))

    def side(self, value: str, axis: int) -> str:
        """The length of an axis, as one whole number in an array of length 1."""
        return self.add("Gather", self.add("Shape", value), self.integers(axis), axis=0)

    def number(self, value: str) -> str:
        """Whole numbers as floats."""
        return self.add("Cast", value, to=_TYPES["float32"])

    def whole(self, value: str) -> str:
        """Floats or truths as whole numbers."""
        return self.add("Cast", value, to=_TYPES["int64"])

    def to_bytes(self, metadata: Mapping[str, str]) -> bytes:
        graph = _message(
            *((1, node) for node in self._nodes),
            (2, self._name),
            *((5, one) for one in self._constants),
            *((11, one) for one in self._inputs),
            *((12, one) for one in self._outputs),
        )
        notes = [(14, _message((1, key), (2, text))) for key, text in metadata.items()]
        return _message(
            (1, _IR_VERSION), (2, "sfumato"), (7, graph), (8, _message((1, ""), (2, OPSET))), *notes
        )

    def _new_name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count}"


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are stored as 64 bits
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _message(*fields: tuple[int, int | str | bytes]) -> bytes:
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(_varint(number << 3) + _varint(value))
        else:
            data = value.encode() if isinstance(value, str) else value
            parts.append(_varint(number << 3 | 2) + _varint(len(data)) + data)
    return b"".join(parts)


def _node(kind: str, inputs: list[str], outputs: list[str], attributes: Mapping[str, Any]) -> bytes:
    return _message(
        *((1, name) for name in inputs),
        *((2, name) for name in outputs),
        (4, kind),
        *((5, _attribute(name, value)) for name, value in attributes.items()),
    )


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return _message((1, name), (4, value), (20, 3))
    if isinstance(value, float):
        return _message((1, name), (20, 1)) + _varint(2 << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return _message((1, name), (3, value), (20, 2))
    return _message((1, name), *((8, int(one)) for one in value), (20, 7))


def _tensor(name: str, array: NDArray[Any]) -> bytes:
    sides = [(1, side) for side in array.shape]
    data = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return _message(*sides, (2, _TYPES[array.dtype.name]), (8, name), (9, data))


def _port(name: str, dtype: str, shape: Shape) -> bytes:
    sides = [(1, _message((1 if isinstance(side, int) else 2, side))) for side in shape]
    tensor = _message((1, _TYPES[dtype]), (2, _message(*sides)))
    return _message((1, name), (2, _message((1, tensor))))
