"""What the demonstration measured, before anybody formats it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.checks import check_epsilon
from sfumato.core.defaults import DEFAULT_DICTIONARY, DEFAULT_SUBSET_SIZE
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import WordRelease
from sfumato.core.types import NOT_PROTECTED, Features, Localization
from sfumato.datasets import View
from sfumato.dictionary import Dictionary
from sfumato.server.mapping.map import Map

#: How descriptors are sent and matched: in the clear, or as words by either server.
RAW, OURS, PAPER = "raw", "sfumato", "paper"

#: Examples are shown at the smallest ε per descriptor that still finds this share.
WORKS = 0.9


@dataclass(frozen=True)
class DemoSettings:
    """What is sent, and when a pose counts as right.

    epsilons      per descriptor, the weakest protection first
    subset_size   ω, words sent per descriptor
    max_cm        a pose within this and max_deg of the truth is right, every other is wrong
    max_turn_deg  between two mapping views that are still compared
    """

    epsilons: tuple[float, ...] = (12.0, 10.0, 8.0, 6.0)
    subset_size: int = DEFAULT_SUBSET_SIZE
    dictionary: str = DEFAULT_DICTIONARY
    max_cm: float = 5.0
    max_deg: float = 2.0
    max_turn_deg: float = 60.0
    num_examples: int = 3

    def __post_init__(self) -> None:
        for epsilon in self.epsilons:
            check_epsilon(epsilon)
        if not self.epsilons or list(self.epsilons) != sorted(set(self.epsilons), reverse=True):
            raise InvalidInput(
                "epsilons must be one or more different numbers, the largest first, "
                f"got {self.epsilons}."
            )


@dataclass(frozen=True)
class Answer:
    """What a server made of one release; errors are None where it gave no pose."""

    num_keypoints: int
    num_bytes: int
    seconds: float
    localization: Localization
    error_cm: float | None
    error_deg: float | None
    is_right: bool


@dataclass(frozen=True)
class Row:
    """One line of the table: the same queries, sent and matched in one way.

    epsilon, keep_probability  per descriptor; None for raw descriptors, which have neither
    num_words                  |K|, by ε
    """

    method: str
    epsilon: float | None
    keep_probability: float | None
    answers: tuple[Answer, ...]
    num_words: int | None = None

    @property
    def num_right(self) -> int:
        return sum(answer.is_right for answer in self.answers)

    @property
    def num_wrong(self) -> int:
        return sum(answer.localization.localized and not answer.is_right for answer in self.answers)

    @property
    def num_unanswered(self) -> int:
        return sum(not answer.localization.localized for answer in self.answers)

    @property
    def share_right(self) -> float:
        return self.num_right / len(self.answers)

    @property
    def picture_epsilon(self) -> float | None:
        """N·ε of the median picture."""
        if self.epsilon is None:
            return None
        return self.epsilon * float(np.median([answer.num_keypoints for answer in self.answers]))

    @property
    def median_bytes(self) -> float:
        return float(np.median([answer.num_bytes for answer in self.answers]))

    @property
    def median_seconds(self) -> float:
        return float(np.median([answer.seconds for answer in self.answers]))

    @property
    def median_error_cm(self) -> float | None:
        """Over the poses returned, right and wrong."""
        errors = [answer.error_cm for answer in self.answers if answer.error_cm is not None]
        return float(np.median(errors)) if errors else None


@dataclass(frozen=True, eq=False)
class Example:
    """One query, seen from both sides; nothing but `release` crossed over."""

    view: View
    features: Features
    release: WordRelease
    ours: Answer
    paper: Answer


@dataclass(frozen=True, eq=False)
class DemoResult:
    """Everything that is shown; `shown` is the row that the examples are taken from."""

    settings: DemoSettings
    world: Map
    dictionary: Dictionary
    rows: tuple[Row, ...]
    shown: Row
    examples: tuple[Example, ...]
    not_protected: tuple[str, ...] = NOT_PROTECTED

    @property
    def num_queries(self) -> int:
        return len(self.rows[0].answers)

    def of(self, method: str) -> tuple[Row, ...]:
        """The rows of one method, the weakest protection first."""
        return tuple(row for row in self.rows if row.method == method)
