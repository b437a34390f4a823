"""The point of a subspace with the most zeros, for descriptors that are on no lattice.

A non-negative descriptor with many exact zeros is a highly degenerate vertex of the polytope
{x = d0 + Dᵀy : x ≥ 0}: far more than m of its facets meet there, as they do at hardly any
other point. Minimising Σ log(x_i² + δ²) from many starts visits such points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.zeros_kernel import sparse_points

Doubles = NDArray[np.float64]

_WIDEST, _RATE = 0.1, 0.6  # δ at first, and its ratio from one step to the next
_FORBID = 100.0  # weight of a negative coordinate against that of a zero
_FAULT = 5  # zeros that one negative coordinate, or a wrong length, outweighs


@dataclass(frozen=True)
class Sparse:
    """A point (n,) of unit length, and its zeros beyond the m that any vertex has."""

    point: Doubles
    surplus: int


def sparsest_point(offset: Doubles, basis: Doubles, starts: Doubles, tolerance: float) -> Sparse:
    """The best of the points reached from directions `starts` (s, m), as a unit vector.

    offset (n,) orthogonal to basis (m, n). A coordinate within `tolerance` counts as zero; a
    point with a negative coordinate or not of unit length has no surplus.
    """
    radius = np.sqrt(max(1 - float(offset @ offset), 1e-4))  # the subspace meets the sphere
    points = sparse_points(offset, basis, starts * radius, _WIDEST, tolerance / 10, _RATE, _FORBID)
    length = np.linalg.norm(points, axis=1)
    points /= np.maximum(length, 1e-12)[:, None]
    zeros = (np.abs(points) < tolerance).sum(axis=1)
    faults = np.minimum((points < -tolerance).sum(axis=1), 5) + (
        np.abs(length - 1) > 10 * tolerance
    )
    best = int(np.argmax(zeros - _FAULT * faults))
    point = points[best] if length[best] > 1e-9 else np.eye(len(offset))[0]
    return Sparse(point, 0 if faults[best] else int(zeros[best]) - len(basis))
