"""k-means for very many words: each descriptor meets only the words near its coarse cell.

One iteration of exact k-means compares N descriptors with all K words. Here a cell of about
500 descriptors is compared, in one matrix product, with the T words nearest to its centre
and with every word one of its descriptors has now. Because the present word is always among
the candidates, the error never rises by the approximation; with K ≤ T it is exact k-means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.core.progress import Progress, silent
from sfumato.core.threads import single_threaded_products
from sfumato.dictionary.cells import CHUNK, Cells, group_sums, make_cells
from sfumato.dictionary.seeding import start_rows
from sfumato.dictionary.vectors import (
    Floats,
    Space,
    best_words,
    query_side,
    squared_distances,
    word_side,
)
from sfumato.execution import Shared, current

CANDIDATES = 2048  # T
_CELL_BLOCK = 16  # cells that one worker takes at a time


@dataclass(frozen=True)
class Clustering:
    """What k-means has reached after some iterations.

    words       (K, d) float32, the mean of their descriptors (unit length if spherical)
    assignment  (N,) int32, the word of each descriptor when the words were last moved
    errors      mean squared distance to the assigned word, one per iteration, before the move
    reseeded    how often an empty word was given a new place
    """

    words: Floats
    assignment: NDArray[np.int32]
    errors: tuple[float, ...] = ()
    reseeded: int = 0

    @property
    def iteration(self) -> int:
        return len(self.errors)


#: Called with the coarse cells' order and each new clustering, in that order of rows.
Keep = Callable[[Cells, Clustering], None]


def cluster(
    descriptors: NDArray[Any],
    num_words: int,
    *,
    space: Space | None = None,
    start: str = "kmeans++",
    iterations: int = 10,
    seed: int = 0,
    progress: Progress = silent,
    keep: Keep | None = None,
    resume: tuple[Cells, Clustering] | None = None,
    weights: NDArray[Any] | None = None,
    folder: Path | None = None,
) -> Clustering:
    """Find `num_words` words for (N, D) descriptors; assignment is in their order.

    `weights` (N,) say how often each descriptor counts in a mean, by default once. The same
    descriptors and seed give the same words to the last bit on the same machine, also when a
    run is stopped and taken up again with what `keep` was given last.

    folder  where sorted descriptors are kept, for workers elsewhere and to save memory here
    """
    space = space or Space()
    check_count("iterations", iterations, low=1)
    num_words = check_count("num_words", num_words, low=2)
    if num_words > len(descriptors):
        raise InvalidInput(
            f"{num_words} words need at least as many descriptors, got {len(descriptors)}; "
            "ask for fewer words or give more pictures."
        )
    with single_threaded_products(), ExitStack() as stack:
        if resume is None:
            rng = np.random.default_rng(seed)
            progress("grouping", 0, 1)
            cells = make_cells(descriptors, num_words, space, rng, folder)
            rows = start_rows(cells, num_words, start, space, rng)
            progress("grouping", 1, 1)
            state = first_words(cells, rows, space)
        else:
            cells, state = resume
        counts = None if weights is None else np.asarray(weights, np.float32)[cells.order]
        rows_there = stack.enter_context(current().share(cells.rows))
        counts_there = stack.enter_context(current().share(counts))
        progress("clustering", state.iteration, iterations)
        while state.iteration < iterations:
            state = iterate(cells, state, space, rows_there, counts_there)
            if keep is not None:
                keep(cells, state)
            progress("clustering", state.iteration, iterations)
    assignment = np.empty_like(state.assignment)
    assignment[cells.order] = state.assignment
    return Clustering(state.words, assignment, state.errors, state.reseeded)


def first_words(cells: Cells, rows: NDArray[np.int64], space: Space) -> Clustering:
    """The clustering whose words are these rows; the other rows have no word yet."""
    assignment = np.full(len(cells.rows), -1, dtype=np.int32)
    assignment[rows] = np.arange(len(rows), dtype=np.int32)
    return Clustering(space.vectors(cells.rows[rows]), assignment)


@dataclass(frozen=True)
class _Part:
    """What the rows of a few neighbouring cells contribute to one iteration.

    words, sums, weights  each word that got rows once, their sum and how many they are
    """

    rows: slice
    assignment: NDArray[np.int32]
    distances: Floats
    words: NDArray[np.intp]
    sums: NDArray[np.float64]
    weights: NDArray[np.float64]


def iterate(
    cells: Cells,
    state: Clustering,
    space: Space,
    rows: Shared[NDArray[Any]] | None = None,
    weights: Shared[Floats | None] | None = None,
) -> Clustering:
    """Assign every row to the best of its candidates, then move every word to its mean.

    rows     of the cells, where workers have them already
    weights  how often each row counts, by default once

    Sums are float64, which holds those of whole numbers exactly, and are added in one order: the
    words are the same to the last bit on any number of workers.
    """
    sums = np.zeros(state.words.shape)
    sizes = np.zeros(len(state.words))
    assignment = np.empty_like(state.assignment)
    distances = np.empty(len(assignment), dtype=np.float32)
    blocks = _blocks(cells, state.assignment)
    given = (cells.rows if rows is None else rows, weights, word_side(state.words), space)
    for part in current().map(_assign, blocks, *given):
        assignment[part.rows] = part.assignment
        distances[part.rows] = part.distances
        sums[part.words] += part.sums
        sizes[part.words] += part.weights
    moved = state.words.copy()
    moved[sizes > 0] = sums[sizes > 0] / sizes[sizes > 0, None]
    if space.spherical:
        moved = unit_vectors(moved, np.float32)
    empty = np.flatnonzero(sizes == 0)
    placed = _reseed(cells, moved, assignment, distances, empty, space) if len(empty) else 0
    error = float(distances.mean(dtype=np.float64))
    return Clustering(moved, assignment, (*state.errors, error), state.reseeded + placed)


@dataclass(frozen=True)
class _Block:
    """Neighbouring cells, and the words that their rows have now."""

    offsets: NDArray[np.int64]
    centres: Floats
    present: NDArray[np.int32]


def _blocks(cells: Cells, present: NDArray[np.int32]) -> Iterator[_Block]:
    for first in range(0, len(cells.centres), _CELL_BLOCK):
        offsets = cells.offsets[first : first + _CELL_BLOCK + 1]
        centres = cells.centres[first : first + _CELL_BLOCK]
        yield _Block(offsets, centres, present[offsets[0] : offsets[-1]])


def _assign(
    rows: NDArray[Any], weights: Floats | None, side: Floats, space: Space, block: _Block
) -> _Part:
    """Find the words of the rows of a block."""
    begin, end = int(block.offsets[0]), int(block.offsets[-1])
    assignment = np.empty(end - begin, dtype=np.int32)
    distances = np.empty(end - begin, dtype=np.float32)
    sums = []
    near = query_side(block.centres) @ side.T
    for cell, (start, stop) in enumerate(pairwise(block.offsets.tolist())):
        if start == stop:
            continue
        candidates = _candidates(near[cell], block.present[start - begin : stop - begin])
        words = side[candidates]
        for low in range(start, stop, CHUNK):
            high = min(low + CHUNK, stop)
            vectors = space.vectors(rows[low:high])
            top, score = best_words(query_side(vectors), words)
            assignment[low - begin : high - begin] = candidates[top]
            distances[low - begin : high - begin] = squared_distances(vectors, score)
            used, group, counts = np.unique(top, return_inverse=True, return_counts=True)
            mass: NDArray[np.float64] = counts.astype(np.float64)
            if weights is not None:
                mass = np.bincount(group, weights[low:high]).astype(np.float64)
                vectors = vectors * weights[low:high, None]
            sums.append((candidates[used], group_sums(vectors, group, counts), mass))
    words_of = np.unique(assignment).astype(np.intp)
    total = np.zeros((len(words_of), side.shape[1] - 1))
    masses = np.zeros(len(words_of))
    for words_here, added, mass in sums:
        # Each word occurs once in `words_here`: the additions do not overwrite each other.
        place = np.searchsorted(words_of, words_here)
        total[place] += added
        masses[place] += mass
    return _Part(slice(begin, end), assignment, distances, words_of, total, masses)


def _candidates(scores: Floats, present: NDArray[np.int32]) -> NDArray[np.intp]:
    """The T words with the highest scores, and those the rows have now; ascending."""
    if len(scores) <= CANDIDATES:
        return np.arange(len(scores))
    cut = len(scores) - CANDIDATES
    chosen = scores >= np.partition(scores, cut)[cut]
    chosen[present[present >= 0]] = True
    return np.flatnonzero(chosen)


def _reseed(
    cells: Cells,
    words: Floats,
    assignment: NDArray[np.int32],
    distances: Floats,
    empty: NDArray[np.intp],
    space: Space,
) -> int:
    """Put each empty word on the farthest row of one of the costliest words.

    Changes `words` and `assignment`; returns how many found a place. Words stay empty only
    when there are fewer different descriptors than words.
    """
    costs = np.bincount(assignment, distances, minlength=len(words))
    donors = np.argsort(-costs, kind="stable")[: len(empty)]
    donors = donors[costs[donors] > 0]
    rows = np.flatnonzero(np.isin(assignment, donors))
    # By donor, then farthest first: the head of each run is the row that moves.
    rows = rows[np.lexsort((-distances[rows], assignment[rows]))]
    owner, heads = np.unique(assignment[rows], return_index=True)
    farthest = dict(zip(owner.tolist(), rows[heads].tolist(), strict=True))
    places = np.array([farthest[donor] for donor in donors.tolist()], dtype=np.int64)
    words[empty[: len(places)]] = space.vectors(cells.rows[places])
    assignment[places] = empty[: len(places)]
    return len(places)
