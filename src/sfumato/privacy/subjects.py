"""What the audit examines: a small protocol, and the shipped mechanisms in it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import RandomSource, SecureRandom
from sfumato.core.releases import Release, WordRelease
from sfumato.core.types import NOT_PROTECTED
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.privacy.law import Sampler
from sfumato.privacy.report import Check

Rows = NDArray[Any]

#: Small worlds in which the law of a mechanism is enumerated: all |K| ≤ 6, ω ≤ 3.
SMALL_WORLDS = tuple((k, m) for k in range(2, 7) for m in range(1, min(3, k - 1) + 1))
SMALL_EPSILONS = (0.01, 1.0, 10.0)


@dataclass(frozen=True)
class World:
    """A sampler small enough to enumerate, with what it claims.

    tight  the worst ratio must be e^ε and not below it: more noise than asked for is a bug too
    """

    sampler: Sampler
    num_inputs: int
    epsilon: float
    name: str
    tight: bool = True


class Subject(ABC):
    """A mechanism under audit. A user's own needs `epsilon`, `num_inputs` and `sample`.

    The other methods tell the audit more, and make it sharper.
    """

    name: str = "user's mechanism"
    unit: str = "one input"
    not_protected: tuple[str, ...] = ("whatever is sent beside the answers",)
    epsilon: float
    num_inputs: int
    histogram_draws: int = 1_000_000

    @abstractmethod
    def sample(self, value: int, count: int) -> Rows:
        """`count` fresh answers to one input, as sent: (count, width) whole numbers."""

    def worlds(self) -> Iterator[World]:
        """Small worlds whose exact law can be enumerated."""
        return iter(())

    def companion(self) -> Subject:
        """The same code in a small world at ε = 1, where rare leaks become frequent."""
        return self

    def target(self, rows: Rows) -> NDArray[np.bool_] | None:
        """The event whose likelihood ratio between inputs 0 and 1 is exactly e^ε."""
        return None

    def target_draws(self) -> int:
        """How many draws per input make the ratio of the target measurable."""
        return 2_000_000

    def truth(self, rows: Rows) -> tuple[NDArray[np.bool_], float] | None:
        """Which answers to input 0 contain it, and the share there should be."""
        return None

    def refusal(self, rows: Rows) -> str | None:
        """Why these answers could not be sent, or None."""
        return None

    def further_checks(self) -> tuple[Check, ...]:
        """What else this mechanism promises and the audit cannot know."""
        return ()


class SubsetSubject(Subject):
    """The ω-subset mechanism; `make` builds what is really examined (tests hand in mutants).

    sampler  answers in the world of this ε, |K| and ω; by default what `make` builds for it
    """

    name = "subset"
    unit = "one descriptor"
    not_protected: tuple[str, ...] = NOT_PROTECTED

    def __init__(
        self,
        epsilon: float,
        num_words: int,
        subset_size: int,
        *,
        make: Callable[[float, int, int], Sampler] | None = None,
        sampler: Sampler | None = None,
        source: RandomSource | None = None,
    ) -> None:
        self._make = make or shipped_subset
        self._sampler = sampler or self._make(epsilon, num_words, subset_size)
        self._source = source or SecureRandom()
        self.epsilon = epsilon
        self.num_inputs = num_words
        self.subset_size = subset_size

    def sample(self, value: int, count: int) -> Rows:
        return self._sampler.draw(np.full(count, value, dtype=np.uint32), self._source)

    def worlds(self) -> Iterator[World]:
        epsilons = sorted({*SMALL_EPSILONS, self.epsilon})
        for num_words, size in SMALL_WORLDS:
            for epsilon in epsilons:
                yield World(
                    self._make(epsilon, num_words, size),
                    num_words,
                    epsilon,
                    f"|K| = {num_words}, ω = {size}, ε = {epsilon:g}",
                )

    def companion(self) -> Subject:
        return SubsetSubject(1.0, *self.small_world(), make=self._make, source=self._source)

    def small_world(self) -> tuple[int, int]:
        """|K| and ω of a world in which every output comes often."""
        words = min(self.num_inputs, 6)
        return words, min(self.subset_size, words - 1, 3)

    def target(self, rows: Rows) -> NDArray[np.bool_]:
        """{0 ∈ Z, 1 ∉ Z}."""
        return np.asarray((rows == 0).any(axis=1) & (rows != 1).all(axis=1))

    def target_draws(self) -> int:
        rare = (1 - self.keep_probability) * self.subset_size / (self.num_inputs - 1)
        return int(min(max(math.ceil(900 / rare), 2_000_000), 100_000_000))

    def truth(self, rows: Rows) -> tuple[NDArray[np.bool_], float]:
        return np.asarray((rows == 0).any(axis=1)), self.keep_probability

    @property
    def keep_probability(self) -> float:
        """eq. 5, written out here again: the audit does not ask the mechanism for it."""
        favoured = self.subset_size * math.exp(self.epsilon)
        return favoured / (favoured + self.num_inputs - self.subset_size)

    def refusal(self, rows: Rows) -> str | None:
        """Send the answers through the wire format and compare what arrives."""
        try:
            release = WordRelease(
                keypoints=np.zeros((len(rows), 2), dtype=np.float32),
                image_size=(1, 1),
                extractor="audit",
                words=rows,
                num_words=self.num_inputs,
                dictionary="0" * 64,
                epsilon=self.epsilon,
            )
            arrived = Release.from_bytes(release.to_bytes())
        except InvalidInput as error:
            return str(error)
        return None if arrived == release else "the wire format changed the answers"


class ResponseSubject(Subject):
    """d-ary randomized response."""

    name = "randomized response"
    unit = "one value"
    not_protected = ("labels", "how many values are sent and where they belong")

    def __init__(
        self, epsilon: float, num_values: int, *, source: RandomSource | None = None
    ) -> None:
        self._mechanism = RandomizedResponse(epsilon, num_values)
        self._source = source or SecureRandom()
        self.epsilon = epsilon
        self.num_inputs = num_values

    def sample(self, value: int, count: int) -> Rows:
        return self._mechanism.draw(np.full(count, value, dtype=np.uint32), self._source)

    def worlds(self) -> Iterator[World]:
        for num_values in (2, 3, 5, 16):
            for epsilon in sorted({*SMALL_EPSILONS, self.epsilon}):
                mechanism = RandomizedResponse(epsilon, num_values)
                yield World(mechanism, num_values, epsilon, f"d = {num_values}, ε = {epsilon:g}")

    def companion(self) -> Subject:
        return ResponseSubject(1.0, min(self.num_inputs, 16), source=self._source)

    def target(self, rows: Rows) -> NDArray[np.bool_]:
        """The answer is 0."""
        return np.asarray(rows[:, 0] == 0)

    def target_draws(self) -> int:
        rare = 1 / (self.num_inputs - 1 + math.exp(self.epsilon))
        return int(min(max(math.ceil(900 / rare), 2_000_000), 100_000_000))

    def truth(self, rows: Rows) -> tuple[NDArray[np.bool_], float]:
        grown = math.exp(self.epsilon)
        return np.asarray(rows[:, 0] == 0), grown / (self.num_inputs - 1 + grown)


def shipped_subset(epsilon: float, num_words: int, subset_size: int) -> SubsetMechanism:
    """The mechanism as shipped, over words that only need to be distinct."""
    words = np.arange(num_words, dtype=np.float32)[:, None]
    dictionary = Dictionary.from_words(words, extractor="audit", metric="l2")
    return SubsetMechanism(epsilon, subset_size, dictionary)
