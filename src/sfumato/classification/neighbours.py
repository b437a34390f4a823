"""The K nearest perturbed pictures of each query, found in tiles; no table of all distances.

Codes are compared as bit planes (matches), by matrix products (squared distances), or by a table
of each query where pictures sent only some of their codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codes import Codes
from sfumato.core.threads import on_all_cores

Array = NDArray[Any]

#: Queries and known pictures that are compared at a time.
_QUERIES, _KNOWN = 128, 512
#: Weights of matches are rounded to this many bits.
WEIGHT_BITS = 5
#: Bytes a block of per-query tables may take.
_TABLES = 1 << 27


class Scorer(Protocol):
    """Compares queries with known pictures: the higher a score, the nearer."""

    @property
    def dtype(self) -> Any:
        """Of scores."""

    @property
    def num_queries(self) -> int:
        """How many queries to compare at a time."""

    def prepare(self, queries: Array) -> Callable[[slice, Array], None]:
        """For some queries: a function that fills scores (Q, rows) of some known pictures."""


def nearest(scorer: Scorer, queries: Array, num_known: int, count: int) -> tuple[Array, Array]:
    """Rows (Q, count) of the best known pictures, best first, and their scores.

    Of equal scores the earlier picture comes first.
    """
    step = scorer.num_queries
    parts = [slice(start, start + step) for start in range(0, len(queries), step)]
    lowest = -np.inf if np.dtype(scorer.dtype).kind == "f" else np.iinfo(scorer.dtype).min

    def work(part: slice) -> tuple[Array, Array]:
        from sfumato.classification.knn_kernel import keep_best

        fill = scorer.prepare(queries[part])
        size = len(queries[part])
        scores = np.empty((size, _KNOWN), dtype=scorer.dtype)
        best = np.full((size, count), lowest, dtype=scorer.dtype)
        rows_of_best = np.full((size, count), num_known, dtype=np.int64)
        for start in range(0, num_known, _KNOWN):
            rows = slice(start, min(start + _KNOWN, num_known))
            tile = scores[:, : rows.stop - start]
            fill(rows, tile)
            keep_best(tile, start, best, rows_of_best)
        order = np.lexsort((rows_of_best, -best), axis=1)
        return (
            np.take_along_axis(rows_of_best, order, axis=1),
            np.take_along_axis(best, order, axis=1),
        )

    found = on_all_cores(work, parts)
    return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])


def bit_planes(values: Array, num_planes: int) -> NDArray[np.uint64]:
    """(N, m) whole numbers → (N, planes, ⌈m/64⌉) words; bits behind the last code are zero."""
    count, length = values.shape
    padded = np.zeros((count, num_planes, -(-length // 64) * 8), dtype=np.uint8)
    for plane in range(num_planes):
        bits = (values >> values.dtype.type(plane)) & values.dtype.type(1)
        packed = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
        padded[:, plane, : packed.shape[1]] = packed
    return padded.view(np.uint64)


@dataclass(frozen=True, eq=False)
class Matches:
    """Positions with equal codes, each worth one, or its weight of `weights` (m, d)."""

    known: NDArray[np.uint64]
    num_codes: int
    weights: NDArray[np.uint8] | None = None
    dtype: Any = np.int32
    num_queries: int = _QUERIES

    @classmethod
    def to(cls, codes: Codes, weights: NDArray[np.float64] | None = None) -> Matches:
        planes = (codes.num_values - 1).bit_length()
        rounded = None
        if weights is not None:
            top = max(float(weights.max()), np.finfo(float).tiny)
            scaled = np.rint(weights * (((1 << WEIGHT_BITS) - 1) / top))
            rounded = np.clip(scaled, 0, None).astype(np.uint8)
        known = [bit_planes(part.values, planes) for part in codes.blocks(4096)]
        return cls(np.concatenate(known), codes.num_positions, rounded)

    def prepare(self, queries: Array) -> Callable[[slice, Array], None]:
        from sfumato.classification.knn_kernel import count_matches, weigh_matches

        planes = bit_planes(queries, self.known.shape[1])
        if self.weights is None:
            return lambda rows, scores: count_matches(
                planes, self.known[rows], self.num_codes, scores
            )
        own = self.weights[np.arange(self.num_codes), queries]
        weights = bit_planes(own, WEIGHT_BITS)
        return lambda rows, scores: weigh_matches(planes, weights, self.known[rows], scores)


@dataclass(frozen=True, eq=False)
class SquaredDistances:
    """−‖x − z‖² by matrix products; exact, since all sums stay below 2^24 or are in doubles."""

    known: Array
    dtype: Any
    num_queries: int = _QUERIES

    @classmethod
    def to(cls, codes: Codes) -> SquaredDistances:
        largest = 2 * codes.num_positions * (codes.num_values - 1) ** 2
        return cls(codes.values, np.float32 if largest < 1 << 24 else np.float64)

    def prepare(self, queries: Array) -> Callable[[slice, Array], None]:
        rows_of = np.asarray(queries, dtype=self.dtype)

        def fill(rows: slice, scores: Array) -> None:
            known = self.known[rows].astype(self.dtype)
            np.matmul(rows_of, known.T, out=scores)
            scores *= 2  # ‖x‖² is the same for all pictures and is left out
            scores -= np.einsum("ij,ij->i", known, known)

        return fill


@dataclass(frozen=True, eq=False)
class Tables:
    """Sums of what each code that was sent is worth to a query: for partial releases.

    values, positions  (N, k) of the known pictures
    worth              queries (Q, m) → (Q, m, d)
    table_size         m·d
    """

    values: Array
    positions: Array
    worth: Callable[[Array], NDArray[np.float32]]
    table_size: int
    dtype: Any = np.float32

    @property
    def num_queries(self) -> int:
        return max(min(_QUERIES, _TABLES // (4 * self.table_size)), 1)

    def prepare(self, queries: Array) -> Callable[[slice, Array], None]:
        from sfumato.classification.knn_kernel import sum_tables

        tables = self.worth(queries)
        return lambda rows, scores: sum_tables(
            tables, self.values[rows], self.positions[rows], scores
        )
