"""Ours: verification and attacks on private unit vectors, one ε for the whole embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import RandomSource, SeededRandom
from sfumato.core.vector_space import VectorSpace
from sfumato.device.mechanisms import PrivUnit
from sfumato_papers.harness.work import seed_of

if TYPE_CHECKING:
    from sfumato_papers.affine.faces.verification import Problem, Settings

Doubles = NDArray[np.float64]

#: Where an embedding has more numbers: what most of the difference between people lies in.
FEW = 32


def numbers_sent(settings: Settings, dimension: int, num_public: int) -> list[int]:
    """How many numbers of an embedding are sent, all of them last.

    Fewer are along directions of public faces, of which there must be as many.
    """
    if settings.vector_dimensions:
        why = "no embedding has more numbers"
        wanted = settings.vector_dimensions
        return [
            check_count("--vector-dimension", n, low=2, high=dimension, why=why) for n in wanted
        ]
    return [FEW, dimension] if dimension > FEW <= num_public else [dimension]


def reduced(
    vectors: NDArray[Any],
    numbers: int,
    public: NDArray[Any],
    further: NDArray[Any] | None,
) -> Doubles:
    """The vectors as they are sent: along the public directions, or as they are where all are."""
    if numbers == vectors.shape[1]:
        return unit_vectors(vectors)
    space = VectorSpace.fit(public, numbers, extractor="faces", further=further)
    return space.apply(vectors, "faces")


def drawn(vectors: Doubles, epsilon: float, source: RandomSource) -> Doubles:
    """The directions a server computes from one release of each vector."""
    mechanism = PrivUnit(epsilon, vectors.shape[1])
    sent = [mechanism.send(row[None], rng=source) for row in vectors]
    return np.concatenate([release.directions() for release in sent])


def unit_distances(problem: Problem, setting: Mapping[str, Any]) -> Doubles:
    """1 − cosine of the enrolled embedding, or of its release, and the release of the other."""
    numbers, epsilon = int(setting["numbers"]), float(setting["epsilon"])
    own = reduced(problem.vectors, numbers, problem.public, problem.further)
    seed = ("unit", numbers, epsilon, setting["seed"])
    second = drawn(own, epsilon, SeededRandom(seed_of("second", *seed)))
    first = own
    if setting["way"] == "v–v":
        first = drawn(own, epsilon, SeededRandom(seed_of("first", *seed)))
    pairs = problem.pairs
    return np.asarray(1 - np.einsum("pn,pn->p", first[pairs.first], second[pairs.second]))
