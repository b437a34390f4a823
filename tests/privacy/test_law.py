"""The exact law of what ships, enumerated."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.core.errors import InvalidInput
from sfumato.core.odds import exp_bounds
from sfumato.core.randomness import RandomSource, SecureRandom
from sfumato.privacy.law import check_law, distinct_rows, output_law, worst_ratio
from sfumato.privacy.subjects import SMALL_EPSILONS, SMALL_WORLDS, shipped_subset


@pytest.mark.parametrize(("num_words", "subset_size"), SMALL_WORLDS)
@pytest.mark.parametrize("epsilon", SMALL_EPSILONS)
def test_the_worst_ratio_is_epsilon_exactly(
    num_words: int, subset_size: int, epsilon: float
) -> None:
    mechanism = shipped_subset(epsilon, num_words, subset_size)
    laws = [output_law(mechanism, value) for value in range(num_words)]
    outputs = set(combinations(range(num_words), subset_size))
    for value, law in enumerate(laws):
        assert sum(law.values()) == 1
        assert set(law) == outputs
        # The corrected eq. 4: two levels, depending only on whether the value is in the set.
        kept = {chance for output, chance in law.items() if value in output}
        lost = {chance for output, chance in law.items() if value not in output}
        assert len(kept) == len(lost) == 1
    low, high = exp_bounds(epsilon)
    ratio = worst_ratio(laws)
    assert ratio is not None
    assert ratio <= low
    assert ratio >= high * (1 - Fraction(1, 2**38))


def test_all_worlds_of_the_promise_are_covered() -> None:
    assert set(SMALL_WORLDS) == {(k, m) for k in range(2, 7) for m in range(1, 4) if m < k}


def test_the_corrected_equation_4_is_the_law_and_the_printed_one_is_not() -> None:
    """|K| = 6, ω = 2: the printed formula sums to ω/|K| = 1/3."""
    epsilon, num_words, size = 1.0, 6, 2
    grown = math.exp(epsilon)
    below = size * grown + num_words - size
    sets = math.comb(num_words, size)
    with_v = math.comb(num_words - 1, size - 1)
    law = output_law(shipped_subset(epsilon, num_words, size), 0)
    assert float(law[(0, 3)]) == pytest.approx(num_words * grown / below / sets)
    assert float(law[(1, 3)]) == pytest.approx(num_words / below / sets)
    printed = size * grown / below / sets * with_v + size / below / sets * (sets - with_v)
    assert printed == pytest.approx(size / num_words)


@pytest.mark.parametrize("num_values", [2, 3, 16])
@pytest.mark.parametrize("epsilon", SMALL_EPSILONS)
def test_randomized_response_keeps_its_claim_exactly(num_values: int, epsilon: float) -> None:
    mechanism = RandomizedResponse(epsilon, num_values)
    assert check_law(mechanism, num_values, epsilon).holds
    law = output_law(mechanism, 1)
    grown = math.exp(epsilon)
    assert float(law[(1,)]) == pytest.approx(grown / (num_values - 1 + grown))
    assert mechanism.truth_probability == pytest.approx(float(law[(1,)]))


def test_the_sampler_agrees_with_its_law() -> None:
    mechanism = shipped_subset(1.5, 6, 3)
    law = output_law(mechanism, 2)
    draws = 400_000
    rows = mechanism.draw(np.full(draws, 2, dtype=np.uint32), SecureRandom())
    outputs, counts = np.unique(rows, axis=0, return_counts=True)
    assert {tuple(row) for row in outputs.tolist()} == set(law)
    for output, count in zip(outputs.tolist(), counts, strict=True):
        chance = float(law[tuple(output)])
        assert abs(count - draws * chance) < 6 * math.sqrt(draws * chance)


class DrawsAgain:
    """A sampler whose work depends on what it drew: it repeats a draw on collision."""

    def draw(self, true_words: NDArray[np.uint32], source: RandomSource) -> NDArray[Any]:
        answer = source.below(4, len(true_words))
        if (answer == true_words).any():
            answer = source.below(3, len(true_words))
        return answer[:, None]


class ReadsWords:
    """A sampler that reads raw words, past the exact draws."""

    def draw(self, true_words: NDArray[np.uint32], source: RandomSource) -> NDArray[Any]:
        return np.asarray(source.words(len(true_words), 32) % 4)[:, None]


@pytest.mark.parametrize(
    ("sampler", "sentence"), [(DrawsAgain(), "not constant"), (ReadsWords(), "raw random words")]
)
def test_samplers_that_cannot_be_enumerated_say_why(sampler: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        output_law(sampler, 1)


def test_worlds_too_large_to_enumerate_are_refused() -> None:
    with pytest.raises(InvalidInput, match="paths"):
        output_law(shipped_subset(1.0, 1000, 3), 0)


@pytest.mark.parametrize("span", [2, 50, 10**9, 2**31 - 1])
def test_different_rows_are_those_of_numpy(span: int) -> None:
    rows = np.random.default_rng(0).integers(-span, span, (500, 3))
    rows = np.concatenate([rows, rows[:100]])
    outputs, index = distinct_rows(rows)
    expected, inverse = np.unique(rows, axis=0, return_inverse=True)
    assert (outputs == expected).all()
    assert (index == inverse.reshape(-1)).all()
