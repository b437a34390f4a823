"""The audit of a whole object: right for the shipped mechanism, wrong for correlated answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.accounting import PrivateAnswer
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import RandomSource
from sfumato.privacy.composition import audit_composition
from sfumato.privacy.subjects import shipped_subset

Words = NDArray[np.uint32]


class Correlated:
    """A subset mechanism whose draws within one picture depend on each other."""

    def __init__(self, epsilon: float, num_words: int, subset_size: int) -> None:
        self.mechanism = shipped_subset(epsilon, num_words, subset_size)

    def draw(self, true_words: Words, source: RandomSource, /) -> NDArray[Any]:
        raise NotImplementedError


class OneCoin(Correlated):
    """One toss decides for the whole picture whether true words are sent."""

    def draw(self, true_words: Words, source: RandomSource, /) -> NDArray[Any]:
        num_words = self.mechanism.dictionary.num_words
        others = source.below(num_words - 1, len(true_words))
        others += others >= true_words
        keep = source.coin(self.mechanism.coin, 1)[0]
        return np.where(keep, true_words, others)[:, None]


class SameOther(Correlated):
    """All descriptors of a picture share the draw of the other word."""

    def draw(self, true_words: Words, source: RandomSource, /) -> NDArray[Any]:
        num_words = self.mechanism.dictionary.num_words
        others = np.repeat(source.below(num_words - 1, 1), len(true_words))
        others += others >= true_words
        keep = source.coin(self.mechanism.coin, len(true_words))
        return np.where(keep, true_words, others)[:, None]


class EveryOther(Correlated):
    """Exactly as many true words as expected, never more and never fewer."""

    def draw(self, true_words: Words, source: RandomSource, /) -> NDArray[Any]:
        num_words = self.mechanism.dictionary.num_words
        others = source.below(num_words - 1, len(true_words))
        others += others >= true_words
        wanted = round(self.mechanism.keep_probability * len(true_words))
        ranks = np.argsort(source.below(1 << 30, len(true_words)))
        return np.where(ranks < wanted, true_words, others)[:, None]


@pytest.mark.parametrize(
    "answer", [PrivateAnswer(6.0, 4_096), PrivateAnswer(2.0, 64, 2), PrivateAnswer(0.5, 32)]
)
def test_the_shipped_mechanism_is_consistent(answer: PrivateAnswer) -> None:
    report = audit_composition(answer, count=10, pictures=4_000)
    assert report.verdict == "consistent", report
    low, high = report.advantage_measured
    assert low <= report.advantage_claimed <= high < 1


@pytest.mark.parametrize("mutant", [OneCoin, SameOther, EveryOther])
def test_answers_that_depend_on_each_other_are_found(mutant: type[Correlated]) -> None:
    report = audit_composition(PrivateAnswer(4.0, 64), count=10, pictures=4_000, make=mutant)
    assert report.verdict == "broken", report


def test_a_larger_epsilon_than_claimed_is_found() -> None:
    report = audit_composition(
        PrivateAnswer(3.0, 64),
        pictures=4_000,
        make=lambda epsilon, words, size: shipped_subset(epsilon * 1.2, words, size),
    )
    assert report.verdict == "broken", report


def test_contents_need_enough_words() -> None:
    with pytest.raises(InvalidInput, match="different words"):
        audit_composition(PrivateAnswer(1.0, 16), count=10)
