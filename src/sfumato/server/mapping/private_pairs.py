"""Which keypoints of two releases may show the same point, from what was released alone.

Plain descriptors and subspaces answer with the few nearest of each keypoint, mutual nearest
neighbours first. Words answer with every pair that shares one: the true partner is among them
when both devices kept the true word and both descriptors fell into the same cell, and so are many
others.

Every candidate says how common it is: how many would have to be tried, at best, to find a true
one. Geometry begins with the least common, and asks the others once it is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.releases import KeypointRelease, PlainRelease, SubspaceRelease, WordRelease
from sfumato.matching.subspace import k_nearest
from sfumato.matching.vocabulary import InvertedIndex

Rows = NDArray[np.int64]

#: Nearest neighbours of a keypoint that are kept: noise of a lift may put others before the true.
NEIGHBOURS = 8


@dataclass(frozen=True, eq=False)
class PairCandidates:
    """Rows of two releases that may belong together, each pair once.

    first, second  (n,) rows of the keypoints
    commonness     (n,) of words: how many pairs the rarest shared word makes; of neighbours:
                   the product of their ranks, 1 for mutual nearest
    """

    first: Rows
    second: Rows
    commonness: Rows

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: Rows) -> PairCandidates:
        return PairCandidates(self.first[rows], self.second[rows], self.commonness[rows])


def pair_candidates(a: KeypointRelease, b: KeypointRelease) -> PairCandidates:
    """All candidates between two releases of one kind."""
    if isinstance(a, WordRelease) and isinstance(b, WordRelease):
        return shared_words(a, b)
    if isinstance(a, PlainRelease) and isinstance(b, PlainRelease):
        return ranked(*_nearest_descriptors(a, b))
    if isinstance(a, SubspaceRelease) and isinstance(b, SubspaceRelease):
        if not len(a) or not len(b):
            return _nothing()
        return ranked(*k_nearest(a, b, min(NEIGHBOURS, len(b))))
    raise InvalidInput(
        f"releases of {a.kind} and {b.kind} cannot be compared; both must be words, subspaces "
        "or raw descriptors."
    )


def ranked(nearest: Rows, distance: NDArray[Any]) -> PairCandidates:
    """Neighbours (N, k), nearest first, as candidates with the ranks of both sides.

    A keypoint's rank on the other side counts those that name the same neighbour and are
    nearer to it, so that one search answers for both directions.
    """
    count, k = nearest.shape
    first = np.repeat(np.arange(count), k)
    second = nearest.reshape(-1).astype(np.int64)
    order = np.lexsort((distance.reshape(-1), second))
    sorted_second = second[order]
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order)) - np.searchsorted(sorted_second, sorted_second) + 1
    return PairCandidates(first, second, back * np.tile(np.arange(1, k + 1), count))


def _nearest_descriptors(a: PlainRelease, b: PlainRelease) -> tuple[Rows, NDArray[Any]]:
    import faiss

    if not len(a) or not len(b):
        return np.zeros((len(a), 0), dtype=np.int64), np.zeros((len(a), 0))
    left, right = (np.ascontiguousarray(side.descriptors, dtype=np.float32) for side in (a, b))
    distance, nearest = faiss.knn(left, right, min(NEIGHBOURS, len(b)))
    return nearest, distance


def _nothing() -> PairCandidates:
    none = np.zeros(0, dtype=np.int64)
    return PairCandidates(none, none, none)


def shared_words(a: WordRelease, b: WordRelease) -> PairCandidates:
    """Pairs of keypoints whose word sets meet, by a join over sorted words.

    A word that n keypoints of one picture and m of the other sent makes n·m pairs, of which
    at most min(n, m) are true: its commonness is n·m.
    """
    count_a = np.bincount(a.words.reshape(-1), minlength=a.num_words)
    count_b = np.bincount(b.words.reshape(-1), minlength=b.num_words)
    common = count_a.astype(np.int64) * count_b
    sent = np.repeat(np.arange(len(b)), b.subset_size)
    index = InvertedIndex.build(b.words.reshape(-1).astype(np.int64), sent, b.num_words)
    # One column at a time: which word made a pair is then known without searching for it.
    first, second, commonness = [], [], []
    for column in range(a.subset_size):
        keypoint, row = index.lookup(a.words[:, column : column + 1])
        first.append(keypoint)
        second.append(row)
        commonness.append(common[a.words[keypoint, column]])
    i, j, cost = map(np.concatenate, (first, second, commonness))
    if a.subset_size == 1:
        return PairCandidates(i, j, cost)
    pair = i * max(len(b), 1) + j
    order = np.lexsort((cost, pair))  # of several shared words the rarest speaks
    once = order[np.unique(pair[order], return_index=True)[1]]
    return PairCandidates(i[once], j[once], cost[once])
