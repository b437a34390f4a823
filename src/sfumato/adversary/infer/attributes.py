"""What kind of person it is: gender, race or age, inferred from what was sent of an embedding.

The attacker has faces of other people with known values. K-NN as in [affine §4.3], and one who
knows the words of the lifting and their values; `learned_attributes.py` has the trained one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.geometry import Lifted
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.matching.subspace import Side, Subspaces, as_subspaces, closer_than, k_nearest

Doubles = NDArray[np.float64]
Labels = NDArray[np.str_]

NUM_NEIGHBOURS = 10  # K
_MEETS = 1e-3


@dataclass(frozen=True, eq=False)
class Known:
    """The attacker's own faces: points (P, n) of unit length, and a value of each."""

    points: NDArray[Any]
    values: Labels

    def __post_init__(self) -> None:
        points, values = unit_vectors(self.points), np.asarray(self.values, dtype=np.str_)
        if points.ndim != 2 or values.shape != (len(points),):
            raise InvalidInput(
                f"each known face needs one value, got {values.shape} for {points.shape}."
            )
        distinct = np.unique(values)
        if len(distinct) < 2:
            raise InvalidInput(
                f"an attribute must have at least two values to be inferred, these faces have "
                f"{len(distinct)}."
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "values", values)

    @property
    def majority(self) -> str:
        """The commonest value: the answer of an attacker who has seen nothing."""
        names, counts = np.unique(self.values, return_counts=True)
        return str(names[counts.argmax()])


def infer_from_points(points: NDArray[Any], known: Known, k: int = NUM_NEIGHBOURS) -> Labels:
    """The commonest value among the k known faces nearest to each embedding, raw or recovered."""
    return infer_from_subspaces(unit_vectors(points), known, k)


def infer_from_subspaces(lifted: Side, known: Known, k: int = NUM_NEIGHBOURS) -> Labels:
    """The same with distances of known faces to each subspace."""
    near = k_nearest(lifted, Subspaces.points(known.points), _limit(k, known))[0]
    return _vote(known.values[near], known)


def infer_from_words(
    sent: NDArray[Any], words: NDArray[Any], known: Known, k: int = NUM_NEIGHBOURS
) -> Labels:
    """The same around each of the ω words that were sent, (N, ω); all neighbours vote together."""
    rows = np.asarray(sent)
    flat = k_nearest(unit_vectors(words[rows.ravel()]), known.points, _limit(k, known))[0]
    near = flat.reshape(len(rows), -1)
    return _vote(known.values[near], known)


def _limit(k: int, known: Known) -> int:
    return min(check_count("k", k, low=1), len(known.points))


def _vote(values: Labels, known: Known) -> Labels:
    """The commonest value of each row; of equals the one whose neighbour is nearest."""
    names = np.unique(known.values)
    counts = np.stack([(values == name).sum(axis=1) for name in names], axis=1).astype(np.float64)
    weights = np.linspace(1e-3, 0, values.shape[1])
    early = np.stack([np.where(values == name, weights, 0).max(axis=1) for name in names], axis=1)
    return np.asarray(names[(counts + early).argmax(axis=1)])


def recover_points(lifted: Side, known: Known, k: int = NUM_NEIGHBOURS) -> Doubles:
    """(N, n) a guess at each embedding: the mean of the k known faces nearest to its subspace,
    moved into the subspace."""
    subspaces = as_subspaces(lifted)
    near = k_nearest(subspaces, Subspaces.points(known.points), _limit(k, known))[0]
    lifted_points = Lifted(*subspaces.canonical(np.arange(len(subspaces))))
    return unit_vectors(lifted_points.project(known.points[near].mean(axis=1)))


def class_distances(lifted: Side, known: Known, k: int = NUM_NEIGHBOURS) -> Doubles:
    """(N, 2·C) how near each subspace passes by the known faces of each of C values.

    For every value the distance of the nearest face and the mean of the k nearest: what the
    subspace itself says, before any point of it is guessed.
    """
    columns = []
    for name in np.unique(known.values):
        own = Subspaces.points(known.points[known.values == name])
        near = np.asarray(k_nearest(lifted, own, min(_limit(k, known), len(own)))[1])
        columns += [near[:, 0], near.mean(axis=1)]
    return np.stack(columns, axis=1).astype(np.float64)


def recover_from_words(sent: NDArray[Any], words: NDArray[Any]) -> Doubles:
    """(N, n) the mean of the ω words that were sent for each face."""
    return unit_vectors(unit_vectors(words)[np.asarray(sent)].mean(axis=1))


def infer_from_database(
    lifted: Side,
    database: NDArray[Any],
    values: Labels | Sequence[str],
    known: Known,
    *,
    balanced: bool,
) -> Labels:
    """An attacker who knows the words of the lifting and their values finds them in each subspace.

    A subspace passes through its words exactly. Where the words were chosen among other values
    than the subject's (`balanced`), the likeliest value is the one that fewest of them have;
    otherwise they say nothing and the commonest value is the answer.
    """
    names = np.unique(known.values)
    labels = np.asarray(values, dtype=np.str_)
    subspaces = as_subspaces(lifted)
    rows, columns, _ = closer_than(subspaces, Subspaces.points(unit_vectors(database)), _MEETS)
    counts = np.zeros((len(subspaces), len(names)))
    for place, name in enumerate(names):
        np.add.at(counts[:, place], rows[labels[columns] == name], 1)
    shares = np.array([(known.values == name).mean() for name in names])
    answer = np.full(len(subspaces), known.majority, dtype=names.dtype)
    seen = counts.sum(axis=1) > 0
    if balanced:
        answer[seen] = names[(counts[seen] - shares).argmin(axis=1)]
    return np.asarray(answer)


def accuracy(answers: Labels, truth: Labels | Sequence[str]) -> tuple[int, int]:
    """How many answers are right, and how many there are."""
    true = np.asarray(truth, dtype=np.str_)
    return int((np.asarray(answers) == true).sum()), len(true)
