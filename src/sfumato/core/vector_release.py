"""A release of whole vectors, each under one ε: the corner of a cube that PrivUnit drew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.accounting import PrivateAnswer
from sfumato.core.checks import (
    check_count,
    check_epsilon,
    check_fingerprint,
    check_indices,
    check_shape,
)
from sfumato.core.cube import MAX_LENGTH, corner_length, turn_back
from sfumato.core.frozen import frozen_array
from sfumato.core.release_base import KeypointRelease
from sfumato.core.text import epsilon_text

#: The fingerprint of no space: vectors are sent as they are, brought to length one.
NO_SPACE = "0" * 64
MAX_CAP_BITS = 62


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VectorRelease(KeypointRelease):
    """One corner of a cube for each vector, probably one of those nearest to it.

    signs      (N, L) uint8, 1 where the corner has +1 and 0 where it has −1
    dimension  n of the vectors; L is the power of two that `core/cube.py` makes of it
    cap_bits   k: the nearest 2^−k of all corners are favoured
    epsilon    the guarantee for one whole vector
    space      fingerprint of the public map that made the vectors; zeros where there is none

    >>> faces = np.random.default_rng(0).normal(size=(1, 128))
    >>> sf.PrivUnit(10, 128).send(faces, rng=sf.SecureRandom())
    VectorRelease(1 keypoint, a corner of 2^128 for a vector of 128 numbers, ε = 10 per vector)
    """

    signs: NDArray[np.uint8]
    dimension: int
    cap_bits: int
    epsilon: float
    space: str = NO_SPACE

    kind: ClassVar[str] = "vectors"
    _row_fields: ClassVar[tuple[str, ...]] = ("signs",)

    def _check_rows(self, count: int) -> None:
        self._set("epsilon", check_epsilon(self.epsilon))
        self._set("dimension", check_count("dimension", self.dimension, low=2, high=MAX_LENGTH))
        self._set("space", check_fingerprint(self.space))
        length = corner_length(self.dimension)
        highest = min(length, MAX_CAP_BITS)
        self._set("cap_bits", check_count("cap_bits", self.cap_bits, low=1, high=highest))
        signs = check_indices("signs", self.signs, 2)
        check_shape("signs", signs, (count, length))
        self._set("signs", frozen_array("signs", signs, np.uint8))

    @property
    def private_answer(self) -> PrivateAnswer:
        """One vector, as exact composition counts it."""
        return PrivateAnswer(self.epsilon, 1 << self.cap_bits)

    def directions(self) -> NDArray[np.float64]:
        """(N, n) of length one: where each vector probably points. Anyone can compute this."""
        corners = 2.0 * self.signs - 1.0
        found = turn_back(corners, self.dimension)
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))

    def __repr__(self) -> str:
        seeded = ", reproducible: not for sending" if self.reproducible else ""
        rows = f"{len(self)} keypoint{'' if len(self) == 1 else 's'}"
        return f"VectorRelease({rows}{self._describe()}{seeded})"

    def _describe(self) -> str:
        bound = epsilon_text(self.epsilon, "vector")
        length = corner_length(self.dimension)
        return f", a corner of 2^{length} for a vector of {self.dimension} numbers, {bound}"
