"""The sampled response under audit: a claim for the whole picture, not for one code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.odds import as_written
from sfumato.core.randomness import RandomSource, SecureRandom
from sfumato.core.releases import CodeRelease, Release
from sfumato.privacy.subjects import SMALL_EPSILONS, Rows, Subject, World

MAX_CODES = 4  # of the audit's pictures, all of which are numbered
MAX_VALUES = 1024


class SampledSubject(Subject):
    """Randomized response on k codes drawn from a picture's m; ε is the whole picture's.

    Inputs are all d^m pictures of a small world. 0 is the picture whose codes are all 0, and
    1 the one whose codes are all 1, which differs from it wherever the draw may fall.
    """

    name = "sampled response"
    unit = "one whole picture"
    not_protected = ("labels", "how many codes are sent and where they belong")

    def __init__(
        self,
        epsilon: float,
        num_values: int,
        num_sent: int = 1,
        *,
        num_codes: int = 3,
        make: Callable[[float, int, int], RandomizedResponse] = RandomizedResponse,
        source: RandomSource | None = None,
    ) -> None:
        self._num_codes = check_count("num_codes", num_codes, low=1, high=MAX_CODES)
        why = f"the audit's pictures have {num_codes} codes"
        check_count("the number of codes sent", num_sent, low=1, high=num_codes, why=why)
        check_count(
            "the number of values", num_values, low=2, high=MAX_VALUES, why="pictures are numbered"
        )
        self._make = make
        self._mechanism = make(share_of(epsilon, num_sent), num_values, num_sent)
        self._source = source or SecureRandom()
        self.num_values, self.num_sent = num_values, num_sent
        self.epsilon = epsilon
        self.num_inputs = num_values**num_codes

    def sample(self, value: int, count: int) -> Rows:
        return self.draw(np.full(count, value, dtype=np.uint32), self._source)

    def draw(self, pictures: NDArray[np.uint32], source: RandomSource, /) -> Rows:
        """Positions and values of the answers, side by side."""
        codes = picture_codes(pictures, self._num_codes, self.num_values)
        values, positions = self._mechanism.answer(codes, source)
        return values if positions is None else np.concatenate([positions, values], axis=1)

    def worlds(self) -> Iterator[World]:
        for num_values, codes, sent in ((2, 2, 1), (2, 3, 1), (3, 2, 1), (2, 3, 2), (4, 2, 2)):
            for epsilon in sorted({*SMALL_EPSILONS, self.epsilon}):
                world = SampledSubject(epsilon, num_values, sent, num_codes=codes, make=self._make)
                name = f"d = {num_values}, {sent} of {codes} codes, ε = {epsilon:g}"
                yield World(world, world.num_inputs, epsilon, name)

    def companion(self) -> Subject:
        values, sent = min(self.num_values, 4), min(self.num_sent, 2)
        return SampledSubject(1.0, values, sent, make=self._make, source=self._source)

    def target(self, rows: Rows) -> NDArray[np.bool_]:
        """All answers are 0."""
        return np.asarray((rows[:, -self.num_sent :] == 0).all(axis=1))

    def target_draws(self) -> int:
        grown = math.exp(self.epsilon / self.num_sent)
        rare = 1 / (self.num_values - 1 + grown) ** self.num_sent
        return int(min(max(math.ceil(900 / rare), 2_000_000), 100_000_000))

    def truth(self, rows: Rows) -> tuple[NDArray[np.bool_], float]:
        grown = math.exp(self.epsilon / self.num_sent)
        return np.asarray(rows[:, -1] == 0), grown / (self.num_values - 1 + grown)

    def refusal(self, rows: Rows) -> str | None:
        """Send some answers through the wire format and compare what arrives."""
        for row in rows[:500].astype(np.uint32):
            try:
                release = CodeRelease(
                    positions=row[: self.num_sent],
                    codes=row[-self.num_sent :],
                    num_values=self.num_values,
                    num_positions=self._num_codes,
                    epsilon=share_of(self.epsilon, self.num_sent),
                    encoder="audit",
                )
                arrived = Release.from_bytes(release.to_bytes())
            except InvalidInput as error:
                return str(error)
            if arrived != release:
                return "the wire format changed the answers"
        return None


def share_of(epsilon: float, num_sent: int) -> float:
    """ε per code, so that num_sent of them never exceed epsilon, not even by a rounding."""
    share = epsilon / num_sent
    while math.isfinite(share) and as_written(share) * num_sent > as_written(epsilon):
        share = math.nextafter(share, 0)
    return share


def picture_codes(
    pictures: NDArray[np.uint32], num_codes: int, num_values: int
) -> NDArray[np.int64]:
    """Numbers 0 … d^m − 1 as pictures of m codes, all of them once; i < d has all codes i."""
    every = num_values**num_codes
    ones = (every - 1) // (num_values - 1)  # 11…1 in base d; it shares no factor with d
    spread = pictures.astype(np.int64) * ones % every
    return np.asarray(spread[:, None] // num_values ** np.arange(num_codes) % num_values)
