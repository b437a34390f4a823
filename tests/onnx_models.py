"""Small ONNX files for tests, written byte by byte: the package onnx is not needed to run sfumato.

Field numbers are those of onnx.proto; a message is a list of (number, value).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FLOAT = 1
Shape = Sequence[int | str]


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += _varint(number << 3) + _varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += _varint(number << 3 | 2) + _varint(len(data)) + data
    return out


def _port(name: str, shape: Shape) -> bytes:
    dims = [(1, message((1 if isinstance(n, int) else 2, n))) for n in shape]
    tensor = message((1, _FLOAT), (2, message(*dims)))
    return message((1, name), (2, message((1, tensor))))


def _tensor(name: str, values: NDArray[Any]) -> bytes:
    dims = [(1, int(n)) for n in values.shape]
    data = values.astype("<f4").tobytes()
    return message(*dims, (2, _FLOAT), (8, name), (9, data))


def node(kind: str, inputs: Sequence[str], output: str, *attributes: bytes) -> bytes:
    return message(
        *((1, name) for name in inputs), (2, output), (4, kind), *((5, a) for a in attributes)
    )


def integers(name: str, values: Sequence[int]) -> bytes:
    return message((1, name), *((8, value) for value in values), (20, 7))


def integer(name: str, value: int) -> bytes:
    return message((1, name), (3, value), (20, 2))


def real(name: str, value: float) -> bytes:
    return message((1, name), (20, 1)) + _varint(2 << 3 | 5) + struct.pack("<f", value)


def write_model(
    path: Path,
    nodes: Sequence[bytes],
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    *,
    tensors: Mapping[str, NDArray[Any]] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """A model of these nodes."""
    graph = message(
        *((1, item) for item in nodes),
        (2, "test"),
        *((5, _tensor(name, values)) for name, values in (tensors or {}).items()),
        *((11, _port(name, shape)) for name, shape in inputs.items()),
        *((12, _port(name, shape)) for name, shape in outputs.items()),
    )
    notes = [(14, message((1, k), (2, v))) for k, v in (metadata or {}).items()]
    path.write_bytes(message((1, 8), (7, graph), (8, message((1, ""), (2, 13))), *notes))
    return path


def constant_model(
    path: Path,
    answers: Sequence[NDArray[Any]],
    *,
    input_shape: Shape = (1, 3, 64, 64),
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """A model that answers the same, whatever it is shown."""
    names = [f"answer{i}" for i in range(len(answers))]
    return write_model(
        path,
        [node("Identity", [name], f"{name}_out") for name in names],
        {"images": input_shape},
        {f"{n}_out": a.shape for n, a in zip(names, answers, strict=True)},
        tensors=dict(zip(names, answers, strict=True)),
        metadata=metadata,
    )


def brightness_model(path: Path) -> Path:
    """A model that takes bright for text: the sigmoid of each pixel's largest colour."""
    return write_model(
        path,
        [
            node("ReduceMax", ["x"], "most", integers("axes", [1]), integer("keepdims", 1)),
            node("Sigmoid", ["most"], "out"),
        ],
        {"x": (1, 3, "h", "w")},
        {"out": (1, 1, "h", "w")},
    )


def face_model(path: Path, answers: Sequence[NDArray[Any]]) -> Path:
    """A model with the names CenterFace has; answers for pictures of 64×64, as (1, C, 16, 16)."""
    names = ("537", "538", "539", "540")
    pool = node("AveragePool", ["input.1"], "small", *_pool())
    zero = node("Mul", ["small", "nought"], "none")
    flat = node("ReduceMax", ["none"], "flat", integers("axes", [1]), integer("keepdims", 1))
    return write_model(
        path,
        [pool, zero, flat, *(node("Add", ["flat", f"a{n}"], n) for n in names)],
        {"input.1": (1, 3, 64, 64)},
        {n: a.shape for n, a in zip(names, answers, strict=True)},
        tensors={
            "nought": np.zeros((1,)),
            **{f"a{n}": a for n, a in zip(names, answers, strict=True)},
        },
    )


def _pool() -> tuple[bytes, bytes]:
    return integers("kernel_shape", [4, 4]), integers("strides", [4, 4])
