"""The nearest of many words, exactly, without comparing all values with all words.

In the axes along which words differ most, the first 30 coordinates hold nine tenths of what tells
SIFT words apart. With what is left of a query and of a word known by its length only, the product
of both is at most

    q·w ≤ a·b + ‖rest of q‖·‖rest of w‖,      a, b: the first coordinates

One matrix product with 32 columns instead of 129 bounds all words; the few whose bound
reaches the best score so far (about 25 of 16,384) are compared in full.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.dictionary.vectors import Floats, Space, nearest_exact, squared_norms

_AXES = 30
_QUERY_BLOCK = 128  # 128 × 16,384 bounds are 8 MB: they stay in the cache
#: Fewer words or queries are compared sooner than bounds are made.
MIN_WORDS = 1024
MIN_QUERIES = 64
#: Words per query that are compared in full; where bounds leave more, all are.
_MOST_COMPARED = 256
_ROUNDING = 1e-5  # of the largest product; that of 32 terms in float32 is off by 2e-6 at most


class BoundedSearch:
    """Finds what `nearest_exact` finds, ties included; for uint8 words of up to 128 values."""

    def __init__(self, words: NDArray[np.uint8]) -> None:
        self._words = words
        self._half_norms = np.float32(0.5) * squared_norms(Space().vectors(words))
        self._mean = words.mean(axis=0, dtype=np.float64)
        centred = words - self._mean
        self._axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
        norms = np.einsum("ij,ij->i", centred, centred)
        first, rest = self._turned(centred)
        self._side = np.column_stack([first, rest, -norms / 2]).astype(np.float32)
        self._longest = float(np.sqrt(norms.max()))

    @staticmethod
    def applies(words: NDArray[Any], metric: str) -> bool:
        """Whether every number of a full comparison is exact, and bounds are worth making."""
        small = words.dtype == np.uint8 and _AXES + 2 < words.shape[1] <= 128
        return metric == "l2" and small and len(words) >= MIN_WORDS

    def nearest(self, queries: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """The nearest word of each query; of equally near ones the first."""
        blocks = range(0, len(queries), _QUERY_BLOCK)
        room = np.empty((_QUERY_BLOCK, len(self._words)), dtype=np.float32)
        found = [self._nearest(queries[low : low + _QUERY_BLOCK], room) for low in blocks]
        return np.concatenate([*found, np.zeros(0, dtype=np.uint32)])

    def _nearest(self, queries: NDArray[np.uint8], room: Floats) -> NDArray[np.uint32]:
        centred = queries - self._mean
        lengths = np.einsum("ij,ij->i", centred, centred)
        first, rest = self._turned(centred)
        side = np.column_stack([first, rest, np.ones(len(queries))]).astype(np.float32)
        bounds = np.matmul(side, self._side.T, out=room[: len(queries)])
        vectors = Space().vectors(queries)
        best = self._scores(vectors, bounds.argmax(axis=1))
        shift = (lengths - squared_norms(vectors)) / 2  # bounds are of centred vectors
        rounding = _ROUNDING * self._longest * (np.sqrt(lengths) + self._longest)
        reach = (best + shift - rounding).astype(np.float32)
        # Flat: numpy finds few of many in one long row ten times sooner than in a table.
        query, word = np.divmod(np.flatnonzero(bounds >= reach[:, None]), len(self._words))
        if len(query) > _MOST_COMPARED * len(queries):
            return nearest_exact(queries, self._words, Space())[0]
        scores = self._scores(vectors[query], word)
        np.maximum.at(best, query, scores)
        ties = scores == best[query]
        _, place = np.unique(query[ties], return_index=True)
        return np.asarray(word[ties][place], dtype=np.uint32)

    def _turned(self, centred: NDArray[np.float64]) -> tuple[NDArray[np.float64], Any]:
        """The first coordinates in the words' own axes, and the length of the rest."""
        turned = centred @ self._axes
        return turned[:, :_AXES], np.linalg.norm(turned[:, _AXES:], axis=1)

    def _scores(self, vectors: Floats, words: NDArray[np.intp]) -> Floats:
        """q·w − ‖w‖²/2 of each row, exactly."""
        chosen = Space().vectors(self._words[words])
        return np.asarray(np.einsum("ij,ij->i", vectors, chosen) - self._half_norms[words])
