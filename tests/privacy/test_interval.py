"""Intervals of shares, where answers resemble each other."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.privacy.interval import clustered_wilson, wilson


@pytest.mark.parametrize("localized", [0, 3, 10])
def test_intervals_hold_the_share(localized: int) -> None:
    low, high = wilson(localized, 10)
    assert 0 <= low <= localized / 10 <= high <= 1
    assert high - low > 0.2


def test_alike_answers_count_as_one_and_unlike_ones_as_many() -> None:
    alike = clustered_wilson([[True] * 8] * 5 + [[False] * 8] * 5)
    assert alike == pytest.approx(wilson(5, 10))
    mixed = clustered_wilson([[True, False] * 4] * 10)
    assert mixed[1] - mixed[0] < 0.6 * (alike[1] - alike[0])
    assert clustered_wilson([[True] * 8] * 10) == pytest.approx(wilson(10, 10))


def test_intervals_of_clustered_answers_hold_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(300):
        easy = rng.beta(2, 1, 10)  # of ten stretches; mean 2/3
        low, high = clustered_wilson([list(rng.random(8) < one) for one in easy])
        held += low <= 2 / 3 <= high
    assert held >= 0.9 * 300
