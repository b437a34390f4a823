"""The safetensors format, read and written with numpy: a JSON header, then plain bytes.

Nothing in such a file can run. Sizes are checked against the header before anything is used.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.files import parse_json

_TYPES = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "|u1"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}
_MAX_HEADER = 100_000_000


def to_bytes(
    tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> bytes:
    """Arrays by name as one safetensors file."""
    header: dict[str, Any] = {}
    if metadata:
        header["__metadata__"] = dict(metadata)
    parts: list[bytes] = []
    place = 0
    for name, array in tensors.items():
        if array.dtype not in _NAMES:
            raise InvalidInput(f"a tensor of {array.dtype} cannot be stored; use float32.")
        data = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [place, place + len(data)],
        }
        parts.append(data)
        place += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def from_bytes(data: bytes) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Arrays by name and the metadata; a file that does not add up is refused."""
    try:
        (length,) = struct.unpack_from("<Q", data)
        if length > min(len(data) - 8, _MAX_HEADER):
            raise ValueError("header longer than the file")
        header = parse_json(data[8 : 8 + length])
        metadata = header.pop("__metadata__", {})
        body = memoryview(data)[8 + length :]
        tensors = {name: _tensor(entry, body) for name, entry in header.items()}
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise DamagedFile(
            "the safetensors file is damaged: header and length do not fit; restore it."
        ) from None
    return tensors, metadata


def _tensor(entry: Mapping[str, Any], body: memoryview) -> NDArray[Any]:
    low, high = entry["data_offsets"]
    dtype = np.dtype(_TYPES[entry["dtype"]])
    shape = tuple(int(side) for side in entry["shape"])
    if min(shape, default=0) < 0 or not 0 <= low <= high <= len(body):
        raise ValueError("offsets outside the file")
    return np.frombuffer(body[low:high], dtype=dtype).reshape(shape).copy()
