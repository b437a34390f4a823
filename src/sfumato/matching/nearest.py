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
    a, b = _as_floats("query", query), np.asarray(reference)
    if a.shape[1] != b.shape[1]:
        raise Mismatch(f"descriptors of {a.shape[1]} and {b.shape[1]} dimensions have no distance.")
    if not len(a) or not len(b):
        return _no_pairs()
    rows = np.arange(len(a))
    if max_ratio is None:
        nearest = nearest_of(a, b)[1]
    else:
        distance, index = _nearest(a, b, min(2, len(b)))
        if len(b) > 1:
            rows = rows[distance[:, 0] <= max_ratio**2 * distance[:, 1]]
        nearest = index[rows, 0]
    # Only the references that were chosen need to look back.
    chosen, place = np.unique(nearest, return_inverse=True)
    mutual = nearest_back(b[chosen], a)[place] == rows
    return rows[mutual].astype(np.int64), nearest[mutual].astype(np.int64)


def nearest_of(query: NDArray[Any], reference: NDArray[Any]) -> tuple[NDArray[np.float64], Rows]:
    """Of every query its squared distance to the nearest reference, and that one's row.

    The first of equals, and the distance is computed again in double precision: both are the same
    whichever other references there are, so that parts of them can be asked one by one.
    """
    query = _as_floats("query", query)
    if not len(reference):
        return np.full(len(query), np.inf), np.zeros(len(query), dtype=np.int64)
    _, index = _nearest(query, reference, min(2, len(reference)))
    index = np.sort(index, axis=1)
    away = np.asarray(reference)[index].astype(np.float64) - query[:, None].astype(np.float64)
    distance = np.square(away, out=away).sum(axis=2)
    best = distance.argmin(axis=1)[:, None]
    return (
        np.take_along_axis(distance, best, axis=1)[:, 0],
        np.take_along_axis(index, best, axis=1)[:, 0],
    )


def nearest_back(chosen: NDArray[Any], query: NDArray[Any]) -> Rows:
    """Of every chosen reference the query that is nearest to it."""
    import faiss

    query = _as_floats("query", query)
    if not len(chosen):
        return np.zeros(0, dtype=np.int64)
    return np.asarray(faiss.knn(_as_floats("reference", chosen), query, 1)[1][:, 0])


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
