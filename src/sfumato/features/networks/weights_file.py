"""Weights from a file: safetensors, read here, or a state dict of torch where torch is installed.

safetensors: eight bytes with the length of a JSON table, the table (name: dtype, shape, from where
to where), then the numbers. Nothing in such a file can be run.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.files import parse_json, read_limited

#: The largest of the networks has 3 MB; a hundred times that is another thing.
MAX_BYTES = 300_000_000
_MAX_TABLE = 1_000_000
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}
_TORCH_SUFFIXES = (".pth", ".pt")


def read_weights(path: str | Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file of weights, by name; nothing in the file is run."""
    path = Path(path)
    if not path.is_file():
        raise Missing(f"there is no file of weights at {path}; name another one.")
    if path.suffix.lower() in _TORCH_SUFFIXES:
        from sfumato.features.learned import read_state_dict

        return read_state_dict(path)
    try:
        data = read_limited(path, MAX_BYTES, what="file of weights")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    try:
        return _parse(data)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InvalidInput(
            f"{path} is no file of weights in the form of safetensors; give one, or a state dict "
            "of torch as .pth."
        ) from None


def _parse(data: bytes) -> dict[str, NDArray[Any]]:
    length = int.from_bytes(data[:8], "little")
    if not 2 <= length <= min(_MAX_TABLE, len(data) - 8):
        raise ValueError("no table")
    table = parse_json(data[8 : 8 + length])
    body = data[8 + length :]
    arrays = {}
    for name, about in table.items():
        if name == "__metadata__":
            continue
        shape = tuple(about["shape"])
        if not all(type(side) is int and side >= 0 for side in shape):
            raise ValueError("no shape")
        start, end = about["data_offsets"]
        dtype = np.dtype(_DTYPES[about["dtype"]])
        count = math.prod(shape)
        if not 0 <= start <= end <= len(body) or end - start != count * dtype.itemsize:
            raise ValueError("another length")
        arrays[name] = np.frombuffer(body, dtype, count, start).reshape(shape)
    return arrays
