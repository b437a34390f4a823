"""Training descriptors grouped into coarse cells, so that each meets only nearby words.

The cells are made once from the descriptors themselves and stay; the words move. Rows are
stored cell after cell, so every cell is one contiguous block and one matrix product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dictionary.vectors import (
    Floats,
    Space,
    best_words,
    query_side,
    squared_distances,
    word_side,
)
from sfumato.execution import Shared, current

POINTS_PER_CELL = 512
WORDS_PER_CELL = 16
MAX_CELLS = 2048
CHUNK = 1024  # rows compared in one product
_GROUPED = 16 * CHUNK  # rows that one worker groups at a time

_TRAINING_POINTS = 64  # per cell
_TRAINING_ITERATIONS = 5


@dataclass(frozen=True)
class Cells:
    """Rows sorted by coarse cell; cell c holds rows offsets[c] to offsets[c+1].

    order  (N,)    where each sorted row stood before
    costs  (G,)    summed squared distance of a cell's rows to its centre
    """

    rows: NDArray[Any]
    order: NDArray[np.int64]
    offsets: NDArray[np.int64]
    centres: Floats
    costs: NDArray[np.float64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def occupied(self) -> Iterator[tuple[int, slice]]:
        """Every cell that holds rows, with its place."""
        for cell in np.flatnonzero(self.sizes):
            yield int(cell), slice(int(self.offsets[cell]), int(self.offsets[cell + 1]))


def make_cells(
    descriptors: NDArray[Any],
    num_words: int,
    space: Space,
    rng: np.random.Generator,
    folder: Path | None = None,
) -> Cells:
    """Group the descriptors around centres found by a short k-means on a sample."""
    # Words are seeded cell by cell: with few of them to a cell, whole shares would be unfair.
    most = min(len(descriptors) // POINTS_PER_CELL, num_words // WORDS_PER_CELL, MAX_CELLS)
    centres = _train(descriptors, max(1, most), space, rng)
    with current().share(descriptors) as shared:
        cell, costs, sums = _group(shared, len(descriptors), centres, space)
    sizes = np.bincount(cell, minlength=len(centres))
    order = np.argsort(cell, kind="stable")
    return Cells(
        rows=sorted_rows(descriptors, order, folder),
        order=order,
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        centres=(sums / np.maximum(sizes, 1)[:, None]).astype(np.float32),
        costs=costs,
    )


def sorted_rows(
    descriptors: NDArray[Any], order: NDArray[np.int64], folder: Path | None
) -> NDArray[Any]:
    """The descriptors in this order: in memory, or in a file of the folder, mapped."""
    if folder is None:
        return np.asarray(descriptors[order])
    made: Any = np.lib.format.open_memmap(
        folder / "rows.npy", mode="w+", dtype=descriptors.dtype, shape=descriptors.shape
    )
    for low in range(0, len(order), _GROUPED):
        made[low : low + _GROUPED] = descriptors[order[low : low + _GROUPED]]
    made.flush()
    return np.asarray(np.load(folder / "rows.npy", mmap_mode="r"))


def _train(descriptors: NDArray[Any], count: int, space: Space, rng: np.random.Generator) -> Floats:
    size = min(len(descriptors), _TRAINING_POINTS * count)
    # Sorted, so that a memory-mapped file is read from front to back.
    sample = np.sort(rng.choice(len(descriptors), size=size, replace=False))
    points = space.vectors(descriptors[sample])
    centres = points[rng.choice(size, size=count, replace=False)]
    with current().share(points) as shared:
        for _ in range(_TRAINING_ITERATIONS):
            cell, _, sums = _group(shared, size, centres, Space())
            sizes = np.bincount(cell, minlength=count)
            # An empty cell keeps its centre: cells only steer the search, some may stay empty.
            centres[sizes > 0] = sums[sizes > 0] / sizes[sizes > 0, None]
    return centres


def _group(
    rows: Shared[NDArray[Any]], count: int, centres: Floats, space: Space
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """The nearest centre of each row; the cost and the sum of the rows of each centre."""
    cell = np.empty(count, dtype=np.int32)
    costs = np.zeros(len(centres))
    sums = np.zeros(centres.shape)
    starts = range(0, count, _GROUPED)
    found = current().map(_group_part, starts, rows, word_side(centres), space)
    for low, (top, cost, added) in zip(starts, found, strict=True):
        cell[low : low + _GROUPED] = top
        costs += cost
        sums += added
    return cell, costs, sums


def _group_part(
    rows: NDArray[Any], side: Floats, space: Space, first: int
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """The same for the rows from `first` on that one worker takes."""
    found = []
    costs = np.zeros(len(side))
    sums = np.zeros((len(side), side.shape[1] - 1))
    for low in range(first, min(first + _GROUPED, len(rows)), CHUNK):
        vectors = space.vectors(rows[low : low + CHUNK])
        top, score = best_words(query_side(vectors), side)
        found.append(top.astype(np.int32))
        costs += np.bincount(top, squared_distances(vectors, score), minlength=len(side))
        sums += group_sums(vectors, top, np.bincount(top, minlength=len(side)))
    return np.concatenate(found), costs, sums


def group_sums(points: Floats, group: NDArray[np.intp], sizes: NDArray[np.int64]) -> Floats:
    """Sum the points of each group, in their order, so that the result is reproducible."""
    from scipy.sparse import csr_array  # late: importing a dictionary stays light

    members = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ones = np.ones(len(points), dtype=np.float32)
    matrix = csr_array((ones, members, starts), shape=(len(sizes), len(points)))
    return np.asarray(matrix @ points)
