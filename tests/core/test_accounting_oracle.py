"""Exact composition beside Google's dp_accounting, which computes the same by other means."""

from __future__ import annotations

import math

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from sfumato.core.accounting import Composition, PrivateAnswer


def oracle(answer: PrivateAnswer, count: int, *, pessimistic: bool) -> pld.PrivacyLossDistribution:
    """`count` answers, from the probabilities of the three kinds of outputs."""

    gain, loss = answer.chances()
    first = {"true": gain, "other": loss, "neither": 1 - gain - loss}
    second = {"true": loss, "other": gain, "neither": 1 - gain - loss}
    once = pld.from_two_probability_mass_functions(
        {name: math.log(chance) for name, chance in first.items() if chance > 0},
        {name: math.log(chance) for name, chance in second.items() if chance > 0},
        pessimistic_estimate=pessimistic,
        value_discretization_interval=1e-3,
        log_mass_truncation_bound=-60,
    )
    return once.self_compose(count)


@pytest.mark.parametrize(
    ("epsilon", "num_values", "size", "count"),
    [(6.0, 16_384, 1, 10), (6.0, 4_096, 2, 300), (1.0, 16, 1, 500), (0.1, 2, 1, 3_136)],
)
def test_between_the_bounds_of_dp_accounting(
    epsilon: float, num_values: int, size: int, count: int
) -> None:
    answer = PrivateAnswer(epsilon, num_values, size)
    composition = Composition({answer: count})
    low, high = (oracle(answer, count, pessimistic=side) for side in (False, True))
    for delta in (1e-6, 1e-3):
        found = composition.epsilon(delta)
        assert low.get_epsilon_for_delta(delta) - 1e-6 <= found
        assert found <= high.get_epsilon_for_delta(delta) + 1e-6
    assert low.get_delta_for_epsilon(0) - 1e-9 <= composition.advantage
    assert composition.advantage <= high.get_delta_for_epsilon(0) + 1e-9


def test_mixed_answers_are_between_the_bounds_of_dp_accounting() -> None:
    kinds = {
        PrivateAnswer(6.0, 4_096, 2): 40,
        PrivateAnswer(2.5, 16): 60,
        PrivateAnswer(0.3, 2): 80,
    }
    low, high = (
        _together([oracle(a, n, pessimistic=side) for a, n in kinds.items()])
        for side in (False, True)
    )
    found = Composition(kinds).epsilon(1e-6)
    assert low.get_epsilon_for_delta(1e-6) - 1e-6 <= found
    assert found <= high.get_epsilon_for_delta(1e-6) + 1e-6


def _together(parts: list[pld.PrivacyLossDistribution]) -> pld.PrivacyLossDistribution:
    total = parts[0]
    for part in parts[1:]:
        total = total.compose(part)
    return total
