"""How many keypoints lie near places of the picture, compiled: asked for every pose of a query."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: So many keypoints around one place are looked at, spread over all of them; photographs have
#: fewer, and a crowd in one spot would take time without limit.
MOST_LOOKED_AT = 1024
_MOST_CELLS = 512  # along a side of the grid


@njit(cache=True, nogil=True)
def count_near(
    places: NDArray[np.float64], keypoints: NDArray[np.float64], radius: float
) -> int:  # pragma: no cover - compiled
    """Pairs of a place (n, 2), NaN for none, and a keypoint (k, 2) within the radius of it."""
    left, top = keypoints[:, 0].min(), keypoints[:, 1].min()
    span = max(keypoints[:, 0].max() - left, keypoints[:, 1].max() - top)
    size = max(radius, span / _MOST_CELLS)
    columns = int((keypoints[:, 0].max() - left) / size) + 1
    rows = int((keypoints[:, 1].max() - top) / size) + 1
    cell = np.empty(len(keypoints), dtype=np.int64)
    start = np.zeros(columns * rows + 1, dtype=np.int64)
    for i in range(len(keypoints)):
        x, y = int((keypoints[i, 0] - left) / size), int((keypoints[i, 1] - top) / size)
        cell[i] = y * columns + x
        start[cell[i] + 1] += 1
    for c in range(columns * rows):
        start[c + 1] += start[c]
    sorted_keypoints = np.empty_like(keypoints)
    filled = start[:-1].copy()
    for i in range(len(keypoints)):
        sorted_keypoints[filled[cell[i]]] = keypoints[i]
        filled[cell[i]] += 1
    total = 0
    for i in range(len(places)):
        across, down = (places[i, 0] - left) / size, (places[i, 1] - top) / size
        if not (-1 <= across < columns + 1 and -1 <= down < rows + 1):
            continue
        x, y = int(np.floor(across)), int(np.floor(down))
        first_column, last_column = max(x - 1, 0), min(x + 2, columns)
        if first_column >= last_column:
            continue
        first_row, last_row = max(y - 1, 0), min(y + 2, rows)
        around = 0
        for v in range(first_row, last_row):
            around += start[v * columns + last_column] - start[v * columns + first_column]
        step = 1 + max(around - 1, 0) // MOST_LOOKED_AT
        for v in range(first_row, last_row):
            for k in range(
                start[v * columns + first_column], start[v * columns + last_column], step
            ):
                dx = sorted_keypoints[k, 0] - places[i, 0]
                dy = sorted_keypoints[k, 1] - places[i, 1]
                if dx * dx + dy * dy <= radius * radius:
                    total += step
    return total
