"""What a device does before it sends, as one value: for those who train or measure attackers.

Releases are drawn with known seeds: for measuring, not for sending.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import KeypointRelease
from sfumato.core.types import Features
from sfumato.device.mechanisms import Plain, SubsetMechanism, SubspaceLifting
from sfumato.dictionary import Dictionary


@dataclass(frozen=True)
class Defence:
    """What a device does before it sends; strategy and subset_size say which kind it is.

    strategy, dimension               lifting, which has no ε
    num_words, subset_size, epsilon   words; ε per descriptor
    """

    extractor: str = "sift"
    strategy: str = ""
    dimension: int = 0
    num_words: int = 0
    subset_size: int = 0
    epsilon: float | None = None

    @property
    def name(self) -> str:
        """Short, and fit for a file name."""
        if self.strategy:
            return f"subspace-{self.strategy}-{self.dimension}"
        if self.subset_size:
            return f"words-{self.num_words}-{self.subset_size}-{self.epsilon:g}"
        return "raw"

    def send(
        self,
        features: Features,
        seed: int,
        words: Dictionary | None,
        dictionary: Dictionary | None,
    ) -> KeypointRelease:
        """Release these features; words are the lifting's database, dictionary the level used."""
        rng = SeededRandom(seed)
        if self.strategy:
            # A descriptor of nothing but zeros has no direction to lift.
            solid = features.take(np.flatnonzero(features.descriptors.any(axis=1)))
            return SubspaceLifting(self.strategy, self.dimension, words).release(solid, rng=rng)
        if self.subset_size:
            if dictionary is None:
                raise InvalidInput("words need a dictionary; give one.")
            mechanism = SubsetMechanism(_epsilon(self.epsilon), self.subset_size, dictionary)
            return mechanism.release(features, rng=rng)
        return Plain().release(features, rng=rng)


#: Nothing is done: raw SIFT is sent.
PLAIN = Defence()


def _epsilon(value: float | None) -> float:
    if value is None:
        raise InvalidInput("words need an epsilon, inf for none.")
    return value
