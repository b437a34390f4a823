"""Estimates are unbiased and have the stated variance: 10⁴ repetitions, z below 4."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sfumato.classification.estimates import (
    count_answers,
    count_variance,
    estimate_counts,
    estimate_frequencies,
    estimate_mean,
    mean_variance,
)
from sfumato.classification.odds import response_odds
from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom

REPETITIONS = 10_000
WORLDS = [(0.5, 2), (1.0, 4), (2.0, 16), (0.1, 3)]


def repeated(epsilon: float, num_values: int) -> tuple[Any, Any]:
    """True counts of a skewed set, and the counts of its answers in every repetition."""
    truth = np.arange(num_values, 0, -1) ** 2 % 37 + 1
    values = np.repeat(np.arange(num_values), truth)
    mechanism = RandomizedResponse(epsilon, num_values)
    answers = mechanism.perturb(np.tile(values, (REPETITIONS, 1)), rng=SeededRandom(11)).values
    return truth, count_answers(answers.T, num_values)


def z_of_mean(samples: Any, expected: Any) -> float:
    error = samples.std(axis=0, ddof=1) / math.sqrt(len(samples))
    return float(np.abs((samples.mean(axis=0) - expected) / error).max())


def z_of_variance(samples: Any, expected: Any) -> float:
    """The variance of a sample variance comes from the fourth moment."""
    centred = samples - samples.mean(axis=0)
    found = (centred**2).mean(axis=0)
    error = np.sqrt(((centred**4).mean(axis=0) - found**2) / len(samples))
    return float(np.abs((found - expected) / error).max())


@pytest.mark.parametrize(("epsilon", "num_values"), WORLDS)
def test_counts_and_means_in_simulation(epsilon: float, num_values: int) -> None:
    truth, observed = repeated(epsilon, num_values)
    counts = estimate_counts(observed, epsilon)
    assert z_of_mean(counts.value, truth) < 4
    assert z_of_variance(counts.value, count_variance(truth, epsilon)) < 4
    total = truth.sum()
    frequencies = estimate_frequencies(observed, epsilon)
    assert z_of_mean(frequencies.value, truth / total) < 4
    assert z_of_variance(frequencies.value, count_variance(truth, epsilon) / total**2) < 4
    means = estimate_mean(observed, epsilon)
    assert z_of_mean(means.value, truth @ np.arange(num_values) / total) < 4
    assert z_of_variance(means.value, mean_variance(truth, epsilon)) < 4


@pytest.mark.parametrize(("epsilon", "num_values"), WORLDS[1:])
def test_estimated_variances_are_unbiased_too(epsilon: float, num_values: int) -> None:
    truth, observed = repeated(epsilon, num_values)
    estimate = estimate_counts(observed, epsilon).value
    # Linear in the counts, but for the clip at 0; with d = 2 they do not depend on them.
    assert z_of_mean(count_variance(estimate, epsilon), count_variance(truth, epsilon)) < 4
    assert z_of_mean(mean_variance(estimate, epsilon), mean_variance(truth, epsilon)) < 4


@pytest.mark.parametrize(("epsilon", "num_values"), [(1.0, 4), (2.0, 16)])
def test_the_paper_s_variance_of_the_mean_is_refuted(epsilon: float, num_values: int) -> None:
    """Eq. 27 leaves out covariances: it is wrong by far more than the simulation's error."""
    truth, observed = repeated(epsilon, num_values)
    values = np.arange(num_values)
    printed = (values**2 * count_variance(truth, epsilon)).sum() / truth.sum() ** 2
    means = estimate_mean(observed, epsilon).value
    assert z_of_variance(means, printed) > 10
    assert z_of_variance(means, mean_variance(truth, epsilon)) < 4


def test_the_counts_always_sum_to_n() -> None:
    """So eq. 28 is eq. 20, and the variance of the sum is 0 where eq. 32 has a positive one."""
    _, observed = repeated(1.0, 4)
    totals = estimate_counts(observed, 1.0).value.sum(axis=1)
    assert totals == pytest.approx(observed.sum(axis=1), abs=1e-9)
    grown = math.e
    assert 4 * (4 - 2 + grown) / (grown - 1) ** 2 > 1  # eq. 32 per answer


def test_equation_18_is_the_variance_as_written_per_answer() -> None:
    truth = np.array([10.0, 0.0, 5.0, 25.0])
    odds = response_odds(0.7, 4)
    n, p, q = truth.sum(), odds.keep, odds.other
    printed = n * q * (1 - q) / (p - q) ** 2 + truth * (1 - p - q) / (p - q)
    assert count_variance(truth, 0.7) == pytest.approx(printed)


def test_clean_answers_have_no_variance() -> None:
    counts = np.array([[3, 0, 7], [1, 1, 1]])
    assert (estimate_counts(counts, math.inf).value == counts).all()
    assert (estimate_counts(counts, math.inf).variance == 0).all()
    mean = estimate_mean(counts, math.inf)
    assert mean.value.tolist() == [1.4, 1.0]
    assert mean.variance == pytest.approx(0)


def test_answers_are_counted_along_the_first_axis() -> None:
    assert count_answers(np.array([0, 2, 2]), 3).tolist() == [1, 0, 2]
    assert count_answers(np.array([[0, 1], [2, 1]]), 3).tolist() == [[1, 0, 1], [0, 2, 0]]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: count_answers(np.array([0.5]), 2), "whole numbers"),
        (lambda: count_answers(np.array([0, 2]), 2), "between 0 and 1"),
        (lambda: estimate_counts(np.array([1, -1]), 1.0), "negative"),
        (lambda: estimate_counts(np.array([1, math.nan]), 1.0), "finite"),
        (lambda: estimate_counts(np.array([1]), 1.0), "at least 2 values"),
        (lambda: estimate_mean(np.array([0, 0]), 1.0), "at least one answer"),
        (lambda: estimate_counts(np.array([1, 1]), 0.0), "epsilon must be"),
        (lambda: estimate_counts(np.array([1, 1]), math.nan), "epsilon must be"),
    ],
)
def test_bad_input_is_refused(call: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        call()
