"""Where k-means starts: rows drawn uniformly, or k-means++ inside the coarse cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_choice
from sfumato.dictionary.cells import Cells
from sfumato.dictionary.vectors import Floats, Space, squared_norms

STARTS = ("kmeans++", "random")

_TRIALS = 8  # candidates per draw; the one that lowers the cost most is taken
_POOL = 4096  # rows whose mutual distances are held at once: 64 MB


def start_rows(
    cells: Cells, num_words: int, start: str, space: Space, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The rows of `cells` that are the first words, ascending and all different.

    "kmeans++" is the greedy variant, inside each cell: a cell gets words in proportion to
    its cost, and each word is the best of 8 rows drawn with chances proportional to their
    squared distance from the words taken so far. Over all rows at once that would cost more
    than an exact iteration; inside cells it costs about as much as one of ours.
    """
    if check_choice("start", start, STARTS) == "random":
        return np.sort(rng.choice(len(cells.rows), size=num_words, replace=False))
    shares = allot(cells.costs, cells.sizes, num_words)
    picks: list[NDArray[np.int64]] = []
    for cell, place in cells.occupied():
        for pool, count in _pools(place, int(shares[cell]), rng):
            picks.append(pool[_spread(space.vectors(cells.rows[pool]), count, rng)])
    return np.sort(np.concatenate(picks))


def _pools(
    place: slice, count: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """The rows of a cell to seed from, so many that time and memory stay linear."""
    rows = np.arange(place.start, place.stop)
    if len(rows) <= _POOL:
        yield rows, count
    elif count <= _POOL // 4:
        yield rng.choice(rows, size=_POOL, replace=False), count
    else:
        # Too many words for one pool: deal rows and words out evenly.
        number = -(-len(rows) // _POOL)
        dealt = [rows[i::number] for i in range(number)]
        sizes = np.array([len(pool) for pool in dealt])
        wanted = allot(sizes.astype(np.float64), sizes, count)
        yield from zip(dealt, wanted.tolist(), strict=True)


def allot(weights: NDArray[np.float64], room: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Whole shares of `total` in proportion to the weights, none above its room."""
    weights = weights if weights.sum() > 0 else room.astype(np.float64)
    ideal = weights / weights.sum() * total
    shares = np.asarray(np.minimum(np.floor(ideal).astype(np.int64), room))
    while (missing := total - int(shares.sum())) > 0:
        lack = np.where(shares < room, ideal - shares, -np.inf)
        chosen = np.argsort(-lack, kind="stable")[:missing]
        shares[chosen[np.isfinite(lack[chosen])]] += 1
    return shares


def _spread(points: Floats, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Greedy k-means++: indices of `count` points far from one another."""
    if count >= len(points):
        return np.arange(len(points))
    chosen = np.empty(count, dtype=np.int64)
    if count == 0:
        return chosen
    norms = squared_norms(points)
    between = points @ points.T
    between *= -2
    between += norms
    between += norms[:, None]
    np.maximum(between, 0, out=between)
    np.fill_diagonal(between, 0)
    draws = rng.random((count, _TRIALS))
    chosen[0] = int(draws[0, 0] * len(points))
    distances = between[chosen[0]]
    free = np.ones(len(points), dtype=bool)
    for i in range(1, count):
        free[chosen[i - 1]] = False
        total = np.cumsum(np.where(free, distances, 0))
        if total[-1] <= 0:  # only copies of the chosen words are left
            chosen[i:] = np.flatnonzero(free)[: count - i]
            break
        tried = np.searchsorted(total, draws[i] * total[-1], side="right")
        tried = np.minimum(tried, len(points) - 1)
        after = np.minimum(between[tried], distances)
        # A draw at the very end may fall on a taken point; it lowers nothing, so it loses.
        best = int(np.where(free[tried], after.sum(axis=1), np.inf).argmin())
        chosen[i], distances = tried[best], after[best]
    return chosen
