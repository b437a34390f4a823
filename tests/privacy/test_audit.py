"""The audit accepts what is right and rejects eight things that are not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.mutants import MUTANTS, SAMPLED_MUTANTS, SHIPPED, Broken
from sfumato.core.errors import InvalidInput
from sfumato.core.odds import as_written
from sfumato.core.randomness import SecureRandom
from sfumato.privacy.audit import audit, clopper_pearson, ratio_interval
from sfumato.privacy.law import check_law
from sfumato.privacy.sampled import SampledSubject, picture_codes, share_of
from sfumato.privacy.subjects import ResponseSubject, Subject, SubsetSubject

# At ω = 1 the subset mechanism is randomized response and "first" means nothing.
SETTINGS = [(1.0, 8, 2), (4.0, 16, 3)]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_the_shipped_mechanism_is_consistent(epsilon: float) -> None:
    report = audit(SHIPPED(epsilon, 8, 2))
    assert report.draws_per_input == 2_000_000
    low, high = report.epsilon_measured or (math.nan, math.nan)
    assert low <= epsilon <= high
    assert high - low < 0.1
    assert report.verdict == "consistent", report.checks
    assert len(report.checks) == 5


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_mutant_is_killed(name: str, setting: tuple[float, int, int]) -> None:
    make, culprit = MUTANTS[name]
    report = audit(make(*setting), draws=2_000_000)
    assert report.verdict == "broken"
    failed = {check.name for check in report.checks if not check.passed}
    assert culprit in failed, report.checks


def test_all_eight_mutants_are_there_and_their_parent_is_sound() -> None:
    """Without its break, the mutants' common code is right: each dies of its break alone."""
    assert len(MUTANTS) == 8
    for epsilon in (0.01, 1.0, 10.0):
        law = check_law(Broken(epsilon, 5, 2), 5, epsilon)
        assert law.mass_is_one
        assert law.worst_ratio is not None
        assert float(law.worst_ratio) == pytest.approx(math.exp(epsilon), rel=1e-9)


def test_randomized_response_is_consistent() -> None:
    for epsilon, values in ((0.5, 2), (2.0, 16)):
        report = audit(ResponseSubject(epsilon, values))
        assert report.verdict == "consistent", report.checks


@pytest.mark.parametrize(("epsilon", "values", "sent"), [(1.0, 2, 1), (2.0, 8, 1), (1.0, 4, 2)])
def test_the_sampled_response_protects_the_whole_picture(
    epsilon: float, values: int, sent: int
) -> None:
    report = audit(SampledSubject(epsilon, values, sent))
    assert report.verdict == "consistent", report.checks
    assert report.unit == "one whole picture"
    low, high = report.epsilon_measured or (math.nan, math.nan)
    assert low <= epsilon <= high
    assert len(report.checks) == 5


@pytest.mark.parametrize("name", SAMPLED_MUTANTS)
def test_every_sampled_mutant_is_killed(name: str) -> None:
    make, culprit = SAMPLED_MUTANTS[name]
    report = audit(make(1.0, 4, 2))
    assert report.verdict == "broken"
    assert culprit in {check.name for check in report.checks if not check.passed}, report.checks


@pytest.mark.parametrize(("epsilon", "sent"), [(1.0, 3), (0.1, 3), (0.7, 6), (2.0, 1)])
def test_shares_never_add_up_to_more(epsilon: float, sent: int) -> None:
    share = share_of(epsilon, sent)
    assert as_written(share) * sent <= as_written(epsilon)
    assert share * sent == pytest.approx(epsilon, rel=1e-15)


def test_every_picture_of_a_small_world_is_an_input_once() -> None:
    codes = picture_codes(np.arange(27, dtype=np.uint32), 3, 3)
    assert len({tuple(row) for row in codes.tolist()}) == 27
    assert codes[:3].tolist() == [[0] * 3, [1] * 3, [2] * 3]


class Own(Subject):
    """A user's mechanism: geometric noise on a number, with the ε it claims."""

    num_inputs = 2

    def __init__(self, claimed: float, real: float) -> None:
        self.epsilon = claimed
        self._ratio = math.exp(-real)
        self._generator = np.random.default_rng()

    def sample(self, value: int, count: int) -> NDArray[Any]:
        a, b = self._generator.geometric(1 - self._ratio, (2, count))
        return np.asarray(value + a - b)[:, None]


def test_a_user_s_mechanism_is_judged_by_its_outputs_alone() -> None:
    # NumPy's generator is copied by fork: even with the right noise this one fails there.
    honest = audit(Own(1.0, 1.0), draws=500_000)
    assert {check.name for check in honest.checks if not check.passed} == {"forks"}
    liar = audit(Own(1.0, 1.3), draws=500_000)
    assert {check.name for check in liar.checks if not check.passed} >= {
        "target event",
        "histogram",
    }
    assert liar.epsilon_measured is not None
    assert liar.epsilon_measured[0] > 1.0


class Secure(Own):
    """The same with our source: a coin for each step."""

    def sample(self, value: int, count: int) -> NDArray[Any]:
        source = SecureRandom()
        uniform = source.words(2 * count, 64).reshape(2, count) / 2.0**64
        a, b = np.floor(np.log1p(-uniform) / math.log(self._ratio)).astype(np.int64)
        return np.asarray(value + a - b)[:, None]


def test_a_user_s_sound_mechanism_is_consistent() -> None:
    report = audit(Secure(1.0, 1.0), draws=500_000)
    assert report.verdict == "consistent", report.checks
    assert report.mechanism == "user's mechanism"


def test_many_outputs_are_compared_in_groups() -> None:
    class Wide(Secure):
        def sample(self, value: int, count: int) -> NDArray[Any]:
            noise = SecureRandom().below(1 << 20, count).astype(np.int64)
            return np.stack([super().sample(value, count)[:, 0], noise], axis=1)

    honest = audit(Wide(1.0, 1.0), draws=100_000)
    assert all(check.passed for check in honest.checks), honest.checks
    assert honest.verdict == "not refuted"  # no output comes twice: none can be measured
    liar = audit(Wide(0.5, 2.0), draws=100_000)
    assert "histogram" in {check.name for check in liar.checks if not check.passed}


def test_intervals_hold_the_truth() -> None:
    low, high = clopper_pearson(0, 1000)
    assert low == 0
    assert 0 < high < 0.02
    assert clopper_pearson(1000, 1000)[1] == 1
    generator = np.random.default_rng(0)
    missed = 0
    for hits in generator.binomial(2000, 0.3, 500):
        low, high = clopper_pearson(int(hits), 2000, alpha=0.05)
        missed += not low <= 0.3 <= high
    assert missed <= 45  # 25 expected at most
    low, high = ratio_interval(0, 10, 1000)
    assert low == -math.inf
    assert ratio_interval(10, 0, 1000)[1] == math.inf


def test_bad_claims_are_refused() -> None:
    for values, sent in ((1, 1), (2000, 1), (4, 4), (4, 0)):
        with pytest.raises(InvalidInput, match="the number of"):
            SampledSubject(1.0, values, sent)
    with pytest.raises(InvalidInput, match="draws"):
        audit(SHIPPED(1.0, 8, 2), draws=10)
    for epsilon in (0.0, -1.0, math.nan, 1e9):
        with pytest.raises(InvalidInput, match="epsilon must be"):
            SubsetSubject(epsilon, 8, 2)
