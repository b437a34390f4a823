"""d-ary randomized response on integer codes, all of a picture's or a few drawn ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.accounting import PrivateAnswer
from sfumato.core.checks import check_count, check_epsilon, check_indices
from sfumato.core.codes import Codes, MapShape, code_type
from sfumato.core.errors import InvalidInput
from sfumato.core.odds import Coin, response_coin
from sfumato.core.randomness import RandomSource, check_source, draw_distinct
from sfumato.core.releases import MAX_WORDS, CodeRelease
from sfumato.core.types import PrivacyEvent

#: Outside the guarantee of every release of codes.
CODES_NOT_PROTECTED = (
    "the label of the picture",
    "how many codes are sent and where they belong",
    "the pictures an encoder was fitted on",
)
_BLOCK = 1 << 22  # codes perturbed at a time


@dataclass(frozen=True)
class RandomizedResponse:
    """Keep a value of {0, …, d − 1}, or draw any of the d values instead.

    p = e^ε / (d − 1 + e^ε) for the true value, p/e^ε for each other one   [dcaconv, eq. 1]
    Guarantee: ε-LDP per code. The m codes of one picture compose to m·ε.
    With num_sent = k a picture sends k of its codes, at positions drawn without looking at them:
    k·ε for the whole picture, ε for k = 1. Labels lie outside. Proof: docs/classification.md.
    With ε = ∞ the true values are sent: not private.

    >>> from sfumato import SeededRandom  # for an example; a device draws from SecureRandom()
    >>> mechanism = RandomizedResponse(epsilon=2.0, num_values=4, num_sent=3)
    >>> mechanism.release(np.array([0, 1, 2, 3, 0, 1]), rng=SeededRandom(0)).codes
    array([0, 0, 1], dtype=uint32)
    """

    epsilon: float
    num_values: int  # d
    num_sent: int | None = None  # k; None sends all codes
    coin: Coin = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon = check_epsilon(self.epsilon, allow_infinite=True)
        check_count("num_values", self.num_values, low=2, high=MAX_WORDS)
        if self.num_sent is not None:
            check_count("num_sent", self.num_sent, low=1, high=MAX_WORDS)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "coin", response_coin(epsilon, self.num_values))

    @property
    def private_answer(self) -> PrivateAnswer:
        """One code, as exact composition counts it."""
        return PrivateAnswer(self.epsilon, self.num_values)

    @property
    def truth_probability(self) -> float:
        """The chance that the value sent is the true one (kept, or drawn by luck)."""
        keep = self.coin.probability
        return float(keep + (1 - keep) / self.num_values)

    def event(self, codes: NDArray[Any]) -> PrivacyEvent:
        """What releasing these codes of one picture will cost."""
        (num_codes,) = self._check_codes(codes, num_axes=1).shape
        sampled = self.num_sent is not None
        return PrivacyEvent(
            mechanism="sampled response" if sampled else "randomized response",
            epsilon=self.epsilon,
            num_units=self.num_sent or num_codes,
            unit="one code",
            not_protected=CODES_NOT_PROTECTED
            if math.isfinite(self.epsilon)
            else ("the codes themselves", *CODES_NOT_PROTECTED),
            num_values=self.num_values,
        )

    def release(
        self,
        codes: NDArray[Any],
        *,
        rng: RandomSource,
        encoder: str = "codes",
        label: int | None = None,
    ) -> CodeRelease:
        """Answer the (m,) codes of one picture."""
        source = check_source(rng)
        truth = self._check_codes(codes, num_axes=1)
        values, positions = self.answer(truth[None], source)
        return CodeRelease(
            codes=values[0],
            positions=np.arange(len(truth), dtype=np.uint32) if positions is None else positions[0],
            num_values=self.num_values,
            num_positions=len(truth),
            epsilon=self.epsilon,
            encoder=encoder,
            label=label,
            reproducible=source.reproducible,
        )

    def perturb(
        self,
        codes: NDArray[Any],
        *,
        rng: RandomSource,
        map_shape: MapShape | None = None,
        encoder: str = "codes",
    ) -> Codes:
        """Answer the (N, m) codes of many pictures, in bounded memory beside the result."""
        source = check_source(rng)
        truth = self._check_codes(codes, num_axes=2)
        count, num_codes = truth.shape
        width = self.num_sent or num_codes
        values = np.empty((count, width), dtype=code_type(self.num_values))
        positions = None if self.num_sent is None else np.empty((count, width), dtype=np.uint32)
        size = max(_BLOCK // num_codes, 1)
        for rows in (slice(start, start + size) for start in range(0, count, size)):
            values[rows], drawn = self.answer(truth[rows], source)
            if positions is not None and drawn is not None:
                positions[rows] = drawn
        return Codes(
            values=values,
            positions=positions,
            num_values=self.num_values,
            num_positions=num_codes,
            map_shape=map_shape,
            epsilon=self.epsilon,
            encoder=encoder,
            reproducible=source.reproducible,
        )

    def answer(
        self, codes: NDArray[Any], source: RandomSource
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32] | None]:
        """Answer (N, m) codes at once: values, and their positions unless all are sent."""
        count, num_codes = codes.shape
        if self.num_sent is None:
            return self.draw(codes.reshape(-1), source).reshape(count, num_codes), None
        positions = draw_positions(num_codes, self.num_sent, count, source)
        rows = np.arange(count)
        columns = [self.draw(codes[rows, column], source) for column in positions.T]
        return np.concatenate(columns, axis=1), positions

    def draw(self, values: NDArray[Any], source: RandomSource) -> NDArray[np.uint32]:
        """Answer each value with one value: (N,) → (N, 1)."""
        answers = source.below(self.num_values, len(values))
        keep = source.coin(self.coin, len(values))
        np.copyto(answers, np.asarray(values, dtype=np.uint32), where=keep)
        return answers[:, None]

    def _check_codes(self, codes: Any, *, num_axes: int) -> NDArray[Any]:
        truth = check_indices("codes", codes, self.num_values)
        if truth.ndim != num_axes or not truth.shape[-1]:
            wanted = "one picture (m,)" if num_axes == 1 else "pictures (N, m)"
            raise InvalidInput(f"codes of {wanted} are needed, m ≥ 1, got shape {truth.shape}.")
        if self.num_sent is not None and self.num_sent > truth.shape[-1]:
            raise InvalidInput(
                f"num_sent must be at most the {truth.shape[-1]} codes of a picture, got "
                f"{self.num_sent}."
            )
        return truth


def draw_positions(
    num_codes: int, num_sent: int, count: int, source: RandomSource
) -> NDArray[np.uint32]:
    """For each of `count` pictures, a uniformly drawn set of positions as a sorted row.

    The draws are the same whatever the codes are, which are never looked at.
    """
    return np.sort(np.stack(draw_distinct(num_codes, num_sent, count, source), axis=1), axis=1)
