"""A price in each unit, and the largest ε that a limit on it allows."""

from __future__ import annotations

import math

import pytest

from sfumato.core.accounting import PrivateAnswer
from sfumato.core.errors import InvalidInput
from sfumato.privacy.price import Price, check_limit, largest_epsilon, price_of, price_text

ANSWER = PrivateAnswer(8.0, 16_384)


def test_a_picture_costs_what_the_page_on_whole_pictures_says() -> None:
    paid = price_of(ANSWER, 1104, seen_by=10)
    assert paid.total == 8832
    assert round(paid.picture) == 1832
    assert round(paid.true_words) == 170
    assert round(paid.object or 0, 3) == 0.812
    assert round(paid.object_epsilon or 0) == 64


def test_an_object_is_seen_by_no_more_descriptors_than_there_are() -> None:
    assert price_of(ANSWER, 4, seen_by=10).seen_by == 4
    assert price_of(ANSWER, 4).object is None
    with pytest.raises(InvalidInput, match="needs an object"):
        price_of(ANSWER, 4).in_unit("object")


@pytest.mark.parametrize(("unit", "limit"), [("total", 3000), ("picture", 500), ("object", 0.3)])
def test_the_largest_epsilon_is_within_the_limit_and_the_next_one_is_not(
    unit: str, limit: float
) -> None:
    def paid(epsilon: float) -> Price:
        return price_of(PrivateAnswer(epsilon, 4096, 2), 600, seen_by=12)

    found = largest_epsilon(paid, unit, limit, most=16.0)
    assert found is not None
    assert paid(found).in_unit(unit) <= limit < paid(found + 0.1).in_unit(unit)
    assert largest_epsilon(paid, unit, limit, most=0.5) == 0.5
    assert largest_epsilon(paid, unit, 1e-6, most=16.0) is None


@pytest.mark.parametrize(
    ("unit", "limit"), [("total", 0), ("picture", math.inf), ("object", 1.5), ("object", math.nan)]
)
def test_limits_that_are_none_are_refused(unit: str, limit: float) -> None:
    with pytest.raises(InvalidInput, match="limit on the price"):
        check_limit(unit, limit)


def test_units_are_named_where_one_is_unknown() -> None:
    with pytest.raises(InvalidInput, match="total, picture, object"):
        check_limit("minute", 1.0)
    assert price_text(price_of(ANSWER, 1104), "picture") == "1,832"
    assert price_text(price_of(ANSWER, 1104, 10), "object") == "0.812"
