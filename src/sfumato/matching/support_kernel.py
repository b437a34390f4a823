"""The inner loop of support counting, compiled. `support.py` says what it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Supporters of one match are counted up to this many; more make it no better.
MOST = 64
#: So many neighbours of one match are looked at, spread over all of them. Photographs have fewer
#: (802 at most in the gallery queries tried); a crowd in one spot would take time without limit.
MOST_LOOKED_AT = 1024


@njit(cache=True, nogil=True)
def count_in_grid(
    query: NDArray[np.float32],
    reference: NDArray[np.float32],
    position: NDArray[np.int64],
    radius: float,
    min_distance: float,
    max_stretch: float,
    min_cosine: float,
) -> tuple[NDArray[Any], int]:  # pragma: no cover - compiled
    """Supporters of each match, each query position once, and how many pairs were looked at.

    Neighbours are found in a grid.
    """
    n = len(query)
    left, top = query[:, 0].min(), query[:, 1].min()
    columns = int((query[:, 0].max() - left) / radius) + 1
    rows = int((query[:, 1].max() - top) / radius) + 1
    cell = np.empty(n, dtype=np.int64)
    start = np.zeros(columns * rows + 1, dtype=np.int64)
    for i in range(n):
        cell[i] = int((query[i, 1] - top) / radius) * columns + int((query[i, 0] - left) / radius)
        start[cell[i] + 1] += 1
    for c in range(columns * rows):
        start[c + 1] += start[c]
    order = np.empty(n, dtype=np.int64)
    filled = start[:-1].copy()
    for i in range(n):
        order[filled[cell[i]]] = i
        filled[cell[i]] += 1
    # Sorted by cell, so that neighbours lie side by side in memory.
    qs, rs, ps = query[order], reference[order], position[order]
    counts = np.zeros(n, dtype=np.int64)
    pairs = 0
    seen = np.empty(MOST, dtype=np.int64)
    longest = np.float32(radius * radius)
    shortest = np.float32(min_distance * min_distance)
    stretch = np.float32(max_stretch * max_stretch)
    cosine = np.float32(min_cosine)
    for a in range(n):
        found = 0
        c = cell[order[a]]
        x, y = c % columns, c // columns
        left_column, right_column = max(x - 1, 0), min(x + 2, columns)
        neighbours = 0
        for v in range(max(y - 1, 0), min(y + 2, rows)):
            neighbours += start[v * columns + right_column] - start[v * columns + left_column]
        step = 1 + (neighbours - 1) // MOST_LOOKED_AT
        for v in range(max(y - 1, 0), min(y + 2, rows)):
            first = start[v * columns + left_column]
            last = start[v * columns + right_column]
            pairs += (last - first + step - 1) // step
            for b in range(first, last, step):
                qx, qy = qs[b, 0] - qs[a, 0], qs[b, 1] - qs[a, 1]
                q = qx * qx + qy * qy
                rx, ry = rs[b, 0] - rs[a, 0], rs[b, 1] - rs[a, 1]
                r = rx * rx + ry * ry
                if q > longest or q <= shortest or r <= shortest:
                    continue
                if r > stretch * q or q > stretch * r:
                    continue
                if qx * rx + qy * ry < cosine * np.sqrt(q * r):
                    continue
                known = found == MOST
                for s in range(found):
                    if seen[s] == ps[b]:
                        known = True
                        break
                if not known:
                    seen[found] = ps[b]
                    found += 1
        counts[order[a]] = found
    return counts, pairs
