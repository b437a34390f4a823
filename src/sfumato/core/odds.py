"""Probabilities as integers, so that a guarantee does not hang on a float.

e^ε is irrational; it is enclosed between two fractions. A chance p becomes the coin
T/2^bits with T = ⌊p·2^bits⌋, computed from the enclosure and therefore never above p.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.core.errors import InvalidInput

_DIGITS = 80


def as_written(value: float) -> Fraction:
    """The decimal a person wrote: 0.1 is a tenth, not the nearest binary number above it."""
    return Fraction(repr(float(value)))


@lru_cache(maxsize=256)
def exp_bounds(epsilon: float) -> tuple[Fraction, Fraction]:
    """Two fractions that enclose e^ε, equal to about 78 digits.

    Python's decimal arithmetic rounds exp correctly, so the true value lies within one
    unit in the last place of the result.
    """
    if not math.isfinite(epsilon):
        raise InvalidInput(f"exp_bounds needs a finite exponent, got {epsilon!r}.")
    context = decimal.Context(prec=_DIGITS, rounding=decimal.ROUND_HALF_EVEN)
    value = context.exp(decimal.Decimal(repr(float(epsilon))))  # as written, see above
    return Fraction(context.next_minus(value)), Fraction(context.next_plus(value))


@dataclass(frozen=True)
class Coin:
    """A biased coin that shows heads with probability exactly threshold / 2^bits.

    >>> heads = sf.SecureRandom().coin(sf.Coin(2**63), 1000)  # a fair one
    >>> int(heads.sum()) in range(400, 600)
    True
    """

    threshold: int
    bits: int = 64

    def __post_init__(self) -> None:
        if self.bits % 64 or self.bits <= 0 or not 0 <= self.threshold <= 1 << self.bits:
            raise InvalidInput(
                "a coin needs a threshold between 0 and 2^bits and bits in multiples of 64, "
                f"got bits={self.bits}."
            )

    @property
    def probability(self) -> Fraction:
        return Fraction(self.threshold, 1 << self.bits)


def subset_coin(epsilon: float, num_words: int, subset_size: int) -> Coin:
    """The coin of the ω-subset mechanism: keep the true word or not.

    p = ω·e^ε / (ω·e^ε + |K| − ω)                                        [ldp-feat, eq. 5]

    Rounded down, the ratio Pr(Z|v) / Pr(Z|v') = p/(1−p)·(|K|−ω)/ω of a v in Z and a v' outside
    it stays at or below e^ε. The opposite ratio could only break where p is so small that the
    rounding matters.
    """
    if math.isinf(epsilon):
        return Coin(1 << 64)
    others = num_words - subset_size
    low, _ = exp_bounds(epsilon)
    chance = subset_size * low / (subset_size * low + others)
    return _round_down(chance, epsilon, lambda heads, tails: (heads * others, tails * subset_size))


def response_coin(epsilon: float, num_values: int) -> Coin:
    """The coin of d-ary randomized response: keep the value, or draw from all d values.

    Keeping with r = p − q = (e^ε − 1)/(e^ε − 1 + d) and drawing uniformly otherwise gives
    p = e^ε/(d − 1 + e^ε) for the true value and q = p/e^ε for each other one [dcaconv, eq. 1].
    """
    if math.isinf(epsilon):
        return Coin(1 << 64)
    low, _ = exp_bounds(epsilon)
    chance = (low - 1) / (low - 1 + num_values)
    return _round_down(chance, epsilon, lambda heads, tails: (heads * num_values + tails, tails))


def _round_down(
    chance: Fraction, epsilon: float, likelihoods: Callable[[int, int], tuple[int, int]]
) -> Coin:
    """The coarsest coin at or below `chance` that keeps both likelihood ratios within e^ε.

    `likelihoods` turns the two sides of the coin into the two likelihoods of one output, up to
    a common factor. Bits are added until the ratios hold in whole numbers, and until neither
    side is so rare that rounding would shift it by more than one part in 2^40.
    """
    low, _ = exp_bounds(epsilon)
    for bits in range(64, 8193, 64):
        heads = (chance.numerator << bits) // chance.denominator
        tails = (1 << bits) - heads
        if min(heads, tails).bit_length() <= 40:
            continue
        likely, unlikely = likelihoods(heads, tails)
        if (
            likely * low.denominator <= low.numerator * unlikely
            and unlikely * low.denominator <= low.numerator * likely
        ):
            return Coin(heads, bits)
    raise InvalidInput(
        f"epsilon={epsilon!r} needs more than 8192 random bits per draw to be exact; "
        "use a larger epsilon."
    )
