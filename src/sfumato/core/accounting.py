"""What many private answers promise together: exact composition.

One answer about a value, from `num_values` possible ones of which `subset_size` are sent, has a
privacy loss of +ε, −ε or 0. N answers are independent given how many there are, so the loss of a
picture is a sum of N such losses, and its distribution is known. N·ε is its largest value.

Theorem, proof and limits: docs/whole-picture.md. Two contents are compared that have the same
number of keypoints at the same positions; those are not protected.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number, check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.losses import LossDistribution
from sfumato.core.odds import as_written

#: The probability with which a promise may fail, where nobody asks for another one.
DELTA = 1e-6
MOST_ANSWERS = 10**12
MOST_VALUES = 1 << 62
_MOST_POINTS = 1 << 17  # of the grid on which different kinds of answers are added up
_MOST_KINDS = 64  # more different ε than these are rounded up to so many


@dataclass(frozen=True, order=True)
class PrivateAnswer:
    """One private answer: ε-LDP, `subset_size` of `num_values` values are sent.

    num_values = None stands for an ε-LDP mechanism of which no more is known; the worst one has
    two values.

    >>> sf.Composition({sf.PrivateAnswer(8.0, 16_384): 1104}).largest
    8832.0
    """

    epsilon: float
    num_values: int | None = None
    subset_size: int = 1

    def __post_init__(self) -> None:
        if not as_number("epsilon", self.epsilon) > 0:
            raise InvalidInput(f"epsilon must be above 0, got {self.epsilon!r}.")
        values = self.num_values
        if values is not None:
            values = check_count("num_values", values, low=2, high=MOST_VALUES)
        size = check_count("subset_size", self.subset_size, low=1, high=(values or 2) - 1)
        # Plain numbers, also where NumPy's came: the ledger writes them.
        object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "num_values", values)
        object.__setattr__(self, "subset_size", size)

    def chances(self) -> tuple[float, float]:
        """How likely the loss is +ε and how likely it is −ε, for two different values.

        With p = ω·e^ε / (ω·e^ε + |K| − ω): the loss is +ε if the true value is sent and the other
        one is not, p·(1 − (ω−1)/(|K|−1)); −ε if only the other one is, (1−p)·ω/(|K|−1); else 0.
        """
        size, others = self.subset_size, (self.num_values or 2) - 1
        odds = size * math.exp(self.epsilon) if self.epsilon < 700 else math.inf
        missed = (others + 1 - size) / (odds + others + 1 - size)
        sent = 1 / (1 + (others + 1 - size) / odds)
        return sent * ((others + 1 - size) / others), missed * size / others

    def losses(self, count: int) -> LossDistribution:
        """The loss of `count` such answers, on the multiples of ε."""
        gain, loss = self.chances()
        chances = np.array([loss, max(1 - gain - loss, 0.0), gain])
        once = LossDistribution(self.epsilon, -1, chances, relative=1e-14)
        return once.times(count)


class Composition:
    """The promise of independent answers together.

    >>> small_face = sf.Composition({sf.PrivateAnswer(6.0, 16_384): 10})
    >>> round(small_face.epsilon(1e-6)), round(small_face.advantage, 3), small_face.largest
    (29, 0.215, 60.0)
    """

    def __init__(self, answers: Mapping[PrivateAnswer, int] | Iterable[PrivateAnswer]) -> None:
        given = answers if isinstance(answers, Mapping) else Counter(answers)
        for answer, count in given.items():
            if not isinstance(answer, PrivateAnswer):
                raise InvalidInput(
                    f"answers must be PrivateAnswer, got {type(answer).__name__}; make one of an ε."
                )
            check_count("count", count, low=0, high=MOST_ANSWERS)
        self.answers = {answer: int(count) for answer, count in given.items() if count}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Composition) and self.answers == other.answers

    def __hash__(self) -> int:
        return hash(frozenset(self.answers.items()))

    def __repr__(self) -> str:
        return (
            f"Composition({self.num_answers:,} answers: N·ε = {self.largest:g}, "
            f"E = {self.epsilon():.4g} at δ = {DELTA:g})"
        )

    def __add__(self, other: Composition) -> Composition:
        return Composition(Counter(self.answers) + Counter(other.answers))

    @property
    def num_answers(self) -> int:
        return sum(self.answers.values())

    @property
    def largest(self) -> float:
        """N·ε: the largest loss that can happen at all."""
        total = Fraction(0)
        for answer, count in self.answers.items():
            if math.isinf(answer.epsilon):
                return math.inf
            total += as_written(answer.epsilon) * count
        rounded = float(total)
        return rounded if Fraction(rounded) >= total else math.nextafter(rounded, math.inf)

    @property
    def expected_true(self) -> float:
        """How many true values are sent on average."""
        return sum(
            count
            / (1 + ((a.num_values or 2) - a.subset_size) / (a.subset_size * math.exp(a.epsilon)))
            if a.epsilon < 700
            else count
            for a, count in self.answers.items()
        )

    def delta(self, epsilon: float) -> float:
        """The smallest δ for which all answers together are (epsilon, δ)-private, rounded up."""
        wanted = as_number("epsilon", epsilon)
        if wanted >= self.largest:
            return 0.0
        if math.isinf(self.largest):
            return 1.0
        return self._losses.delta(wanted)

    def epsilon(self, delta: float = DELTA) -> float:
        """The smallest E for which all answers together are (E, delta)-private, rounded up."""
        wanted = check_delta(delta)
        if math.isinf(self.largest):
            return math.inf
        return min(self._losses.epsilon(wanted), self.largest)

    @property
    def advantage(self) -> float:
        """δ(0): by how much the chance to tell two contents apart can exceed guessing, times two.

        Whoever guesses between two equally likely contents is right with probability at most
        (1 + advantage)/2.
        """
        return self.delta(0.0)

    def epsilon_error(self, delta: float = DELTA) -> float:
        """`epsilon(delta)` exceeds the true value by at most this."""
        if math.isinf(self.largest):
            return 0.0
        least = self._sum(pessimistic=False).epsilon(check_delta(delta) * (1 + 1e-9))
        return max(self.epsilon(delta) - min(least, self.largest), 0.0) + self.largest * 2.0**-39

    @cached_property
    def _losses(self) -> LossDistribution:
        return self._sum(pessimistic=True)

    def _sum(self, *, pessimistic: bool) -> LossDistribution:
        answers = _few_kinds(self.answers, up=pessimistic)
        parts = [answer.losses(count) for answer, count in sorted(answers.items(), key=_sort_key)]
        if not parts:
            return LossDistribution(1.0, 0, np.ones(1))
        if len({part.step for part in parts}) > 1:
            width = sum(len(part.chances) * part.step for part in parts)
            points = min(_MOST_POINTS, (1 << 21) // len(parts))
            step = width / points
            parts = [part.on_grid(step, pessimistic=pessimistic) for part in parts]
        total = parts[0]
        for part in parts[1:]:
            total = total.plus(part)
        return total


def compose(mechanism: Any, count: int) -> Composition:
    """What `count` answers of one mechanism promise together.

    A mechanism of your own that has an `epsilon` counts as the worst one with that ε, unless it
    says more in `private_answer`.

    >>> mechanism = sf.SubsetMechanism(6.0, 1, sf.Dictionary.load("bsds-16k"))
    >>> small_face = sf.compose(mechanism, 10)
    >>> round(small_face.epsilon(1e-6)), round(small_face.advantage, 3)
    (29, 0.215)
    """
    answer = getattr(mechanism, "private_answer", None)
    if answer is None and (epsilon := getattr(mechanism, "epsilon", None)) is not None:
        answer = PrivateAnswer(epsilon)
    if answer is None:
        raise InvalidInput(
            f"{type(mechanism).__name__} promises no ε, so nothing can be composed; "
            f"{getattr(mechanism, 'no_epsilon', 'give a mechanism that has an epsilon')}."
        )
    return Composition({answer: count})


def check_delta(delta: float) -> float:
    """δ is a small probability, strictly between 0 and 1."""
    value = as_number("delta", delta)
    if not 0 < value < 1:
        raise InvalidInput(
            f"delta must be above 0 and below 1, got {delta!r}; it is the probability that the "
            "promise fails, 1e-6 is usual (for delta = 0 the answer is N·ε)."
        )
    return value


def _sort_key(entry: tuple[PrivateAnswer, int]) -> tuple[float, int, int]:
    answer, _ = entry
    return answer.epsilon, answer.num_values or 0, answer.subset_size


def _few_kinds(answers: dict[PrivateAnswer, int], *, up: bool) -> dict[PrivateAnswer, int]:
    """At most `_MOST_KINDS` different ε for each number of values, rounded in one direction.

    An answer at a smaller ε can be made from one at a larger ε by mixing in uniform answers, so a
    larger ε is never a better promise.
    """
    kinds: dict[tuple[int | None, int], list[PrivateAnswer]] = {}
    for answer in answers:
        kinds.setdefault((answer.num_values, answer.subset_size), []).append(answer)
    rounded: Counter[PrivateAnswer] = Counter()
    for (num_values, subset_size), kind in kinds.items():
        wanted = np.array([answer.epsilon for answer in kind])
        levels = _levels(wanted)
        if up:
            level = np.searchsorted(levels, wanted, side="left")
        else:
            level = np.searchsorted(levels, wanted, side="right") - 1
        for answer, index in zip(kind, level, strict=True):
            rounded[PrivateAnswer(float(levels[index]), num_values, subset_size)] += answers[answer]
    return dict(rounded)


def _levels(epsilons: NDArray[np.float64]) -> NDArray[np.float64]:
    """All the values, or few that are near all of them: every so many, and evenly by ratio."""
    values = np.unique(epsilons)
    if len(values) <= _MOST_KINDS or np.isinf(values[-1]):
        return values
    ranks = np.linspace(0, len(values) - 1, _MOST_KINDS // 2).astype(int)
    ratios = np.geomspace(values[0], values[-1], _MOST_KINDS // 2)
    near = np.minimum(np.searchsorted(values, ratios), len(values) - 1)
    return np.asarray(values[np.unique(np.concatenate([ranks, near]))])
