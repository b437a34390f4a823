"""Probabilities as integers, so that a guarantee does not hang on a float.

e^ε is irrational; it is enclosed between two fractions. A chance p becomes the coin
T/2^bits with T = ⌊p·2^bits⌋, computed from the enclosure and therefore never above p.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.core.errors import InvalidInput

_DIGITS = 80


@lru_cache(maxsize=256)
def exp_bounds(epsilon: float) -> tuple[Fraction, Fraction]:
    """Two fractions that enclose e^ε, equal to about 78 digits.

    Python's decimal arithmetic rounds exp correctly, so the true value lies within one
    unit in the last place of the result.
    """
    if not math.isfinite(epsilon):
        raise InvalidInput(f"exp_bounds needs a finite exponent, got {epsilon!r}.")
    context = decimal.Context(prec=_DIGITS, rounding=decimal.ROUND_HALF_EVEN)
    value = context.exp(decimal.Decimal(epsilon))
    return Fraction(context.next_minus(value)), Fraction(context.next_plus(value))


@dataclass(frozen=True)
class Coin:
    """A biased coin that shows heads with probability exactly threshold / 2^bits."""

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

    The coin is rounded down, so Pr(Z|v)/Pr(Z|v') = p/(1−p)·(|K|−ω)/ω ≤ e^ε for v in Z and
    v' not; the opposite ratio could only break when p is so small that rounding matters.
    Both are checked here, in integers, and more bits are taken until both hold.
    """
    if math.isinf(epsilon):
        return Coin(1 << 64)
    low, _ = exp_bounds(epsilon)
    others = num_words - subset_size
    chance = subset_size * low / (subset_size * low + others)
    bits = 64
    while bits <= 8192:
        threshold = (chance.numerator << bits) // chance.denominator
        miss = (1 << bits) - threshold
        # ratio ≤ low, written without division: both sides are whole numbers.
        kept_fits = threshold * others * low.denominator <= low.numerator * miss * subset_size
        lost_fits = miss * subset_size * low.denominator <= low.numerator * threshold * others
        if threshold and kept_fits and lost_fits:
            return Coin(threshold, bits)
        bits += 64
    raise InvalidInput(
        f"epsilon={epsilon!r} with {num_words} words needs more than 8192 random bits per "
        "descriptor to be exact; use a larger epsilon."
    )
