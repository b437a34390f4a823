"""Nearest neighbours between descriptors; `subspace.py` has those between subspaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_finite
from sfumato.core.errors import Mismatch

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

_BLOCK = 1 << 16  # references compared at a time


def mutual_nearest(
    query: NDArray[Any], reference: NDArray[Any], *, max_ratio: float | None = None
) -> tuple[Rows, Rows]:
    """Pairs (query row, reference row) that are each other's nearest, by L2 distance.

    With max_ratio, the nearest must also be that much nearer than the second nearest.
    """
    import faiss

    a, b = _as_floats("query", query), np.asarray(reference)
    if a.shape[1] != b.shape[1]:
        raise Mismatch(f"descriptors of {a.shape[1]} and {b.shape[1]} dimensions have no distance.")
    if not len(a) or not len(b):
        return _no_pairs()
    neighbours = min(2 if max_ratio is not None else 1, len(b))
    distance, index = _nearest(a, b, neighbours)
    rows = np.arange(len(a))
    if max_ratio is not None and neighbours == 2:
        rows = rows[distance[:, 0] <= max_ratio**2 * distance[:, 1]]
    nearest = index[rows, 0]
    # Only the references that were chosen need to look back.
    chosen, place = np.unique(nearest, return_inverse=True)
    back = faiss.knn(_as_floats("reference", b[chosen]), a, 1)[1][:, 0] if len(chosen) else chosen
    mutual = back[place] == rows
    return rows[mutual].astype(np.int64), nearest[mutual].astype(np.int64)


def _nearest(a: Floats, b: NDArray[Any], count: int) -> tuple[Floats, Rows]:
    """Squared distances and places of the nearest, nearest first.

    References become floats a block at a time: a map of a million bytes-wide descriptors would
    otherwise take four times its size again for every query.
    """
    import faiss

    distances, places = [], []
    for start in range(0, len(b), _BLOCK):
        block = _as_floats("reference", b[start : start + _BLOCK])
        distance, place = faiss.knn(a, block, min(count, len(block)))
        distances.append(distance)
        places.append(place + start)
    if len(places) == 1:
        return distances[0], places[0]
    every, where = np.concatenate(distances, axis=1), np.concatenate(places, axis=1)
    best = np.argsort(every, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(every, best, axis=1), np.take_along_axis(where, best, axis=1)


def _as_floats(name: str, values: NDArray[Any]) -> Floats:
    array = np.ascontiguousarray(values, dtype=np.float32)
    check_finite(name, array)
    return array


def _no_pairs() -> tuple[Rows, Rows]:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
