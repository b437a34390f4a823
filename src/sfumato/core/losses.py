"""Distributions of privacy losses, and what their sums promise.

The privacy loss of an answer z is log Pr(z | x) / Pr(z | x') for two inputs x and x'. Losses of
independent answers add up. A sum L of them promises (E, δ) for every E, with

    δ(E) = Σ_l Pr(L = l)·(1 − e^(E − l))₊ .

Everything is kept in non-negative numbers that are only added and multiplied, so each one is
right to a relative error that is carried along; what was cut off, or is uncertain because a long
convolution went through a Fourier transform, is carried along too: a result is never below the
truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_ROUNDING = float(np.finfo(np.float64).eps)
_CUT = 1e-34  # probability that may be cut from each end of a distribution
_DIRECT = 1024  # longer convolutions go through a Fourier transform


@dataclass(frozen=True)
class LossDistribution:
    """Pr(L = (first + i)·step) for i = 0, 1, …

    cut       what may be missing from the table or wrong in it, as a sum of probabilities
    relative  every entry is within this factor of the truth, up or down
    """

    step: float
    first: int
    chances: NDArray[np.float64]
    cut: float = 0.0
    relative: float = 0.0

    @property
    def losses(self) -> NDArray[np.float64]:
        steps = self.first + np.arange(len(self.chances), dtype=np.float64)
        return steps * self.step

    def plus(self, other: LossDistribution) -> LossDistribution:
        """The loss of two independent answers; both must have the same step."""
        chances, error = _convolve(self.chances, other.chances)
        terms = min(len(self.chances), len(other.chances))
        total = LossDistribution(
            step=self.step,
            first=self.first + other.first,
            chances=chances,
            cut=self.cut + other.cut + error,
            relative=self.relative + other.relative + 2 * (terms + 1) * _ROUNDING,
        )
        return total.without_tails()

    def times(self, count: int) -> LossDistribution:
        """The loss of `count` independent answers, by repeated doubling."""
        total: LossDistribution | None = None
        power = self
        while True:
            if count & 1:
                total = power if total is None else total.plus(power)
            count >>= 1
            if not count:
                break
            power = power.plus(power)
        return total if total is not None else LossDistribution(self.step, 0, np.ones(1))

    def without_tails(self) -> LossDistribution:
        """The same without its ends, as far as they hardly count beside what is cut already."""
        little = max(_CUT, self.cut / 16)
        low = int(np.searchsorted(np.cumsum(self.chances), little, side="right"))
        high = int(np.searchsorted(np.cumsum(self.chances[::-1]), little, side="right"))
        if low + high >= len(self.chances) or low + high == 0:
            return self
        kept = self.chances[low : len(self.chances) - high]
        cut = self.cut + 2 * little
        return LossDistribution(self.step, self.first + low, kept, cut, self.relative)

    def on_grid(self, step: float, *, pessimistic: bool) -> LossDistribution:
        """The same losses on multiples of another step.

        Pessimistic: each chance is divided between its two neighbours on the grid so that its
        probability under both inputs stays the same. That spreads the likelihood ratio, so no
        promise gets better, and moves δ only in the second order of the step. Otherwise each loss
        is rounded down, so no promise gets worse.
        """
        exact = self.losses / step
        below = np.floor(exact)
        if pessimistic:
            distance = (exact - below) * step
            # Of a loss l between a and b = a + step: (1 − e^(a−l)) / (1 − e^(a−b)) goes up.
            up = np.expm1(-distance) / math.expm1(-step)
        else:
            up = np.zeros_like(exact)
        first = int(below[0])
        where = (below - first).astype(np.intp)
        size = int(where[-1]) + 2
        chances = np.bincount(where, self.chances * (1 - up), size).astype(np.float64)
        chances += np.bincount(where + 1, self.chances * up, size)
        relative = self.relative + 16 * _ROUNDING
        return LossDistribution(step, first, chances, self.cut, relative).without_tails()

    def delta(self, epsilon: float) -> float:
        """δ(E), rounded up."""
        losses = self.losses
        above = losses > epsilon
        total = float(np.dot(self.chances[above], -np.expm1(epsilon - losses[above])))
        terms = len(losses) + 8
        return min(total * (1 + self.relative) * (1 + terms * _ROUNDING) + self.cut, 1.0)

    def epsilon(self, delta: float) -> float:
        """An E ≥ 0 with δ(E) ≤ delta, at most 1e-12 of the range above the smallest one.

        ∞ where the table cannot tell, because more than delta was cut from it.
        """
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, max(float(self.losses[-1]), 0.0)
        if self.delta(high) > delta:
            return math.inf
        for _ in range(40):
            middle = (low + high) / 2
            if self.delta(middle) <= delta:
                high = middle
            else:
                low = middle
        return high


def _convolve(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Their convolution, and the largest possible sum of absolute errors beyond rounding.

    Short ones term by term, where every entry keeps its relative precision. Long ones by Fourier
    transform, whose error is absolute: each entry is wrong by at most 10·u·log2(n)·‖a‖·‖b‖, a
    generous constant for transforms whose length is a power of two.
    """
    if min(len(first), len(second)) <= _DIRECT:
        return np.convolve(first, second), 0.0
    size = len(first) + len(second) - 1
    length = 1 << (size - 1).bit_length()
    product = np.fft.rfft(first, length) * np.fft.rfft(second, length)
    chances = np.maximum(np.fft.irfft(product, length)[:size], 0.0)
    norms = float(np.linalg.norm(first) * np.linalg.norm(second))
    return chances, 10 * _ROUNDING * math.log2(length) * norms * length
