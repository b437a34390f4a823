"""Exact composition: known values, every output of small worlds, and directed rounding."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sfumato.core.accounting import Composition, PrivateAnswer, compose
from sfumato.core.errors import InvalidInput
from sfumato.core.losses import LossDistribution

PAGE = Path(__file__).parents[2] / "docs" / "whole-picture.md"


def table() -> list[list[float]]:
    """The rows of the page: N, ε, |K|, N·ε, E, true words; E and advantage of ten descriptors."""
    rows = re.findall(r"^\| [\d,]+ \|.*$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [
        [float(cell.replace(",", "")) for cell in row.split("|") if cell.strip()] for row in rows
    ]


def composed(epsilon: float, num_values: int | None, count: int, size: int = 1) -> Composition:
    return Composition({PrivateAnswer(epsilon, num_values, size): count})


def test_every_value_of_the_table_in_the_docs() -> None:
    rows = table()
    assert len(rows) == 6
    for count, epsilon, num_words, largest, total, true_words, object_total, advantage in rows:
        picture = composed(epsilon, int(num_words), int(count))
        small_face = composed(epsilon, int(num_words), 10)
        assert picture.largest == largest
        assert round(picture.epsilon(1e-6)) == total
        assert picture.expected_true == pytest.approx(true_words, rel=0.003)
        assert round(small_face.epsilon(1e-6)) == object_total
        assert round(small_face.advantage, 3) == advantage


def test_codes_of_a_picture_cost_what_is_known() -> None:
    assert composed(0.1, 2, 3_136).epsilon(1e-6) == pytest.approx(41.5, abs=0.05)
    assert round(composed(1.0, 16, 3_645).epsilon(1e-6)) == 482


@pytest.mark.parametrize(
    ("epsilon", "num_words", "wanted", "advantage"),
    [(6.0, 4_096, 42, 0.607), (4.0, 4_096, 16, 0.122)],
)
def test_ten_descriptors_and_a_smaller_dictionary(
    epsilon: float, num_words: int, wanted: float, advantage: float
) -> None:
    small_face = composed(epsilon, num_words, 10)
    assert round(small_face.epsilon(1e-6)) == wanted
    assert round(small_face.advantage, 3) == advantage


def law(answer: PrivateAnswer) -> Iterator[tuple[float, float]]:
    """Pr(output | value 0) and Pr(output | value 1) of every output, from the definition."""
    num_values, size = answer.num_values or 2, answer.subset_size
    outputs = list(itertools.combinations(range(num_values), size))
    weight = [
        [math.exp(answer.epsilon) if value in output else 1.0 for output in outputs]
        for value in (0, 1)
    ]
    total = sum(weight[0])
    for first, second in zip(*weight, strict=True):
        yield first / total, second / total


SMALL = [
    (PrivateAnswer(epsilon, num_values, size), count)
    for epsilon in (0.3, 1.7)
    for num_values in (2, 3, 5)
    for size in range(1, num_values)
    for count in (1, 2, 4)
    if not (num_values == 5 and size in (2, 3) and count == 4)  # 10,000 outputs
]


@pytest.mark.parametrize(("answer", "count"), SMALL)
def test_delta_is_the_sum_over_all_outputs(answer: PrivateAnswer, count: int) -> None:
    composition = Composition({answer: count})
    pairs = [np.prod(rows, axis=0) for rows in itertools.product(law(answer), repeat=count)]
    first, second = np.array(pairs).T
    for wanted in (0.0, 0.2, 0.5 * composition.largest, 0.9 * composition.largest):
        brute = float(np.maximum(first - math.exp(wanted) * second, 0).sum())
        assert composition.delta(wanted) == pytest.approx(brute, abs=1e-12)
    assert composition.delta(composition.largest) == 0.0


def test_mixed_answers_agree_with_all_their_outputs() -> None:
    kinds = [PrivateAnswer(1.0, 3), PrivateAnswer(0.7, 4, 2), PrivateAnswer(math.sqrt(2), 2)]
    composition = Composition(kinds)
    pairs = [np.prod(rows, axis=0) for rows in itertools.product(*map(law, kinds))]
    first, second = np.array(pairs).T
    for wanted in (0.0, 0.5, 1.3, 2.9):
        brute = float(np.maximum(first - math.exp(wanted) * second, 0).sum())
        assert brute <= composition.delta(wanted) <= brute + 1e-7


def test_epsilon_is_the_inverse_of_delta_and_never_too_small() -> None:
    picture = composed(6.0, 4_096, 200, 2)
    for delta in (1e-12, 1e-6, 1e-2):
        epsilon = picture.epsilon(delta)
        assert picture.delta(epsilon) <= delta < picture.delta(epsilon - 1e-6)


def test_answers_of_many_kinds_cost_no_less_than_rounded_down_and_no_more_than_rounded_up() -> None:
    spread = Composition({PrivateAnswer(6 + i / 1000, 4_096): 3 for i in range(200)})
    low, high = composed(6.0, 4_096, 600), composed(6.199, 4_096, 600)
    assert low.epsilon() < spread.epsilon() < high.epsilon()
    assert 0 < spread.epsilon_error() < 0.05 * spread.epsilon()


def test_an_unknown_mechanism_counts_as_the_worst_one() -> None:
    unknown = composed(2.0, None, 50)
    for num_values, size in ((2, 1), (7, 1), (7, 3), (4_096, 2)):
        known = composed(2.0, num_values, 50, size)
        assert known.epsilon() <= unknown.epsilon()
        assert known.advantage <= unknown.advantage


def test_a_million_answers_are_bounded_by_the_normal_distribution() -> None:
    many = composed(0.01, 2, 1_000_000)
    # Mean and spread of the sum; its tail at 1e-6 is close to the normal one.
    gain, loss = PrivateAnswer(0.01, 2).chances()
    mean = 1e6 * 0.01 * (gain - loss)
    spread = 1e3 * 0.01 * math.sqrt(gain + loss - (gain - loss) ** 2)
    assert mean + 3 * spread < many.epsilon(1e-6) < mean + 5 * spread


def test_long_and_short_convolutions_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    by_transform = composed(0.5, 3, 40_000).epsilon()
    monkeypatch.setattr("sfumato.core.losses._DIRECT", 1 << 30)
    term_by_term = composed(0.5, 3, 40_000).epsilon()
    assert term_by_term <= by_transform <= term_by_term * (1 + 1e-6)


def test_a_finer_grid_changes_a_loss_only_in_the_safe_direction() -> None:
    exact = PrivateAnswer(1.3, 5).losses(6)
    up, down = (exact.on_grid(0.17, pessimistic=side) for side in (True, False))
    for wanted in np.linspace(0, 7, 30):
        assert down.delta(wanted) <= exact.delta(wanted) + 1e-15
        assert exact.delta(wanted) <= up.delta(wanted) + 1e-15
    for table in (up, down):
        assert table.chances.sum() == pytest.approx(1, abs=1e-12)
    # The likelihood ratio is spread, not shifted: Σ Pr(l)·e^(−l) is still 1.
    assert np.dot(up.chances, np.exp(-up.losses)) == pytest.approx(1, abs=1e-12)


def test_nothing_costs_nothing_and_no_noise_costs_everything() -> None:
    nothing = Composition({})
    assert (nothing.largest, nothing.epsilon(), nothing.advantage) == (0.0, 0.0, 0.0)
    assert composed(6.0, 16, 0).num_answers == 0
    bare = composed(math.inf, 16, 1) + composed(1.0, 16, 5)
    assert bare.epsilon() == bare.largest == math.inf
    assert bare.advantage == bare.delta(1e9) == 1.0


def test_compositions_add_up() -> None:
    both = composed(6.0, 64, 3) + composed(6.0, 64, 4) + composed(2.0, 16, 1)
    assert both.answers == {PrivateAnswer(6.0, 64): 7, PrivateAnswer(2.0, 16): 1}
    assert both.largest == 44


def test_a_very_small_delta_gives_the_largest_loss_rather_than_less() -> None:
    picture = composed(6.0, 16_384, 1_000)
    assert picture.epsilon(1e-300) == picture.largest


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, float("nan"), math.inf, "1e-6", True])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(InvalidInput, match=r"delta must be"):
        composed(1.0, 2, 3).epsilon(delta)


def test_nearly_all_values_sent_is_still_counted() -> None:
    # ω = |K| − 1: which one is missing tells little, but not nothing.
    for num_values in (16, 16_384, 10**12):
        gain, loss = PrivateAnswer(6.0, num_values, num_values - 1).chances()
        odds = (num_values - 1) * math.exp(6.0)
        assert gain == pytest.approx(odds / (odds + 1) / (num_values - 1), rel=1e-12)
        assert loss == pytest.approx(1 / (odds + 1), rel=1e-12)


@pytest.mark.parametrize(
    "answers", [{PrivateAnswer(1.0): None}, [1, 2], {PrivateAnswer(1.0): 10**13}]
)
def test_what_is_no_count_of_answers_is_refused(answers: Any) -> None:
    with pytest.raises(InvalidInput):
        Composition(answers)


@pytest.mark.parametrize(
    ("epsilon", "num_values", "size", "count"),
    [(0.0, 4, 1, 1), (1.0, 1, 1, 1), (1.0, 4, 4, 1), (1.0, 4, 0, 1), (1.0, 4, 1, -1)],
)
def test_impossible_answers_are_refused(
    epsilon: float, num_values: int, size: int, count: int
) -> None:
    with pytest.raises(InvalidInput):
        composed(epsilon, num_values, count, size)


def test_cut_tails_are_counted_against_the_promise() -> None:
    table = LossDistribution(1.0, 0, np.array([0.5, 0.5]), cut=1e-3)
    assert table.delta(1.0) == 1e-3
    assert table.epsilon(1e-4) == math.inf


def test_a_mechanism_is_composed_by_what_it_says_of_its_answers() -> None:
    from sfumato.classification import RandomizedResponse
    from sfumato.device.mechanisms import MemoisedSubset, Plain, SubsetMechanism
    from support import tiny_dictionary

    words = SubsetMechanism(2.0, 3, tiny_dictionary(64))
    assert compose(words, 5) == composed(2.0, 64, 5, 3)
    assert compose(MemoisedSubset(words), 5) == composed(2.0, 64, 5, 3)
    assert compose(RandomizedResponse(1.5, 16), 7) == composed(1.5, 16, 7)
    assert compose(SimpleNamespace(epsilon=2.0), 5) == composed(2.0, None, 5)
    with pytest.raises(InvalidInput, match=r"Plain promises no ε.*sent as they are"):
        compose(Plain(), 5)
