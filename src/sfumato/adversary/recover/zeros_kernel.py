"""Sparse points of a subspace, compiled. `zeros.py` says what they are for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


@njit(cache=True, nogil=True)
def sparse_points(
    offset: Doubles,
    basis: Doubles,
    starts: Doubles,
    widest: float,
    narrowest: float,
    rate: float,
    forbid: float,
) -> Any:  # pragma: no cover - compiled
    """From each start (s, m) to a point offset + yᵀ·basis with many zeros and few negatives.

    Minimises Σ log(x² + δ²) by reweighted least squares while δ shrinks; a coordinate below
    −δ is pulled to zero with full weight. Returns the points, (s, n).
    """
    num_starts, dimension = starts.shape
    ambient = offset.shape[0]
    points = np.empty((num_starts, ambient))
    normal = np.empty((dimension, dimension))
    right = np.empty(dimension)
    weight = np.empty(ambient)
    weighted = np.empty(ambient)
    for s in range(num_starts):
        x = offset + basis.T @ starts[s]
        delta = widest
        while delta > narrowest:
            for i in range(ambient):
                weight[i] = 1 / (x[i] * x[i] + delta * delta)
                if x[i] < -delta:
                    weight[i] = forbid / (delta * delta)
                elif x[i] < 0:
                    weight[i] *= forbid
            for a in range(dimension):
                total = 0.0
                for i in range(ambient):
                    weighted[i] = basis[a, i] * weight[i]
                    total += weighted[i] * offset[i]
                right[a] = -total
                for b in range(a + 1):
                    total = 0.0
                    for i in range(ambient):
                        total += weighted[i] * basis[b, i]
                    normal[a, b] = total
                    normal[b, a] = total
            x = offset + basis.T @ np.linalg.solve(normal, right)
            delta *= rate
        points[s] = x
    return points
