"""Broken mechanisms. Each looks plausible; the audit must reject every one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.core.odds import Coin
from sfumato.core.randomness import RandomSource, SecureRandom, SeededRandom
from sfumato.privacy.law import Sampler
from sfumato.privacy.sampled import SampledSubject
from sfumato.privacy.subjects import Subject, SubsetSubject, shipped_subset

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Broken:
    """The ω-subset mechanism written naively, with places to break it."""

    epsilon: float
    num_words: int
    subset_size: int

    def chance(self) -> float:
        favoured = self.subset_size * math.exp(self.epsilon)
        return favoured / (favoured + self.num_words - self.subset_size)

    def toss(self, source: RandomSource, count: int) -> NDArray[np.bool_]:
        return source.coin(Coin(math.floor(self.chance() * 2.0**64)), count)

    def others(self, truth: Words, source: RandomSource) -> list[Words]:
        """ω different words, none of them the true one."""
        columns: list[Words] = []
        for i in range(self.subset_size):
            last = self.num_words - 1 - self.subset_size + i
            column = source.below(last + 1, len(truth))
            taken = np.zeros(len(truth), dtype=bool)
            for earlier in columns:
                taken |= earlier == column
            column[taken] = last
            columns.append(column)
        return [column + (column >= truth) for column in columns]

    def draw(self, truth: Words, source: RandomSource) -> NDArray[Any]:
        columns = self.others(truth, source)
        slot = source.below(self.subset_size, len(truth))
        keep = self.toss(source, len(truth))
        for i in range(self.subset_size):
            columns[i] = np.where(keep & (slot == i), truth, columns[i]).astype(np.uint32)
        return self.arrange(columns, truth)

    def arrange(self, columns: list[Words], truth: Words) -> NDArray[Any]:
        return np.sort(np.stack(columns, axis=1), axis=1)


class NoDedupe(Broken):
    """Other words are drawn with repetition."""

    def others(self, truth: Words, source: RandomSource) -> list[Words]:
        size = self.num_words - 1
        columns = [source.below(size, len(truth)) for _ in range(self.subset_size)]
        return [column + (column >= truth) for column in columns]


class TruthAmongOthers(Broken):
    """d′ is not excluded from the other words: it gets a second chance to be sent."""

    def others(self, truth: Words, source: RandomSource) -> list[Words]:
        columns: list[Words] = []
        for i in range(self.subset_size):
            last = self.num_words - self.subset_size + i
            column = source.below(last + 1, len(truth))
            taken = np.zeros(len(truth), dtype=bool)
            for earlier in columns:
                taken |= earlier == column
            column[taken] = last
            columns.append(column)
        return columns

    def draw(self, truth: Words, source: RandomSource) -> NDArray[Any]:
        columns = self.others(truth, source)
        slot = source.below(self.subset_size, len(truth))
        keep = self.toss(source, len(truth))
        rows = np.stack(columns, axis=1)
        keep &= (rows != truth[:, None]).all(axis=1)  # already there: nothing to replace
        for i in range(self.subset_size):
            rows[:, i] = np.where(keep & (slot == i), truth, rows[:, i])
        return np.sort(rows, axis=1)


class TruthFirst(Broken):
    """The true word, when it is sent, stands first."""

    def arrange(self, columns: list[Words], truth: Words) -> NDArray[Any]:
        rows = np.sort(np.stack(columns, axis=1), axis=1)
        front = (rows == truth[:, None]).argmax(axis=1)
        here = (rows == truth[:, None]).any(axis=1)
        places = np.arange(len(rows))
        first = np.where(here, front, 0)
        rows[places, first], rows[:, 0] = rows[:, 0].copy(), rows[places, first].copy()
        return rows


class FivePercentMore(Broken):
    """ε · 1.05."""

    def chance(self) -> float:
        favoured = self.subset_size * math.exp(1.05 * self.epsilon)
        return favoured / (favoured + self.num_words - self.subset_size)


class ResponseOdds(Broken):
    """The odds of randomized response in place of the subset's."""

    def chance(self) -> float:
        grown = math.exp(self.epsilon)
        return grown / (grown + self.num_words - 1)


class PrintedEquation4(Broken):
    """Eq. 4 taken literally: the true word is sent with ω/|K| of its proper chance."""

    def chance(self) -> float:
        return super().chance() * self.subset_size / self.num_words


class Float32Coin(Broken):
    """A coin of 24 random bits against a float32 chance."""

    def toss(self, source: RandomSource, count: int) -> NDArray[np.bool_]:
        drawn = source.below(1 << 24, count).astype(np.float32) * np.float32(2.0**-24)
        return np.asarray(drawn < np.float32(self.chance()))


def sharing_forks(epsilon: float, num_words: int, subset_size: int) -> Subject:
    """The shipped sampler on a seeded generator that forks copy."""
    return SubsetSubject(epsilon, num_words, subset_size, source=SeededRandom(1))


def subject_of(make: Callable[[float, int, int], Sampler]) -> Callable[..., Subject]:
    return lambda epsilon, words, size: SubsetSubject(
        epsilon, words, size, make=make, source=SecureRandom()
    )


#: Name → (how it is made, the check that must fail first and foremost).
MUTANTS: dict[str, tuple[Callable[[float, int, int], Subject], str]] = {
    "no dedupe": (subject_of(NoDedupe), "histogram"),
    "truth among others": (subject_of(TruthAmongOthers), "truth share"),
    "truth first": (subject_of(TruthFirst), "histogram"),
    "five percent more": (subject_of(FivePercentMore), "target event"),
    "response odds": (subject_of(ResponseOdds), "target event"),
    "printed equation 4": (subject_of(PrintedEquation4), "target event"),
    "float32 coin": (subject_of(Float32Coin), "exact law"),
    "shared by forks": (sharing_forks, "forks"),
}


class SeesInk(RandomizedResponse):
    """The place is drawn until it holds something: where a picture is empty shows."""

    def answer(self, codes: NDArray[Any], source: RandomSource) -> tuple[Words, Words | None]:
        values, positions = super().answer(codes, source)
        if positions is None:
            return values, positions
        brightest = codes.argmax(axis=1).astype(np.uint32)
        again = source.below(2, len(codes)) == 0
        positions[:, 0] = np.where(again, brightest, positions[:, 0])
        return values, np.sort(positions, axis=1)


class WholeForEach(RandomizedResponse):
    """The picture's ε is spent on each of its codes, as if they did not compose."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", self.epsilon * (self.num_sent or 1))
        super().__post_init__()


class SlipsOut(RandomizedResponse):
    """One answer in a thousand is the truth, whatever the coin showed."""

    def answer(self, codes: NDArray[Any], source: RandomSource) -> tuple[Words, Words | None]:
        values, positions = super().answer(codes, source)
        slip = source.below(1000, len(codes)) == 0
        places = np.zeros(len(codes), dtype=np.int64) if positions is None else positions[:, -1]
        truth = codes[np.arange(len(codes)), places]
        values[:, -1] = np.where(slip, truth, values[:, -1])
        return values, positions


def sampled(make: Callable[[float, int, int], RandomizedResponse]) -> Callable[..., Subject]:
    return lambda epsilon, values, sent: SampledSubject(epsilon, values, sent, make=make)


#: The same for the sampled response, at two codes of three.
SAMPLED_MUTANTS: dict[str, tuple[Callable[[float, int, int], Subject], str]] = {
    "sees ink": (sampled(SeesInk), "exact law"),
    "whole for each": (sampled(WholeForEach), "target event"),
    "slips out": (sampled(SlipsOut), "exact law"),
}

SHIPPED = subject_of(shipped_subset)
