"""The audit accepts PrivUnit and rejects what looks like it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import sfumato as sf
from sfumato.core.odds import Coin
from sfumato.core.randomness import RandomSource, SeededRandom
from sfumato.device.mechanisms.corner_ranking import CornerRanking
from sfumato.device.mechanisms.private_unit import CornerSampler
from sfumato.privacy.audit import audit
from sfumato.privacy.unit_vectors import UnitSubject


class MoreOften(CornerSampler):
    """The cap is drawn from 5 % more often."""

    def __post_init__(self) -> None:
        super().__post_init__()
        more = min(self.coin.threshold * 105 // 100, (1 << self.coin.bits) - 1)
        object.__setattr__(self, "coin", Coin(more, self.coin.bits))


class LessOften(CornerSampler):
    """The cap is drawn from 5 % less often: more noise than was asked for."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "coin", Coin(self.coin.threshold * 95 // 100, self.coin.bits))


class FloatCoin(CornerSampler):
    """A coin of 11 random bits against a float16 chance; few enough to be enumerated."""

    def draw_ranks(self, count: int, source: RandomSource) -> NDArray[np.uint8]:
        bits = CornerSampler(1e-9, self.length, self.cap_bits).draw_ranks(count, _NoCoin(source))
        drawn = source.below(1 << 11, count).astype(np.float16) * np.float16(2.0**-11)
        grown = math.expm1(self.epsilon)
        heads = drawn < np.float16(grown / (grown + 2**self.cap_bits))
        bits[:, : self.cap_bits] *= ~heads[:, None]
        return bits


class _NoCoin(SeededRandom):
    """Draws of another source, and a coin that always shows tails."""

    def __init__(self, source: RandomSource) -> None:
        self._source = source

    def below(self, bound: int, count: int) -> NDArray[np.uint32]:
        return self._source.below(bound, count)

    def coin(self, coin: Coin, count: int) -> NDArray[np.bool_]:
        return np.zeros(count, dtype=np.bool_)


class FarSide(CornerRanking):
    """The cap on the wrong side: {⟨z, v⟩ ≤ −γ}. As private, and useless."""

    def corner(self, rank: int) -> list[int]:
        return super().corner((1 << self.length) - 1 - rank)

    def rank(self, corner: Any) -> int:
        return (1 << self.length) - 1 - super().rank(corner)


class Forgetful(CornerRanking):
    """Corners of one product are not counted: a rank falls on the first corner of its product."""

    def corner(self, rank: int) -> list[int]:
        found = super().corner(rank)
        product = sum((2 * bit - 1) * size for bit, size in zip(found, self._sizes, strict=True))
        for other in range(1 << min(self.length, 6)):
            here = super().corner(other)
            if sum((2 * b - 1) * s for b, s in zip(here, self._sizes, strict=True)) == product:
                return here
        return found


MUTANTS: dict[str, tuple[dict[str, Any], str]] = {
    "cap more often": ({"make": MoreOften}, "exact law"),
    "cap less often": ({"make": LessOften}, "exact law"),
    "float coin": ({"make": FloatCoin}, "exact law"),
    "far side": ({"rank": FarSide}, "truth share"),
    "one corner per product": ({"rank": Forgetful}, "exact law"),
    "shared by forks": ({"source": SeededRandom(1)}, "forks"),
}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_every_mutant_is_killed(name: str, epsilon: float) -> None:
    options, culprit = MUTANTS[name]
    report = audit(UnitSubject(epsilon, 64, **options), draws=400_000)
    assert report.verdict == "broken"
    failed = {check.name for check in report.checks if not check.passed}
    assert culprit in failed, report.checks


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_the_shipped_mechanism_is_consistent(epsilon: float) -> None:
    report = audit(UnitSubject(epsilon))
    low, high = report.epsilon_measured or (math.nan, math.nan)
    assert report.verdict == "consistent", report.checks
    assert low <= epsilon <= high
    assert report.unit == "one whole vector"
    assert len(report.checks) == 7


def test_a_cap_so_much_too_likely_is_seen_in_the_answers_as_well() -> None:
    report = audit(UnitSubject(2.0, 64, make=MoreOften), draws=2_000_000)
    failed = {check.name for check in report.checks if not check.passed}
    assert {"target event", "truth share", "exact odds"} <= failed


def test_the_mechanism_itself_can_be_handed_over() -> None:
    report = sf.audit(sf.PrivUnit(1.0, 32, cap_bits=3), draws=200_000)
    assert report.verdict == "consistent", report.checks
