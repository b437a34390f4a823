"""Directions and rotations: the few lines of linear algebra that every part needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def unit_vectors(vectors: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
    """Vectors along the last axis, scaled to length one; a zero vector stays zero."""
    values = np.asarray(vectors, dtype=dtype)
    length = np.linalg.norm(values, axis=-1, keepdims=True)
    return np.asarray(values / np.where(length > 0, length, 1), dtype=dtype)


def is_rotation(matrix: NDArray[np.float64], slack: float) -> bool:
    """Whether a (3, 3) matrix is a proper rotation, up to this error of R·Rᵀ."""
    if np.abs(matrix).max() > 2:
        return False  # its product could overflow to NaN, which is larger than no error
    error = np.abs(matrix @ matrix.T - np.eye(3)).max()
    return bool(error <= slack and np.linalg.det(matrix) > 0)


def nearest_rotation(matrix: NDArray[Any]) -> NDArray[np.float64]:
    """The rotation nearest to a (3, 3) matrix that is one up to rounding."""
    left, _, right = np.linalg.svd(np.asarray(matrix, dtype=np.float64))
    return np.asarray(left @ right)


def cross_matrix(vector: NDArray[Any]) -> NDArray[np.float64]:
    """[v]ₓ, the (3, 3) matrix whose product with w is v × w."""
    x, y, z = vector
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
