"""The compiled inner loops of `neighbours.py`: matches counted 64 codes at a time, best kept."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

Array = NDArray[Any]


def _build_popcount(_typing: Any, _word: Any) -> tuple[Any, Any]:
    """The number of ones in a word, as the processor's own instruction (or vectors of it)."""

    def build(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.uint64(types.uint64), build


_popcount: Any = intrinsic(_build_popcount)


@njit(cache=True, nogil=True)
def count_matches(
    queries: Array, known: Array, num_codes: int, scores: Array
) -> None:  # pragma: no cover - compiled
    """scores (Q, N) = positions with equal codes, from bit planes (Q, planes, words), (N, …).

    Two codes differ where any of their bits does: planes are combined by or before counting.
    """
    planes, words = known.shape[1:]
    differs = np.empty(words, dtype=np.uint64)
    for n in range(len(known)):
        for q in range(len(queries)):
            total = np.uint64(0)
            if planes == 1:
                x, z = queries[q, 0], known[n, 0]
                for w in range(words):
                    total += _popcount(x[w] ^ z[w])
            else:
                for b in range(planes - 1):
                    x, z = queries[q, b], known[n, b]
                    if b == 0:
                        for w in range(words):
                            differs[w] = x[w] ^ z[w]
                    else:
                        for w in range(words):
                            differs[w] |= x[w] ^ z[w]
                x, z = queries[q, planes - 1], known[n, planes - 1]
                for w in range(words):
                    total += _popcount(differs[w] | (x[w] ^ z[w]))
            scores[q, n] = num_codes - np.int64(total)


@njit(cache=True, nogil=True)
def weigh_matches(
    queries: Array, weights: Array, known: Array, scores: Array
) -> None:  # pragma: no cover - compiled
    """scores (Q, N) = Σ weight over positions with equal codes.

    weights (Q, planes, words): bit planes of each query's whole-number weight at each position.
    """
    planes, words = known.shape[1:]
    same = np.empty(words, dtype=np.uint64)
    for n in range(len(known)):
        for q in range(len(queries)):
            for b in range(planes):
                x, z = queries[q, b], known[n, b]
                if b == 0:
                    for w in range(words):
                        same[w] = ~(x[w] ^ z[w])
                else:
                    for w in range(words):
                        same[w] &= ~(x[w] ^ z[w])
            score = np.uint64(0)
            for c in range(weights.shape[1]):
                total = np.uint64(0)
                weight = weights[q, c]
                for w in range(words):
                    total += _popcount(same[w] & weight[w])
                score += total << np.uint64(c)
            scores[q, n] = np.int64(score)


@njit(cache=True, nogil=True)
def sum_tables(
    tables: Array, values: Array, positions: Array, scores: Array
) -> None:  # pragma: no cover - compiled
    """scores (Q, N) = Σ tables[q, position, value] over the codes that each picture sent."""
    for q in range(len(tables)):
        table = tables[q]
        for n in range(len(values)):
            total = np.float32(0)
            for k in range(values.shape[1]):
                total += table[positions[n, k], values[n, k]]
            scores[q, n] = total


@njit(cache=True, nogil=True)
def keep_best(
    scores: Array, start: int, best: Array, indices: Array
) -> None:  # pragma: no cover - compiled
    """Let scores (Q, N) of pictures start … start + N − 1 compete for the K best of each query.

    best and indices (Q, K) are heaps with the worst on top: lowest score, and of equal ones the
    latest picture. So of equal scores the earlier picture stays.
    """
    size = best.shape[1]
    for q in range(len(scores)):
        heap, index = best[q], indices[q]
        for n in range(scores.shape[1]):
            score = scores[q, n]
            if not score > heap[0]:
                continue
            where = start + n
            i = 0
            while True:
                child = 2 * i + 1
                if child >= size:
                    break
                other = child + 1
                if other < size and (
                    heap[other] < heap[child]
                    or (heap[other] == heap[child] and index[other] > index[child])
                ):
                    child = other
                if heap[child] > score or (heap[child] == score and index[child] < where):
                    break
                heap[i], index[i] = heap[child], index[child]
                i = child
            heap[i], index[i] = score, where
