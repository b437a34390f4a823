"""Unit vectors and the corners of a cube: a public turn, and back.

A vector of n numbers is padded with zeros to a power of two L ≥ n and turned by a fixed, public
rotation, so that no coordinate is special. The corners {−1, +1}^L all have length √L: they are
points of a sphere that a computer can count. Everything here is public and costs no privacy.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count

Doubles = NDArray[np.float64]

#: Fewer corners than 2^16 would quantise coarsely, more than 2^1024 take long to count.
MIN_LENGTH, MAX_LENGTH = 16, 1024


def corner_length(dimension: int) -> int:
    """L: how many signs stand for a vector of so many numbers.

    >>> from sfumato.core.cube import corner_length
    >>> corner_length(128), corner_length(100), corner_length(2)
    (128, 128, 16)
    """
    check_count("dimension", dimension, low=2, high=MAX_LENGTH, why="project longer vectors first")
    return max(1 << (dimension - 1).bit_length(), MIN_LENGTH)


def turn(vectors: NDArray[Any]) -> Doubles:
    """(N, n) → (N, L): the vectors, padded and turned; lengths and angles stay as they are."""
    rows, dimension = vectors.shape
    length = corner_length(dimension)
    padded = np.zeros((rows, length))
    padded[:, :dimension] = vectors
    first, second = _signs(length)
    return _hadamard(_hadamard(padded * first) * second)


def turn_back(corners: NDArray[Any], dimension: int) -> Doubles:
    """(N, L) → (N, n): undo `turn`, and leave the padding out."""
    first, second = _signs(corners.shape[1])
    back = _hadamard(_hadamard(np.asarray(corners, dtype=np.float64)) * second) * first
    return np.ascontiguousarray(back[:, :dimension])


@lru_cache(maxsize=16)
def _signs(length: int) -> tuple[Doubles, Doubles]:
    """Two rows of signs, the same on every machine: bits of SHAKE-256 of a fixed text."""
    stream = hashlib.shake_256(f"sfumato cube {length}".encode()).digest(length // 4)
    bits = np.unpackbits(np.frombuffer(stream, dtype=np.uint8)).astype(np.float64)
    first, second = (2 * bits - 1).reshape(2, length)
    return first, second


def _hadamard(rows: Doubles) -> Doubles:
    """Rows times the Walsh–Hadamard matrix, scaled to keep lengths: its own inverse."""
    count, length = rows.shape
    values = np.array(rows, dtype=np.float64)
    step = 1
    while step < length:
        pairs = values.reshape(count, length // (2 * step), 2, step)
        upper, lower = pairs[:, :, 0].copy(), pairs[:, :, 1].copy()
        pairs[:, :, 0], pairs[:, :, 1] = upper + lower, upper - lower
        step *= 2
    return np.asarray(values / np.sqrt(length))
