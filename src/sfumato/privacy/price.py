"""What a setting costs, in the three units people pay in: one place for planner and frontier.

total    N·ε, the largest loss a picture can have
picture  E at δ = 1e-6 of all descriptors of a picture together
object   the advantage of whoever tells two contents of one object apart

Compared are contents with the same number of keypoints at the same positions; those are not
protected (docs/whole-picture.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from sfumato.core.accounting import DELTA, Composition, PrivateAnswer
from sfumato.core.checks import as_number
from sfumato.core.errors import InvalidInput

#: Units of a price, by the names that options take.
UNITS = ("total", "picture", "object")


@dataclass(frozen=True)
class Price:
    """What one picture pays.

    total        N·ε
    picture      E at δ = 1e-6
    true_words   how many true words are sent, on average
    seen_by      how many descriptors see the object; None where no object is named
    object       the advantage for it, 0 to 1, and object_epsilon its E at δ = 1e-6
    """

    total: float
    picture: float
    true_words: float
    seen_by: int | None = None
    object: float | None = None
    object_epsilon: float | None = None

    def in_unit(self, unit: str) -> float:
        """The price in one unit."""
        value: float | None = getattr(self, check_unit(unit))
        if value is None:
            raise InvalidInput("a price per object needs an object: say how many see it.")
        return value


def check_unit(unit: str) -> str:
    """Refuse a unit that is none."""
    if unit not in UNITS:
        raise InvalidInput(f"unit must be one of {', '.join(UNITS)}, got {unit!r}.")
    return unit


def price_of(answer: PrivateAnswer, num_keypoints: int, seen_by: int | None = None) -> Price:
    """What a picture of so many keypoints pays, each answered like this.

    seen_by  how many of the descriptors see the object that one asks about

    >>> from sfumato.privacy.price import price_of
    >>> paid = price_of(sf.PrivateAnswer(6.0, 16_384), 1104, seen_by=10)
    >>> paid.total, round(paid.picture), round(paid.object, 3)
    (6624.0, 323, 0.215)
    """
    total, picture, true_words, _ = _composed(answer, num_keypoints)
    if seen_by is None:
        return Price(total, picture, true_words)
    seen_by = min(seen_by, num_keypoints)
    _, epsilon, _, advantage = _composed(answer, seen_by)
    return Price(total, picture, true_words, seen_by, advantage, epsilon)


@lru_cache(maxsize=4096)
def _composed(answer: PrivateAnswer, count: int) -> tuple[float, float, float, float]:
    together = Composition({answer: count})
    return together.largest, together.epsilon(DELTA), together.expected_true, together.advantage


def largest_epsilon(
    price: Callable[[float], Price], unit: str, limit: float, *, most: float, step: float = 0.1
) -> float | None:
    """The largest ε, a multiple of `step` up to `most`, whose price is within the limit.

    price  of an ε; it must grow with it. None where no ε is cheap enough.

    >>> from sfumato.privacy.price import largest_epsilon, price_of
    >>> def paid(epsilon):
    ...     return price_of(sf.PrivateAnswer(epsilon, 16_384), 1104)
    >>> largest_epsilon(paid, "picture", 1000.0, most=16.0)
    7.2
    """
    check_limit(unit, limit)
    low, high = 0, math.floor(most / step + 1e-9)  # in steps; low costs nothing, it is never tried
    while low < high:
        middle = (low + high + 1) // 2
        if price(_in_steps(middle, step)).in_unit(unit) <= limit:
            low = middle
        else:
            high = middle - 1
    return _in_steps(low, step) if low else None


def _in_steps(count: int, step: float) -> float:
    return round(count * step, 9)


def check_limit(unit: str, limit: float) -> float:
    """A limit on a price: above 0, and of an advantage at most 1."""
    value = as_number("the limit on the price", limit)
    if not (value > 0 and math.isfinite(value)) or (check_unit(unit) == "object" and value > 1):
        what = "above 0 and at most 1, an advantage" if unit == "object" else "above 0 and finite"
        raise InvalidInput(f"the limit on the price per {unit} must be {what}, got {limit!r}.")
    return value


def price_text(price: Price, unit: str) -> str:
    """A price in one unit, as tables show it."""
    value = price.in_unit(unit)
    return f"{value:.3f}" if unit == "object" else f"{value:,.0f}"
