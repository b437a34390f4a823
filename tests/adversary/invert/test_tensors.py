"""safetensors without its package: a round trip, the layout, and damage."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.adversary.invert import tensors
from sfumato.core.errors import DamagedFile, InvalidInput

ARRAYS: dict[str, NDArray[Any]] = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "step": np.array(7.0, dtype=np.float32),
    "empty": np.empty((0, 4), dtype=np.float32),
    "count": np.array([3], dtype=np.int64),
}


def test_arrays_come_back_as_they_were() -> None:
    found, metadata = tensors.from_bytes(tensors.to_bytes(ARRAYS, {"part": "x"}))
    assert metadata == {"part": "x"}
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert np.array_equal(found[name], array)


def test_the_layout_is_that_of_the_format() -> None:
    data = tensors.to_bytes({"a": np.array([1.0], dtype=np.float32)})
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0
    header = json.loads(data[8 : 8 + length])
    assert header == {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    assert data[8 + length :] == struct.pack("<f", 1.0)


@pytest.mark.parametrize("length", [0, 7, 8, 40, -1])
def test_a_cut_file_is_refused(length: int) -> None:
    with pytest.raises(DamagedFile, match="safetensors file is damaged"):
        tensors.from_bytes(tensors.to_bytes(ARRAYS)[:length])


def test_a_lying_header_is_refused() -> None:
    for shape, offsets in ([[9], [0, 4]], [[1], [0, 400]], [[-1], [0, 4]], [[1], [4, 0]]):
        entry = {"a": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}
        text = json.dumps(entry).encode()
        with pytest.raises(DamagedFile):
            tensors.from_bytes(struct.pack("<Q", len(text)) + text + b"\0\0\0\0")


def test_other_types_are_refused() -> None:
    with pytest.raises(InvalidInput, match="complex128"):
        tensors.to_bytes({"a": np.zeros(1, dtype=np.complex128)})
