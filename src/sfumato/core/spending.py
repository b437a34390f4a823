"""The other way round: which ε each answer may have, so that all of them stay within a total."""

from __future__ import annotations

import math

from sfumato.core.accounting import DELTA, MOST_ANSWERS, Composition, PrivateAnswer, check_delta
from sfumato.core.checks import MAX_EPSILON, as_number, check_count
from sfumato.core.errors import InvalidInput

_PRECISION = 1e-6  # relative; what is returned is below the largest ε by at most this share


def epsilon_per_answer(
    total: float,
    count: int,
    *,
    num_values: int | None = None,
    subset_size: int = 1,
    delta: float = DELTA,
) -> float:
    """The largest ε at which `count` answers together are (total, delta)-private.

    Rounded down: the exact E of what is returned is at most `total`. Where hardly more than
    total/count is possible, it is total/count, which holds for delta = 0 as well. Above 64, which
    no mechanism takes, nothing larger is sought: a large delta may allow any ε.

    >>> sf.epsilon_per_answer(1.0, 1, num_values=2)  # one code
    1.0
    >>> round(sf.epsilon_per_answer(8.0, 64, num_values=2), 4)  # 8/64 would be 0.125
    0.1999
    """
    wanted, tolerated = as_number("total", total), check_delta(delta)
    if not 0 < wanted < math.inf:
        raise InvalidInput(f"total must be above 0 and finite, got {total!r}.")
    answers = check_count("count", count, low=1, high=MOST_ANSWERS)

    def fits(epsilon: float) -> bool:
        answer = PrivateAnswer(epsilon, num_values, subset_size)
        return Composition({answer: answers}).epsilon(tolerated) <= wanted

    even = wanted / answers
    while not fits(even):  # by a rounding of the division
        even = math.nextafter(even, 0.0)
    low, high = even, 2 * even
    while fits(high):
        low, high = high, 2 * high
        if low > MAX_EPSILON:
            return low
    while high - low > _PRECISION * low:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low if low > even * (1 + 10 * _PRECISION) else even
