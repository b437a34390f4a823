"""Is this the same person? Thresholds are chosen on the other folds, accuracy is of this one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.faces.pairs import Pairs
from sfumato.matching.subspace import Side, as_subspaces
from sfumato.matching.subspace_tiles import exact_pairs

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Verification:
    """Shares of right answers by fold, 0 … 1, and how the wrong ones are wrong.

    thresholds    of each fold, chosen on the others
    false_accept  share of pairs of two people that are taken for one
    false_reject  share of pairs of one person that are taken for two
    """

    accuracy: tuple[float, ...]
    thresholds: tuple[float, ...]
    false_accept: float
    false_reject: float

    @property
    def mean(self) -> float:
        return float(np.mean(self.accuracy))


def verify(distances: NDArray[Any], pairs: Pairs) -> Verification:
    """Accuracy of "one person if the distance is at most t".

    A distance of infinity stands for a face that was not found: never accepted.
    """
    values = np.asarray(distances, dtype=np.float64)
    check_shape("distances", values, (len(pairs),))
    if np.isnan(values).any():
        raise InvalidInput(f"distances must be numbers, {int(np.isnan(values).sum())} are NaN.")
    accuracy, thresholds = [], []
    accepted = np.zeros(len(pairs), dtype=np.bool_)
    for fold in range(pairs.num_folds):
        inside = pairs.folds == fold
        threshold = best_threshold(values[~inside], pairs.same[~inside])
        accepted[inside] = values[inside] <= threshold
        accuracy.append(float((accepted[inside] == pairs.same[inside]).mean()))
        thresholds.append(threshold)
    return Verification(
        tuple(accuracy),
        tuple(thresholds),
        float(accepted[~pairs.same].mean()),
        float((~accepted[pairs.same]).mean()),
    )


def best_threshold(distances: Doubles, same: NDArray[np.bool_]) -> float:
    """The threshold with most right answers; of equals the smallest, midway between distances."""
    finite = np.isfinite(distances)
    values, alike = distances[finite], same[finite]
    order = np.argsort(values, kind="stable")
    values, alike = values[order], alike[order]
    right = np.cumsum(np.where(alike, 1, -1))
    ends = np.append(values[1:] != values[:-1], True) if len(values) else np.zeros(0, dtype=bool)
    right = np.where(ends, right, -1)  # equal distances are accepted together or not at all
    if not len(values) or right.max() <= 0:
        return -1.0
    last = int(right.argmax())
    if last + 1 == len(values):
        return float(values[last])
    return float((values[last] + values[last + 1]) / 2)


def euclidean(vectors: NDArray[Any], pairs: Pairs) -> Doubles:
    apart = np.asarray(vectors, dtype=np.float64)
    return np.asarray(np.linalg.norm(apart[pairs.first] - apart[pairs.second], axis=1))


def cosine(vectors: NDArray[Any], pairs: Pairs) -> Doubles:
    """1 − cosine of the angle between two embeddings."""
    values = unit_vectors(vectors)
    return np.asarray(1 - np.einsum("pn,pn->p", values[pairs.first], values[pairs.second]))


def between(a: Side, b: Side, pairs: Pairs) -> Doubles:
    """Distances of pairs: a holds the first of each, b the second, as points or as subspaces."""
    return exact_pairs(as_subspaces(a), pairs.first, as_subspaces(b), pairs.second)


def point_to_words(points: NDArray[Any], words: NDArray[Any], sent: NDArray[Any]) -> Doubles:
    """Distances (P,) of an embedding to the nearest of the ω words that were sent, (P, ω)."""
    return np.asarray(np.linalg.norm(words[sent] - points[:, None], axis=2).min(axis=1))


def words_to_words(words: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> Doubles:
    """Distances (P,) between the nearest of the words that two faces sent; 0 if they share one."""
    first, second = words[a][:, :, None], words[b][:, None]
    return np.asarray(np.linalg.norm(first - second, axis=3).min(axis=(1, 2)))
