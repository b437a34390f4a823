"""Small ONNX files, written byte by byte: tests need no package that writes them.

The networks here have the inputs of an inversion network and paint, wherever a block has
keypoints, the mean of their rows: simple enough to know the answer.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.export import METADATA

FLOAT, INT64 = 1, 7
Shape = tuple[int | str, ...]


def save_painter(path: Path, architecture: Architecture | None = None, **change: Any) -> Path:
    """A network that paints the mean of the rows near each block, for this architecture."""
    path.write_bytes(painter_bytes(architecture or Architecture(), **change))
    return path


def painter_bytes(
    architecture: Architecture,
    *,
    said: Any = None,
    colours: int = 3,
    real_channels: int | None = None,
    has_offsets: bool = True,
) -> bytes:
    """The same as bytes.

    said           what the file tells of itself, instead of the truth
    colours        how many it paints
    real_channels  columns of rows it really takes
    """
    a = architecture
    told = {"architecture": a.to_json(), "step": 7} if said is None else said
    channels = a.channels if real_channels is None else real_channels
    place = ("h", "w")
    inputs = {
        "rows": (FLOAT, ("n", channels)),
        "index": (INT64, (1, a.map_options.slots, *place)),
        "offsets": (FLOAT, (1, a.map_options.slots, a.map_options.coordinates, *place)),
    }
    if not has_offsets:
        del inputs["offsets"]
    nodes = [
        _node("Gather", ["rows", "index"], "near", axis=0),
        _node("ReduceMean", ["near"], "mean", axes=[1, 4], keepdims=0),
        _node("Unsqueeze", ["mean", "one"], "gray"),
        _node("Concat", ["gray"] * colours, "small", axis=1),
        _node(
            "Resize",
            ["small", "", "twice"],
            "picture",
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
    ]
    graph = b"".join(
        [
            *(_field(1, node) for node in nodes),
            _field(2, b"painter"),
            _field(5, _tensor("one", INT64, (1,), struct.pack("<q", 1))),
            _field(5, _tensor("twice", FLOAT, (4,), struct.pack("<4f", 1, 1, 2, 2))),
            *(_field(11, _value(name, *form)) for name, form in inputs.items()),
            _field(12, _value("picture", FLOAT, (1, colours, "H", "W"))),
        ]
    )
    text = told if isinstance(told, str) else json.dumps(told)
    return b"".join(
        [
            _number(1, 8),
            _field(7, graph),
            _field(8, _field(1, b"") + _number(2, 17)),
            _field(14, _field(1, METADATA.encode()) + _field(2, text.encode())),
        ]
    )


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _node(kind: str, inputs: list[str], output: str, **attributes: Any) -> bytes:
    parts = [_field(1, name.encode()) for name in inputs]
    parts += [_field(2, output.encode()), _field(4, kind.encode())]
    return b"".join([*parts, *(_field(5, _attribute(*item)) for item in attributes.items())])


def _attribute(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        content, kind = _field(4, value.encode()), 3
    elif isinstance(value, list):
        content, kind = b"".join(_number(8, item) for item in value), 7
    else:
        content, kind = _number(3, value), 2
    return _field(1, name.encode()) + content + _number(20, kind)


def _tensor(name: str, kind: int, shape: tuple[int, ...], data: bytes) -> bytes:
    sides = b"".join(_number(1, side) for side in shape)
    return sides + _number(2, kind) + _field(8, name.encode()) + _field(9, data)


def _value(name: str, kind: int, shape: Shape) -> bytes:
    sides = b"".join(
        _field(1, _number(1, side) if isinstance(side, int) else _field(2, side.encode()))
        for side in shape
    )
    tensor = _number(1, kind) + _field(2, sides)
    return _field(1, name.encode()) + _field(2, _field(1, tensor))
