"""All short vectors of whole numbers that lie in a subspace known to a few digits.

A descriptor of whole numbers k ∈ {0, …, 255}ⁿ stays a vector of whole numbers wherever it is
hidden. If k lies in a known linear subspace of dimension p, every q > p of its coordinates
satisfy q − p known linear relations N, up to the rounding error of the basis. The lattice

    { (k_q, C·Nᵀk_q) : k_q ∈ Z^q },   of volume ≈ C^(q−p)

therefore holds an exceptionally short vector: k_q itself. Lattice reduction finds it in time
polynomial in q, and its Gram–Schmidt lengths prove that nothing else is as short.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.lattice_kernel import reduce_rows, short_combinations

Doubles = NDArray[np.float64]

_DELTA = 0.99  # Lovász condition; closer to 1 is slower and shorter
_MAX_NODES = 400_000  # of the enumeration, about 20 ms
_MAX_FOUND = 4096
_FAR = 3.0  # times the noise: what is farther from the subspace is not in it
_MIN_SINGULAR = 0.02  # below it the chosen coordinates do not determine the others


@dataclass(frozen=True)
class Precision:
    """How well the subspace is known, in units of the whole numbers.

    noise      bound for the root mean square distance of a coordinate of k from the subspace
    relations  q − p, the relations used, for a subspace of dimension p
    """

    noise: float
    relations: int


@dataclass(frozen=True)
class WholeVectors:
    """Vectors of whole numbers in a subspace.

    vectors   (c, n) int64, each with its mirror image −v left out
    complete  proven: the subspace holds no other of at most that length
    """

    vectors: NDArray[np.int64]
    complete: bool


def whole_vectors(
    basis: Doubles, precision: Precision, order: NDArray[np.int64], max_length: float
) -> WholeVectors:
    """The vectors of whole numbers of at most this length in the span of orthonormal columns.

    basis  (n, p); order: a permutation of the n coordinates, the first q are used
    """
    ambient, dimension = basis.shape
    used = min(dimension + precision.relations, ambient)
    nothing = WholeVectors(np.zeros((0, ambient), dtype=np.int64), False)
    if used <= dimension:
        return nothing
    chosen = basis[order[:used]]
    directions, singular, turn = np.linalg.svd(chosen, full_matrices=True)
    if singular[-1] < _MIN_SINGULAR:
        return nothing
    # A vector k has Nᵀk_q = rounding; C makes that rounding as long as half of k itself.
    relations = directions[:, dimension:]
    weight = max_length / (2 * precision.noise * np.sqrt(used - dimension))
    rows = np.concatenate([np.eye(used), weight * relations], axis=1)
    square, _ = reduce_rows(rows, _DELTA)
    whole = rows[:, :used]
    # The q coordinates determine the p unknowns and these all n coordinates.
    unknowns = (whole @ directions[:, :dimension] / singular) @ turn
    full = unknowns @ basis.T
    near = np.rint(full)
    away = np.linalg.norm(near - (near @ basis) @ basis.T, axis=1) / np.sqrt(ambient)
    far = (away > _FAR * precision.noise) | (near[:, order[:used]] != whole).any(axis=1)
    rank = int(np.argmax(far)) if far.any() else used
    if not rank or rank > dimension:
        return nothing
    # No whole vector k with ‖k‖ ≤ max_length that lies near enough is longer than this as
    # (k_q, C·Nᵀk_q), and all lattice vectors outside the first `rank` rows are.
    bound = max_length**2 + (weight * _FAR * precision.noise) ** 2 * ambient
    complete = rank == used or bool(square[rank:].min() > bound)
    vectors, ended = _short(near[:rank], max_length)
    return WholeVectors(vectors, complete and ended)


def _short(generators: Doubles, max_length: float) -> tuple[NDArray[np.int64], bool]:
    """All combinations of these vectors that are no longer than max_length."""
    rows = np.ascontiguousarray(generators)
    square, mu = reduce_rows(rows, _DELTA)
    if not square.min() > 0.5:  # dependent: whole vectors have a whole squared length
        return np.zeros((0, rows.shape[1]), dtype=np.int64), False
    found, ended = short_combinations(square, mu, max_length**2 + 0.5, _MAX_NODES, _MAX_FOUND)
    return found @ rows.astype(np.int64), bool(ended)
