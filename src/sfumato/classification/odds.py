"""The odds of randomized response, as learners need them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.odds import response_coin
from sfumato.core.releases import MAX_WORDS


@dataclass(frozen=True)
class Odds:
    """p for the true value, q for each other one; gap = p − q is what is left of the signal."""

    keep: float  # p
    other: float  # q
    gap: float


@lru_cache(maxsize=256)
def response_odds(epsilon: float, num_values: int) -> Odds:
    """p = e^ε/(d − 1 + e^ε), q = p/e^ε [dcaconv, eq. 1], from the coin that was really tossed."""
    check_epsilon(epsilon, allow_infinite=True)
    check_count("num_values", num_values, low=2, high=MAX_WORDS)
    kept = response_coin(epsilon, num_values).probability
    other = (1 - kept) / num_values
    return Odds(keep=float(kept + other), other=float(other), gap=float(kept))
