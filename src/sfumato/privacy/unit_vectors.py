"""PrivUnit under audit: one whole vector, from whole-number weights to the corner that is sent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.odds import exp_bounds
from sfumato.core.randomness import RandomSource, SecureRandom
from sfumato.core.releases import Release, VectorRelease
from sfumato.device.mechanisms.corner_ranking import CornerRanking
from sfumato.device.mechanisms.private_unit import CornerSampler, PrivUnit, as_rank
from sfumato.privacy.report import Check
from sfumato.privacy.subjects import SMALL_EPSILONS, Rows, Subject, World

#: Small worlds whose law is enumerated: L coordinates, the nearest 2^−k of the corners.
SMALL_CUBES = ((1, 1), (2, 1), (3, 1), (3, 2), (4, 2), (5, 3))
_MOST_BITS = 12  # of the cube whose answers are measured
_PROBES = 40  # ranks of the whole cube that are turned into corners and back


Make = Callable[[float, int, int], Any]
Rank = Callable[[NDArray[Any]], Any]


class UnitSubject(Subject):
    """PrivUnit, measured on a small cube; the whole one is examined in `further_checks`.

    Inputs are vectors of small whole numbers. 0 and 1 point in opposite directions, so that their
    caps have no corner in common and the ratio of e^ε is reached.
    `make` builds the sampler and `rank` the order of corners: tests hand in mutants.
    """

    name = "private unit vectors"
    unit = "one whole vector"
    not_protected = ("that a vector is sent, when and by whom", "how many are sent")

    def __init__(
        self,
        epsilon: float,
        dimension: int = 128,
        *,
        mechanism: PrivUnit | None = None,
        make: Make = CornerSampler,
        rank: Rank = CornerRanking,
        cube: tuple[int, int] | None = None,
        source: RandomSource | None = None,
    ) -> None:
        self.mechanism = mechanism or PrivUnit(epsilon, dimension)
        self._make, self._rank = make, rank
        self._source = source or SecureRandom()
        bits = min(self.mechanism.sampler.cap_bits, _MOST_BITS)
        self.length, self.cap_bits = cube or (max(bits, 5), bits)
        self._sampler = make(epsilon, self.length, self.cap_bits)
        self.epsilon = epsilon
        self._inputs = small_vectors(self.length)
        self.num_inputs = len(self._inputs)
        self._corners: dict[int, Rows] = {}

    def sample(self, value: int, count: int) -> Rows:
        return self.draw(np.full(count, value, dtype=np.uint32), self._source)

    def draw(self, values: NDArray[np.uint32], source: RandomSource, /) -> Rows:
        """Corners as one whole number each; all rows of a call have one input."""
        bits = self._sampler.draw_ranks(len(values), source)
        ranks = bits.astype(np.int64) @ (1 << np.arange(self.length - 1, -1, -1))
        return np.asarray(self._order(int(values[0]))[ranks][:, None])

    def _order(self, value: int) -> Rows:
        """For one input the corner of every rank, from the code that ships."""
        if value not in self._corners:
            ranking = self._rank(self._inputs[value])
            corners = [ranking.corner(rank) for rank in range(1 << self.length)]
            powers = 1 << np.arange(self.length - 1, -1, -1)
            self._corners[value] = np.array(corners, dtype=np.int64) @ powers
        return self._corners[value]

    def worlds(self) -> Iterator[World]:
        for length, bits in SMALL_CUBES:
            for epsilon in sorted({*SMALL_EPSILONS, self.epsilon}):
                world = UnitSubject(
                    epsilon, 16, make=self._make, rank=self._rank, cube=(length, bits)
                )
                name = f"{length} coordinates, cap 2^-{bits}, ε = {epsilon:g}"
                yield World(world, min(world.num_inputs, 40), epsilon, name)

    def companion(self) -> Subject:
        return UnitSubject(
            1.0, 16, make=self._make, rank=self._rank, cube=(5, 2), source=self._source
        )

    def target(self, rows: Rows) -> NDArray[np.bool_]:
        """The corner lies in the cap of input 0."""
        return self._in_cap(rows)

    def target_draws(self) -> int:
        rare = 1 / (math.exp(self.epsilon) + 2**self.cap_bits - 1)
        return int(min(max(math.ceil(900 / rare), 2_000_000), 100_000_000))

    def truth(self, rows: Rows) -> tuple[NDArray[np.bool_], float]:
        """The cap written out here again, from products; the mechanism is not asked for it."""
        grown = math.exp(self.epsilon)
        return self._in_cap(rows), grown / (grown + 2**self.cap_bits - 1)

    def _in_cap(self, rows: Rows) -> NDArray[np.bool_]:
        """Which corners are among the 2^(L−k) with the largest product with input 0.

        Input 0 has weights of which no two subsets have one sum, so that no two products are equal.
        """
        corners = np.arange(1 << self.length)
        signs = 2 * (corners[:, None] >> np.arange(self.length - 1, -1, -1) & 1) - 1
        products = signs @ self._inputs[0]
        nearest = np.zeros(len(corners), dtype=np.bool_)
        nearest[np.argsort(-products, kind="stable")[: len(corners) >> self.cap_bits]] = True
        return np.asarray(nearest[rows[:, 0]])

    def refusal(self, rows: Rows) -> str | None:
        """Send corners of the whole cube through the wire format and compare what arrives."""
        sampler, count = self.mechanism.sampler, min(len(rows), 500)
        try:
            release = VectorRelease(
                keypoints=np.zeros((count, 2), dtype=np.float32),
                image_size=(1, 1),
                extractor="audit",
                signs=sampler.draw_ranks(count, self._source),
                dimension=self.mechanism.dimension or 0,
                cap_bits=sampler.cap_bits,
                epsilon=self.mechanism.epsilon,
            )
            arrived = Release.from_bytes(release.to_bytes())
        except InvalidInput as error:
            return str(error)
        return None if arrived == release else "the wire format changed the answers"

    def further_checks(self) -> tuple[Check, ...]:
        whole = self.mechanism.sampler
        made = self._make(self.epsilon, whole.length, whole.cap_bits)
        return _odds(made, self.epsilon), self._one_rank_each(made)

    def _one_rank_each(self, sampler: Any) -> Check:
        """In the whole cube: ranks and corners are one to one, and a lower rank is not farther."""
        generator = np.random.default_rng(0)
        weights = generator.integers(-20, 21, sampler.length)
        ranking = self._rank(weights)
        bits = sampler.draw_ranks(_PROBES, self._source)
        ranks = sorted({as_rank(row) for row in bits} | {0, 1, (1 << sampler.length) - 1})
        corners = [ranking.corner(rank) for rank in ranks]
        back = [ranking.rank(corner) for corner in corners] == ranks
        products = (2 * np.array(corners) - 1) @ weights
        falling = bool((np.diff(products) <= 0).all())
        detail = f"{len(ranks)} of 2^{sampler.length} ranks to corners and back, nearest first"
        return Check("one rank each", back and falling, detail)


def _odds(sampler: Any, epsilon: float) -> Check:
    """1 + r·K/(1 − r) ≤ e^ε for the cap of the whole cube, in fractions."""
    heads: Fraction = sampler.coin.probability
    ratio = 1 + heads * (1 << sampler.cap_bits) / (1 - heads)
    detail = f"the ratio of a corner in and outside a cap of 2^-{sampler.cap_bits}, in fractions"
    return Check("exact odds", ratio <= exp_bounds(epsilon)[0], detail)


def small_vectors(length: int) -> NDArray[np.int64]:
    """Inputs of a small cube: two opposite ones, then others, with ties, zeros and one sign."""
    first = 1 << np.arange(length)
    rows = [first, -first, first[::-1], np.ones(length, dtype=np.int64)]
    rows += list(np.eye(length, dtype=np.int64)) + list(-np.eye(length, dtype=np.int64))
    generator = np.random.default_rng(length)
    rows += list(generator.integers(-3, 4, (40, length)))
    return np.array([row for row in rows if np.any(row)], dtype=np.int64)
