"""Descriptors as vectors, and the one matrix product that finds the nearest of them.

‖q − w‖² = ‖q‖² − 2(q·w − ‖w‖²/2), so the largest q·w − ‖w‖²/2 is nearest; the second term
rides along as one more column. Packed bits are unpacked to 0 and 1, where squared distance
and Hamming distance are the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import unit_vectors

Floats = NDArray[np.float32]

_WORD_BLOCK = 4096  # 512 × 4096 scores are 8 MB: they stay in the cache between product and argmax
_QUERY_BLOCK = 512


@dataclass(frozen=True)
class Space:
    """How stored rows become vectors: by metric, and scaled to unit length if spherical."""

    metric: str = "l2"
    spherical: bool = False

    def vectors(self, rows: NDArray[Any]) -> Floats:
        """Rows as float32 vectors, shape (N, d); d is 8·D for packed bits."""
        if self.metric == "hamming":
            rows = np.unpackbits(rows, axis=1)
        values = rows.astype(np.float32, copy=False)
        return unit_vectors(values, np.float32) if self.spherical else values

    def dimension(self, rows: NDArray[Any]) -> int:
        return int(rows.shape[1]) * (8 if self.metric == "hamming" else 1)


def squared_norms(vectors: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", vectors, vectors))


def word_side(words: Floats) -> Floats:
    """Words with −‖w‖²/2 as one more column."""
    return np.column_stack([words, np.float32(-0.5) * squared_norms(words)])


def query_side(queries: Floats) -> Floats:
    """Queries with 1 as one more column."""
    return np.column_stack([queries, np.ones(len(queries), dtype=np.float32)])


def best_words(queries: Floats, words: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Index and score of the best word of each query; both sides carry their extra column."""
    scores = queries @ words.T
    top = scores.argmax(axis=1)
    return top, scores[np.arange(len(top)), top]


def squared_distances(queries: Floats, scores: Floats) -> Floats:
    """‖q − w‖² from the score q·w − ‖w‖²/2; rounding never makes it negative."""
    return np.asarray(np.maximum(squared_norms(queries) - 2 * scores, 0))


def nearest_exact(
    queries: NDArray[Any], words: NDArray[Any], space: Space
) -> tuple[NDArray[np.uint32], Floats]:
    """The nearest of all words for each query and its squared distance, both (N,).

    For bits, and for uint8 of up to 128 dimensions, every number on the way is exact in
    float32: ties are real ties, and the first word wins whatever the batch.
    """
    found = np.zeros(len(queries), dtype=np.uint32)
    best = np.full(len(queries), -np.inf, dtype=np.float32)
    for start in range(0, len(words) if len(queries) else 0, _WORD_BLOCK):
        block = word_side(space.vectors(words[start : start + _WORD_BLOCK]))
        for low in range(0, len(queries), _QUERY_BLOCK):
            rows = slice(low, low + _QUERY_BLOCK)
            top, score = best_words(query_side(space.vectors(queries[rows])), block)
            better = score > best[rows]
            best[rows][better] = score[better]
            found[rows][better] = start + top[better]
    for low in range(0, len(queries), _QUERY_BLOCK):
        rows = slice(low, low + _QUERY_BLOCK)
        best[rows] = squared_distances(space.vectors(queries[rows]), best[rows])
    return found, best
