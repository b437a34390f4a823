"""Tiles of distances merged into the smallest ones so far, compiled."""

from __future__ import annotations

from typing import Any

from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def update_minima(
    tile: Array,
    row_start: int,
    column_start: int,
    row_best: Array,
    row_arg: Array,
    column_best: Array,
    column_arg: Array,
) -> None:  # pragma: no cover - compiled
    """Merge a tile into the smallest value and its place, of each row and of each column."""
    rows, columns = tile.shape
    for i in range(rows):
        best, arg = row_best[i], row_arg[i]
        for j in range(columns):
            value = tile[i, j]
            if value < best:
                best, arg = value, column_start + j
            if value < column_best[column_start + j]:
                column_best[column_start + j] = value
                column_arg[column_start + j] = row_start + i
        row_best[i], row_arg[i] = best, arg


@njit(cache=True, nogil=True)
def update_smallest(
    tile: Array, column_start: int, best: Array, arg: Array
) -> None:  # pragma: no cover - compiled
    """Merge a tile into the k smallest values of each row, kept in ascending order."""
    rows, columns = tile.shape
    k = best.shape[1]
    for i in range(rows):
        worst = best[i, k - 1]
        for j in range(columns):
            value = tile[i, j]
            if value < worst:
                place = k - 1
                while place > 0 and best[i, place - 1] > value:
                    best[i, place], arg[i, place] = best[i, place - 1], arg[i, place - 1]
                    place -= 1
                best[i, place], arg[i, place] = value, column_start + j
                worst = best[i, k - 1]
