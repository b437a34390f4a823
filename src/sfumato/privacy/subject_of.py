"""Any mechanism as the audit examines it: the shipped ones, and your own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.core.errors import InvalidInput
from sfumato.core.odds import exp_bounds
from sfumato.core.randomness import RandomSource, SecureRandom
from sfumato.core.types import NOT_PROTECTED
from sfumato.device.mechanisms import MemoisedSubset, Naive, PrivUnit, SubsetMechanism
from sfumato.privacy.law import output_law
from sfumato.privacy.report import Check
from sfumato.privacy.sampled import MAX_CODES, MAX_VALUES, SampledSubject
from sfumato.privacy.subjects import (
    ResponseSubject,
    Rows,
    Subject,
    SubsetSubject,
    World,
    shipped_subset,
)
from sfumato.privacy.unit_vectors import UnitSubject

#: Sessions a memoised mechanism is asked in; each needs a key of its own, which is slow.
_SESSIONS = 5_000
_MOST_ENUMERATED = 16  # inputs of an own mechanism whose laws are compared in fractions


class Auditable(Protocol):
    """What `sf.audit` needs of an own mechanism: a finite world, and the draw of one answer.

    Inputs are numbered; 0 and 1 should be the pair that is told apart most easily. A draw that
    uses `source.coin` and `source.below` alone is enumerated where there are few inputs, and
    judged in fractions; every other one is measured.

    >>> class Flip:
    ...     # One bit, told right in three of four answers: ε = log 3.
    ...     epsilon, num_inputs = 1.1, 2
    ...     def draw(self, inputs, source):
    ...         return np.where(source.below(4, len(inputs)) == 0, 1 - inputs, inputs)
    >>> sf.audit(Flip(), draws=10_000).verdict
    'consistent'
    """

    @property
    def epsilon(self) -> float:
        """The claim: no two inputs differ by more than e^ε in the chance of any answer."""
        ...

    @property
    def num_inputs(self) -> int: ...

    def draw(self, inputs: NDArray[np.uint32], source: RandomSource, /) -> NDArray[Any]:
        """Answer each of (N,) inputs with a row of whole numbers: (N,) or (N, width)."""
        ...


def subject_of(mechanism: Any) -> Subject | None:
    """What the audit examines of a mechanism; None where it claims no ε."""
    if isinstance(mechanism, Subject):
        return mechanism
    inner = mechanism.mechanism if isinstance(mechanism, MemoisedSubset) else mechanism
    epsilon = getattr(inner, "epsilon", None)
    if epsilon is None or epsilon == math.inf:
        if not hasattr(inner, "release"):
            raise InvalidInput(
                f"audit needs a mechanism or a Subject, got {type(mechanism).__name__}."
            )
        return None
    if isinstance(mechanism, MemoisedSubset):
        return MemoisedSubject(mechanism)
    if isinstance(mechanism, Naive):
        return NaiveSubject(mechanism)
    if type(mechanism) is PrivUnit:
        return UnitSubject(epsilon, mechanism=mechanism)
    if type(mechanism) is SubsetMechanism:
        num_words = mechanism.dictionary.num_words
        return SubsetSubject(epsilon, num_words, mechanism.subset_size, sampler=mechanism)
    if type(mechanism) is RandomizedResponse:
        return _response_subject(mechanism)
    return OwnSubject(mechanism)


def why_no_epsilon(mechanism: Any) -> str:
    """Why a mechanism claims no ε, in its own words where it has some."""
    return str(getattr(mechanism, "no_epsilon", "this mechanism claims none"))


def _response_subject(mechanism: RandomizedResponse) -> Subject:
    sent, values = mechanism.num_sent, mechanism.num_values
    if sent is None or sent > MAX_CODES or values > MAX_VALUES:
        return ResponseSubject(mechanism.epsilon, values)
    num_codes = max(sent, 3)
    return SampledSubject(mechanism.epsilon * sent, values, sent, num_codes=num_codes)


class OwnSubject(Subject):
    """A mechanism with `epsilon`, `num_inputs` and `draw(inputs, source)`; see `Auditable`."""

    def __init__(self, mechanism: Any, source: RandomSource | None = None) -> None:
        num_inputs = getattr(mechanism, "num_inputs", None)
        if num_inputs is None and isinstance(mechanism, SubsetMechanism):
            num_inputs = mechanism.dictionary.num_words
        if num_inputs is None or not callable(getattr(mechanism, "draw", None)):
            raise InvalidInput(
                f"{type(mechanism).__name__} claims an epsilon; to audit it, give it num_inputs "
                "and draw(inputs, source), which answers each of 0 … num_inputs − 1 with a row of "
                "whole numbers."
            )
        self._mechanism = mechanism
        self._source = source or SecureRandom()
        self.name = type(mechanism).__name__
        self.unit = str(getattr(mechanism, "unit", "one input"))
        self.epsilon = float(mechanism.epsilon)
        self.num_inputs = int(num_inputs)

    def sample(self, value: int, count: int) -> Rows:
        return self.draw(np.full(count, value, dtype=np.uint32), self._source)

    def draw(self, values: NDArray[np.uint32], source: RandomSource, /) -> Rows:
        rows = np.asarray(self._mechanism.draw(values, source))
        if rows.dtype.kind not in "iub" or rows.ndim not in (1, 2) or len(rows) != len(values):
            raise InvalidInput(
                f"{self.name}.draw must answer {len(values)} inputs with as many rows of whole "
                f"numbers, got {rows.dtype} of shape {rows.shape}."
            )
        return rows.reshape(len(rows), -1).astype(np.int64)

    def worlds(self) -> Iterator[World]:
        """The mechanism itself, where it is small and draws with coin and below alone."""
        if self.num_inputs > _MOST_ENUMERATED:
            return
        try:
            output_law(self, 0)
        except InvalidInput:
            return
        yield World(self, self.num_inputs, self.epsilon, "all inputs", tight=False)


class NaiveSubject(SubsetSubject):
    """The naive baseline, measured on descriptors of one byte; their number is in the odds only."""

    name = "naive, measured on descriptors of one byte"

    def __init__(self, mechanism: Naive, source: RandomSource | None = None) -> None:
        self._naive = mechanism
        small = _OneByte(mechanism.epsilon, mechanism.subset_size)
        super().__init__(
            mechanism.epsilon, 256, mechanism.subset_size, sampler=small, source=source
        )

    def worlds(self) -> Iterator[World]:
        return iter(())  # rejected draws are drawn again: there is no finite number of paths

    def companion(self) -> Subject:
        return NaiveSubject(Naive(1.0, min(self.subset_size, 2), dimension=1), self._source)

    def further_checks(self) -> tuple[Check, ...]:
        """p/(1 − p)·(|K| − ω)/ω ≤ e^ε for the mechanism at its own dimension, in fractions."""
        keep, dimension = self._naive.coin.probability, self._naive.dimension
        ratio = keep / (1 - keep) * (256**dimension - self.subset_size) / self.subset_size
        detail = f"the worst ratio over all 256^{dimension} descriptors against e^ε, in fractions"
        return (Check("exact odds", ratio <= exp_bounds(self.epsilon)[0], detail),)


class _OneByte:
    """The naive mechanism on one-byte descriptors, as a sampler of 256 inputs."""

    def __init__(self, epsilon: float, subset_size: int) -> None:
        self._naive = Naive(epsilon, subset_size, dimension=1)

    def draw(self, values: NDArray[np.uint32], source: RandomSource, /) -> Rows:
        return self._naive.draw(values.astype(np.uint8)[:, None], source)[:, :, 0]


class MemoisedSubject(SubsetSubject):
    """The memoised mechanism over many sessions: ε for the identity of one word of a session.

    The law of the answers is that of the mechanism inside, whose small worlds are enumerated. The
    answers themselves are measured with a fresh secret for every draw.
    """

    name = "memoised subset"
    unit = "one distinct word of the session"
    not_protected = ("which keypoints of the session share a word", *NOT_PROTECTED)
    histogram_draws = _SESSIONS

    def __init__(self, memoised: MemoisedSubset) -> None:
        self._memoised = memoised
        inner = memoised.mechanism
        sampler = _FreshSessions(inner)
        super().__init__(
            inner.epsilon, inner.dictionary.num_words, inner.subset_size, sampler=sampler
        )

    def target_draws(self) -> int:
        return _SESSIONS

    def companion(self) -> Subject:
        num_words, size = self.small_world()
        return MemoisedSubject(MemoisedSubset(shipped_subset(1.0, num_words, size)))

    def further_checks(self) -> tuple[Check, ...]:
        """Within a session a word has one answer; asking again draws nothing new."""
        words = np.arange(min(self.num_inputs, 64), dtype=np.uint32)
        first, again = (self._memoised.answers(words) for _ in range(2))
        detail = f"{len(words)} words asked twice in one session gave the same answers"
        return (Check("one answer per word", np.array_equal(first, again), detail),)


class _FreshSessions:
    """One session for each row, each with its own secret."""

    def __init__(self, mechanism: SubsetMechanism) -> None:
        self._mechanism = mechanism

    def draw(self, values: NDArray[np.uint32], _source: RandomSource, /) -> Rows:
        return np.concatenate(
            [MemoisedSubset(self._mechanism).answers(row) for row in values[:, None]]
        )
