"""The ε of each answer from the E of all: never too much, and as much as possible."""

from __future__ import annotations

import math

import pytest

from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato.core.errors import InvalidInput
from sfumato.core.spending import epsilon_per_answer


def exact(epsilon: float, count: int, num_values: int | None, size: int = 1) -> float:
    return Composition({PrivateAnswer(epsilon, num_values, size): count}).epsilon()


@pytest.mark.parametrize("total", [0.3, 1.0, 8.0, 41.5, 500.0])
@pytest.mark.parametrize("count", [1, 3, 64, 3_136])
@pytest.mark.parametrize(("num_values", "size"), [(2, 1), (16, 3), (None, 1)])
def test_the_total_is_kept_and_nearly_used_up(
    total: float, count: int, num_values: int | None, size: int
) -> None:
    epsilon = epsilon_per_answer(total, count, num_values=num_values, subset_size=size)
    assert epsilon >= total / count * (1 - 1e-12)
    assert exact(epsilon, count, num_values, size) <= total
    assert exact(epsilon * 1.0001, count, num_values, size) > total


def test_one_code_may_have_all_of_it_and_many_codes_more_than_their_share() -> None:
    assert epsilon_per_answer(2.0, 1, num_values=2) == 2.0
    assert epsilon_per_answer(41.5, 3_136, num_values=2) == pytest.approx(0.1, rel=0.001)
    assert epsilon_per_answer(8.0, 64, num_values=2) > 1.5 * 8 / 64


def test_a_smaller_delta_allows_less() -> None:
    by_delta = [epsilon_per_answer(4.0, 100, num_values=2, delta=d) for d in (1e-3, 1e-6, 1e-12)]
    assert by_delta[0] > by_delta[1] > by_delta[2] > 4.0 / 100


@pytest.mark.parametrize("total", [0.0, -1.0, math.inf, math.nan])
def test_a_total_that_is_none_is_refused(total: float) -> None:
    with pytest.raises(InvalidInput, match="total"):
        epsilon_per_answer(total, 3)


def test_no_answers_and_no_delta_are_refused() -> None:
    with pytest.raises(InvalidInput, match="count"):
        epsilon_per_answer(1.0, 0)
    with pytest.raises(InvalidInput, match="delta"):
        epsilon_per_answer(1.0, 3, delta=0.0)


def test_where_any_epsilon_keeps_the_total_the_search_ends() -> None:
    found = epsilon_per_answer(1.0, 1, num_values=100, subset_size=99, delta=0.5)
    assert 64 < found < math.inf
