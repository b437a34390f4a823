"""One unit vector under one ε: PrivUnit, on the corners of a cube, exact in whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.accounting import PrivateAnswer
from sfumato.core.checks import check_choice, check_count, check_epsilon
from sfumato.core.cube import corner_length, turn
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.odds import Coin, response_coin
from sfumato.core.randomness import RandomSource, check_source
from sfumato.core.types import NOT_PROTECTED, Camera, Features, PrivacyEvent
from sfumato.core.vector_release import MAX_CAP_BITS, NO_SPACE, VectorRelease
from sfumato.core.vector_space import VectorSpace, vectors_as_features
from sfumato.device.mechanisms.base import release_fields
from sfumato.device.mechanisms.cap_size import AIMS, best_cap_bits
from sfumato.device.mechanisms.corner_ranking import CornerRanking

Bits = NDArray[np.uint8]

_WORD = 32  # random bits drawn at a time
_MEAN_WEIGHT = 8  # whole-number weights are this large on average


@dataclass(frozen=True)
class CornerSampler:
    """Draw a corner of {−1, +1}^L, probably one of the 2^(L−k) with the largest product with u.

    A rank below 2^L is drawn uniformly; where the coin shows heads its k leading bits are set to
    zero. The answer is the corner of that rank. With K = 2^k the coin's chance is

        r = (e^ε − 1) / (e^ε − 1 + K),

    so a corner of the cap is sent with probability (r·K + 1 − r)/2^L and every other one with
    (1 − r)/2^L: a ratio of e^ε, for all weights alike, since every cap has the same size.
    Guarantee: ε for the whole row of weights, whatever these are. Proof: docs/private-vectors.md.
    """

    epsilon: float
    length: int  # L
    cap_bits: int  # k
    coin: Coin = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_count("length", self.length, low=1)
        high = min(self.length, MAX_CAP_BITS)
        check_count("cap_bits", self.cap_bits, low=1, high=high)
        object.__setattr__(self, "coin", response_coin(self.epsilon, 1 << self.cap_bits))

    def draw(self, weights: NDArray[Any], source: RandomSource) -> Bits:
        """(N, L) whole numbers → (N, L) bits; the draws of a row do not depend on its weights."""
        ranks = self.draw_ranks(len(weights), source)
        pairs = zip(weights, ranks, strict=True)
        corners = [CornerRanking(row).corner(as_rank(rank)) for row, rank in pairs]
        return np.array(corners, dtype=np.uint8).reshape(len(weights), self.length)

    def draw_ranks(self, count: int, source: RandomSource) -> Bits:
        """`count` ranks as rows of L bits, the highest first."""
        columns = []
        for start in range(0, self.length, _WORD):
            width = min(_WORD, self.length - start)
            drawn = source.below(1 << width, count)
            shifts = np.arange(width - 1, -1, -1, dtype=np.uint32)
            columns.append((drawn[:, None] >> shifts & 1).astype(np.uint8))
        bits = np.concatenate(columns, axis=1)
        heads = source.coin(self.coin, count)
        bits[:, : self.cap_bits] *= ~heads[:, None]
        return bits


def as_rank(bits: Bits) -> int:
    """A row of bits, the highest first, as one whole number."""
    padded = np.concatenate([np.zeros(-len(bits) % 8, dtype=np.uint8), bits])
    return int.from_bytes(np.packbits(padded).tobytes(), "big")


@dataclass(frozen=True)
class PrivUnit:
    """Send, for each vector, a point of a sphere that is probably near it [Bhowmick et al. 2018].

    With probability p a point uniform on a cap around the vector, else uniform on the rest; here
    the points are the 2^L corners of a cube and the cap its nearest 2^(L−k):

        p = e^ε / (e^ε + 2^k − 1).

    Guarantee: ε-LDP for one whole vector, exactly, for what the machine draws. N vectors compose
    to N·ε. That a vector is sent, its position and N lie outside it. Proof: docs/private-vectors.md

    dimension  n of the vectors; with a `space`, that of the space
    aim        "match": the cap with which "is it the same?" is answered best, for comparing
               single vectors. "mean": the cap with the largest expected cosine
               [Asi, Feldman, Talwar 2022], for averaging many vectors
    cap_bits   k, where you choose the cap yourself
    space      a public map (centre, project) that is applied first; it costs no privacy

    >>> round(sf.PrivUnit(10, 128).keep_probability, 3), sf.PrivUnit(10, 128).cap_bits
    (0.977, 9)
    >>> sf.PrivUnit(10, 128, aim="mean").cap_bits
    11
    """

    epsilon: float
    dimension: int | None = None
    aim: str = "match"
    cap_bits: int | None = None
    space: VectorSpace | None = None
    sampler: CornerSampler = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon = check_epsilon(self.epsilon)
        check_choice("aim", self.aim, AIMS)
        dimension = self._checked_dimension()
        length = corner_length(dimension)
        bits = self.cap_bits
        if bits is None:
            bits = min(best_cap_bits(epsilon, self.aim), length)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "dimension", dimension)
        object.__setattr__(self, "sampler", CornerSampler(epsilon, length, bits))
        object.__setattr__(self, "cap_bits", self.sampler.cap_bits)

    def _checked_dimension(self) -> int:
        if self.space is not None and self.dimension in (None, self.space.dimension):
            return self.space.dimension
        if self.space is not None:
            raise InvalidInput(
                f"dimension must be {self.space.dimension}, that of the space, got "
                f"{self.dimension!r}; leave it out."
            )
        if self.dimension is None:
            raise InvalidInput("PrivUnit needs the dimension of its vectors, or a space.")
        return self.dimension

    @property
    def keep_probability(self) -> float:
        """The chance that the corner sent is one of the cap."""
        return 1 / (1 + (2.0**self.sampler.cap_bits - 1) * math.exp(-self.epsilon))

    @property
    def private_answer(self) -> PrivateAnswer:
        """One vector, as exact composition counts it: two caps without a common corner."""
        return PrivateAnswer(self.epsilon, 1 << self.sampler.cap_bits)

    def event(self, features: Features) -> PrivacyEvent:
        self._weights(features)
        return PrivacyEvent(
            mechanism="private unit vectors",
            epsilon=self.epsilon,
            num_units=len(features),
            unit="one vector",
            not_protected=NOT_PROTECTED,
            num_values=1 << self.sampler.cap_bits,
        )

    def release(
        self, features: Features, *, rng: RandomSource, camera: Camera | None = None
    ) -> VectorRelease:
        source = check_source(rng)
        return VectorRelease(
            signs=self.sampler.draw(self._weights(features), source),
            dimension=self.dimension or 0,
            cap_bits=self.sampler.cap_bits,
            epsilon=self.epsilon,
            space=NO_SPACE if self.space is None else self.space.fingerprint,
            **release_fields(features, camera, source),
        )

    def send(
        self, vectors: NDArray[Any], *, rng: RandomSource, embedder: str = "given"
    ) -> VectorRelease:
        """`release` for (N, n) vectors without a picture, such as embeddings of faces."""
        return self.release(vectors_as_features(vectors, embedder), rng=rng)

    def _weights(self, features: Features) -> NDArray[np.int64]:
        """(N, L) whole numbers that point where the vectors do. They never leave the device."""
        if self.space is not None:
            return as_weights(self.space.apply(features.descriptors, features.extractor))
        found = features.descriptors.shape[1]
        if found != self.dimension:
            raise Mismatch(
                f"this mechanism takes vectors of {self.dimension} numbers, got {found}; make one "
                f"of dimension {found}."
            )
        return as_weights(features.descriptors)


def as_weights(vectors: NDArray[Any]) -> NDArray[np.int64]:
    """(N, n) vectors, turned and rounded to whole numbers of mean size 8: (N, L).

    Any fixed map of a vector keeps the guarantee, so how it is rounded here matters for use alone.
    """
    values = np.asarray(vectors, dtype=np.float64)
    largest = np.abs(values).max(axis=1, keepdims=True, initial=0)
    if not np.all(largest > 0):
        raise InvalidInput(
            f"a vector must not be zero, {int((largest == 0).sum())} of {len(values)} are and have "
            "no direction; leave those out."
        )
    turned = turn(values / largest)
    sizes = np.abs(turned).mean(axis=1, keepdims=True)
    return np.asarray(np.rint(turned * (_MEAN_WEIGHT / sizes)), dtype=np.int64)
