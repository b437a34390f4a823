"""How large a cap PrivUnit favours, by ε and by what its answers are for.

The nearest 2^−k of all corners are favoured. A small cap lies close to the vector and is missed
often; a large one is hit nearly always and says little. k is fixed by ε and the aim alone, so it
tells nothing about a vector.

Products with a fixed direction are taken as normal, in units of 1/√n. That holds for the corners of
a cube of some dimensions, and the number of dimensions then drops out.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from sfumato.core.vector_release import MAX_CAP_BITS

AIMS = ("match", "mean")

#: Cosine of two vectors of one thing: that of two pictures of one public face, seen along the
#: directions of public faces. Between .7 and .9 the best k changes by one at ε ≤ 12.
_LIKENESS = 0.85
_PLACES, _THRESHOLDS = 16, 24  # how finely the expected accuracy is computed
_NORMAL = NormalDist()


@lru_cache(maxsize=256)
def best_cap_bits(epsilon: float, aim: str = "match") -> int:
    """k for an ε: what serves the aim best; see `PrivUnit`.

    >>> from sfumato.device.mechanisms.cap_size import best_cap_bits
    >>> [best_cap_bits(epsilon) for epsilon in (2, 6, 10, 16)]
    [2, 5, 9, 16]
    """
    serves = expected_accuracy if aim == "match" else expected_product
    highest = min(math.ceil(epsilon / math.log(2)) + 2, MAX_CAP_BITS)
    return max(range(1, highest + 1), key=lambda bits: serves(epsilon, bits))


def expected_product(epsilon: float, bits: int) -> float:
    """r·φ(x)/q with q = 2^−k and x = Φ⁻¹(1 − q): the mean product of the answer and the vector."""
    share = 2.0**-bits
    return heads(epsilon, bits) * _NORMAL.pdf(_NORMAL.inv_cdf(share)) / share


def expected_accuracy(epsilon: float, bits: int) -> float:
    """Right answers of "the same?" at the best threshold t, both answers being equally likely.

    A vector with cosine c to the one that was sent has the product c·X + √(1 − c²)·G with the
    answer, X of the upper 2^−k of a normal law where the coin shows heads; an unrelated one has G:

        ½ + ½·r·max over t of Pr(c·X + √(1 − c²)·G > t) − Pr(G > t)
    """
    share, rest = 2.0**-bits, math.sqrt(1 - _LIKENESS**2)
    inside = [-_NORMAL.inv_cdf(share * (i + 0.5) / _PLACES) for i in range(_PLACES)]

    def gained(threshold: float) -> float:
        seen = sum(_NORMAL.cdf((_LIKENESS * x - threshold) / rest) for x in inside) / _PLACES
        return seen - _NORMAL.cdf(-threshold)

    highest = _LIKENESS * inside[0]
    best = max(gained(highest * (i + 1) / _THRESHOLDS) for i in range(_THRESHOLDS))
    return (1 + heads(epsilon, bits) * best) / 2


def heads(epsilon: float, bits: int) -> float:
    """r = (e^ε − 1)/(e^ε − 1 + 2^k), the chance that the cap is favoured."""
    return 1 / (1 + 2.0**bits / math.expm1(epsilon))
