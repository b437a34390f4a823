"""Unsigned integers packed to as few bits as they need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHUNK = 1 << 16  # values packed at a time; a multiple of 8, so chunks end on whole bytes


def bit_width(num_values: int) -> int:
    """Bits that hold every index below num_values."""
    return max(num_values - 1, 1).bit_length()


def packed_length(count: int, num_values: int) -> int:
    """Bytes that hold `count` indices below num_values."""
    return (count * bit_width(num_values) + 7) // 8


def pack_bits(values: NDArray[Any], width: int) -> bytes:
    """Pack unsigned integers of `width` bits one behind the other, high bit first."""
    flat = np.ascontiguousarray(values, dtype=np.uint32).ravel()
    shifts = np.arange(width - 1, -1, -1, dtype=np.uint32)
    parts = [
        np.packbits((flat[i : i + _CHUNK, None] >> shifts & 1).astype(np.uint8)).tobytes()
        for i in range(0, len(flat), _CHUNK)
    ]
    return b"".join(parts)


def unpack_bits(data: memoryview | bytes, count: int, width: int) -> NDArray[np.uint32]:
    """Undo `pack_bits`."""
    packed = np.frombuffer(data, dtype=np.uint8)
    out = np.empty(count, dtype=np.uint32)
    for i in range(0, count, _CHUNK):
        size = min(_CHUNK, count - i)
        start = i * width // 8
        stream = np.unpackbits(packed[start : start + (size * width + 7) // 8])
        bits = stream[: size * width].reshape(size, width)
        chunk = np.zeros(size, dtype=np.uint32)
        for column in range(width):
            chunk <<= np.uint32(1)
            chunk |= bits[:, column]
        out[i : i + size] = chunk
    return out
