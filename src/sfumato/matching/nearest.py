"""Nearest neighbours between descriptors, and between descriptors and subspaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_finite
from sfumato.core.errors import Mismatch

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

_BLOCK = 1 << 24  # distances held at once: 64 MiB


def mutual_nearest(
    query: NDArray[Any], reference: NDArray[Any], *, max_ratio: float | None = None
) -> tuple[Rows, Rows]:
    """Pairs (query row, reference row) that are each other's nearest, by L2 distance.

    With max_ratio, the nearest must also be that much nearer than the second nearest.
    """
    import faiss

    a, b = _as_floats("query", query), _as_floats("reference", reference)
    if a.shape[1] != b.shape[1]:
        raise Mismatch(f"descriptors of {a.shape[1]} and {b.shape[1]} dimensions have no distance.")
    if not len(a) or not len(b):
        return _no_pairs()
    neighbours = min(2 if max_ratio is not None else 1, len(b))
    distance, index = faiss.knn(a, b, neighbours)
    rows = np.arange(len(a))
    if max_ratio is not None and neighbours == 2:
        rows = rows[distance[:, 0] <= max_ratio**2 * distance[:, 1]]
    nearest = index[rows, 0]
    # Only the references that were chosen need to look back.
    chosen, place = np.unique(nearest, return_inverse=True)
    back = faiss.knn(b[chosen], a, 1)[1][:, 0] if len(chosen) else chosen
    mutual = back[place] == rows
    return rows[mutual].astype(np.int64), nearest[mutual].astype(np.int64)


def mutual_nearest_subspaces(
    offsets: Floats, bases: Floats, points: NDArray[Any]
) -> tuple[Rows, Rows]:
    """Pairs (subspace, point) that are each other's nearest.

    ‖e − d0‖² − ‖D(e − d0)‖² with orthonormal D: offsets (N, n), bases (N, m, n), points (P, n).
    """
    e = _as_floats("points", points)
    if e.shape[1] != offsets.shape[1]:
        raise Mismatch(
            f"subspaces of {offsets.shape[1]} dimensions and points of {e.shape[1]} have no "
            "distance."
        )
    if not len(offsets) or not len(e):
        return _no_pairs()
    d0, basis = _canonical(offsets, bases)
    nearest = _nearest_points(d0, basis, e)
    chosen, place = np.unique(nearest, return_inverse=True)
    back = _squared(d0, basis, e[chosen]).argmin(axis=0)
    rows = np.arange(len(d0))
    mutual = back[place] == rows
    return rows[mutual], nearest[mutual]


def unit_length(descriptors: NDArray[Any]) -> Floats:
    """Descriptors scaled to length one; a zero stays zero."""
    values = descriptors.astype(np.float32)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _nearest_points(d0: Floats, basis: Floats, points: Floats) -> Rows:
    best = np.full(len(d0), np.inf, dtype=np.float32)
    nearest = np.zeros(len(d0), dtype=np.int64)
    step = max(_BLOCK // max(len(d0) * (basis.shape[1] + 1), 1), 1)
    for start in range(0, len(points), step):
        distance = _squared(d0, basis, points[start : start + step])
        index = distance.argmin(axis=1)
        value = distance[np.arange(len(d0)), index]
        closer = value < best
        best[closer], nearest[closer] = value[closer], index[closer] + start
    return nearest


def _squared(d0: Floats, basis: Floats, points: Floats) -> Floats:
    """Squared distances (subspaces, points); d0 is orthogonal to its basis."""
    count, dimension, ambient = basis.shape
    inside = (basis.reshape(-1, ambient) @ points.T).reshape(count, dimension, len(points))
    distance = (d0**2).sum(axis=1)[:, None] + (points**2).sum(axis=1)[None]
    distance -= 2 * d0 @ points.T
    distance -= np.einsum("nmp,nmp->np", inside, inside)
    return np.asarray(np.maximum(distance, 0), dtype=np.float32)


def _canonical(offsets: NDArray[Any], bases: NDArray[Any]) -> tuple[Floats, Floats]:
    """The point of each subspace nearest to the origin; anyone can compute it."""
    d0, basis = offsets.astype(np.float32), bases.astype(np.float32)
    along = np.einsum("nmd,nd->nm", basis, d0)
    return d0 - np.einsum("nm,nmd->nd", along, basis), basis


def _as_floats(name: str, values: NDArray[Any]) -> Floats:
    array = np.ascontiguousarray(values, dtype=np.float32)
    check_finite(name, array)
    return array


def _no_pairs() -> tuple[Rows, Rows]:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
