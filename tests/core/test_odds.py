"""Probabilities as integers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from sfumato.core.errors import InvalidInput
from sfumato.core.odds import as_written, exp_bounds, response_coin, subset_coin


@pytest.mark.parametrize("epsilon", [0.001, 0.5, 1.0, math.log(2), 10.0, 64.0])
def test_e_to_the_epsilon_is_enclosed(epsilon: float) -> None:
    low, high = exp_bounds(epsilon)
    assert low < high
    assert (high - low) / low < Fraction(1, 10**75)
    assert float(low) == pytest.approx(math.exp(epsilon), rel=1e-15)
    # The series of e^x, summed in fractions until its rest is far below the enclosure.
    x, term, total = as_written(epsilon), Fraction(1), Fraction(1)
    for k in range(1, 400):
        term = term * x / k
        total += term
    assert low <= total <= high


@pytest.mark.parametrize(
    ("subset_size", "epsilon", "expected"),
    [
        (1, 10, 0.079),
        (2, 10, 0.147),
        (4, 10, 0.256),
        (8, 10, 0.408),
        (16, 10, 0.579),
        (2, 12, 0.560),
        (2, 14, 0.904),
        (2, 16, 0.986),
    ],
)
def test_keep_probabilities_at_256000_words(
    subset_size: int, epsilon: float, expected: float
) -> None:
    chance = float(subset_coin(epsilon, 256_000, subset_size).probability)
    assert round(chance, 3) == expected


@pytest.mark.parametrize("num_words", [2, 3, 64, 256_000, 2**24, 2**1024])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 10.0, 64.0])
def test_a_subset_coin_is_below_its_chance_and_close_to_it(num_words: int, epsilon: float) -> None:
    low, high = exp_bounds(epsilon)
    coin = subset_coin(epsilon, num_words, 1)
    heads, tails = coin.probability, 1 - coin.probability
    ratio = heads / tails * (num_words - 1)
    assert ratio <= low
    assert 1 / ratio <= low
    assert ratio >= high * (1 - Fraction(1, 2**38))


@pytest.mark.parametrize("num_values", [2, 3, 16, 1000])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 10.0])
def test_a_response_coin_is_below_its_chance_and_close_to_it(
    num_values: int, epsilon: float
) -> None:
    low, high = exp_bounds(epsilon)
    keep = response_coin(epsilon, num_values).probability
    other = (1 - keep) / num_values
    assert (keep + other) / other <= low
    assert (keep + other) / other >= high * (1 - Fraction(1, 2**38))


def test_an_infinite_epsilon_always_keeps() -> None:
    assert subset_coin(math.inf, 100, 1).probability == 1
    with pytest.raises(InvalidInput):
        exp_bounds(math.inf)
