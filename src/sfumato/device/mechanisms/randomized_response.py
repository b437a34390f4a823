"""d-ary randomized response on integer codes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.odds import Coin, response_coin
from sfumato.core.randomness import RandomSource
from sfumato.core.releases import MAX_WORDS


@dataclass(frozen=True)
class RandomizedResponse:
    """Keep a value of {0, …, d − 1}, or draw any of the d values instead.

    p = e^ε / (d − 1 + e^ε) for the true value, p/e^ε for each other one   [dcaconv, eq. 1]
    Guarantee: ε-LDP per value. m values of one picture compose to m·ε. Labels lie outside.
    """

    epsilon: float
    num_values: int  # d
    coin: Coin = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon = check_epsilon(self.epsilon)
        check_count("num_values", self.num_values, low=2, high=MAX_WORDS)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "coin", response_coin(epsilon, self.num_values))

    @property
    def truth_probability(self) -> float:
        """The chance that the value sent is the true one (kept, or drawn by luck)."""
        keep = self.coin.probability
        return float(keep + (1 - keep) / self.num_values)

    def draw(self, values: NDArray[np.uint32], source: RandomSource) -> NDArray[np.uint32]:
        """Answer each value with one value: (N,) → (N, 1)."""
        answers = source.below(self.num_values, len(values))
        keep = source.coin(self.coin, len(values))
        np.copyto(answers, np.asarray(values, dtype=np.uint32), where=keep)
        return answers[:, None]
