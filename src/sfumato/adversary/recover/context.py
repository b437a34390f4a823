"""Which words stand beside which: what public pictures teach about a picture's neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.neighbours import nearest_others
from sfumato.adversary.recover.bounds import finite_epsilon
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import WordRelease

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WordContext:
    """Frequencies of words, and of pairs of neighbouring words, in public pictures.

    frequency       (|K|,) how often each word was seen, smoothed; sums to 1
    pairs           (|K|, |K|) sparse counts: row v, how often u was among the nearest keypoints
    num_neighbours  how many nearest keypoints were looked at
    smoothing       weight of `frequency` against the counts of one row
    weight          of a neighbour's evidence: neighbours repeat each other, so each counts less
                    than an independent one would
    """

    frequency: Doubles
    pairs: Any
    num_neighbours: int
    smoothing: float = 500.0
    weight: float = 0.2

    @property
    def num_words(self) -> int:
        return len(self.frequency)


def learn_context(
    pictures: Iterable[tuple[NDArray[Any], NDArray[Any]]],
    num_words: int,
    *,
    num_neighbours: int = 8,
    smoothing: float = 500.0,
    weight: float = 0.2,
) -> WordContext:
    """Count words and pairs of neighbours in public pictures, (keypoints (N, 2), words (N,)) each.

    Frequencies get one more count than seen, so that no word is impossible.
    """
    from scipy.sparse import coo_matrix, csc_matrix

    check_count("num_neighbours", num_neighbours, low=1)
    counts = np.ones(num_words)
    pairs = csc_matrix((num_words, num_words), dtype=np.float64)
    for keypoints, words in pictures:
        given = np.asarray(words, dtype=np.int64)
        counts += np.bincount(given, minlength=num_words)
        beside = nearest_others(keypoints, num_neighbours)
        centre = np.repeat(given, beside.shape[1])
        seen = (np.ones(len(centre)), (centre, given[beside].ravel()))
        pairs = pairs + coo_matrix(seen, shape=pairs.shape).tocsc()
    return WordContext(counts / counts.sum(), pairs, num_neighbours, smoothing, weight)


def context_priors(release: WordRelease, context: WordContext, rows: Rows) -> Doubles:
    """What the other releases of the picture say about the words of these rows: (R, |K|).

    π_i(v) ∝ π(v) · Π_j Pr(Z_j | v_i = v)^weight over the nearest keypoints j, never using Z_i;
    Pr(Z_j | v) ∝ 1 + (e^ε − 1)·Σ_{u ∈ Z_j} Pr(u|v), with Pr(u|v) from the counts, smoothed by the
    frequencies.
    """
    if context.num_words != release.num_words:
        raise InvalidInput(
            f"the context was learned for {context.num_words} words, the release has "
            f"{release.num_words}; learn it with the release's dictionary."
        )
    beside = nearest_others(release.keypoints, context.num_neighbours)
    seen = np.asarray(context.pairs.sum(axis=1)).ravel() + context.smoothing
    factor = math.expm1(finite_epsilon(release.epsilon))
    result = np.tile(np.log(context.frequency), (len(rows), 1))
    for place, row in enumerate(rows):
        for j in beside[row]:
            sent = release.words[j].astype(np.int64)
            share = np.full(context.num_words, context.smoothing * context.frequency[sent].sum())
            for word in sent:
                start, stop = context.pairs.indptr[word], context.pairs.indptr[word + 1]
                share[context.pairs.indices[start:stop]] += context.pairs.data[start:stop]
            result[place] += context.weight * np.log1p(factor * share / seen)
    result -= result.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(result, out=result)
    result /= result.sum(axis=1, keepdims=True)
    return result
