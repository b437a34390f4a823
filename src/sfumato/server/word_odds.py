"""How much a shared word says, by the mechanism that drew it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.releases import WordRelease

#: Share of true matches that show the same word; about a third at 4,096 words.
_SAME_WORD = 0.35


@dataclass(frozen=True)
class WordOdds:
    """What the server knows of the mechanism that drew the words.

    kept      probability that the true word is among those sent
    other     probability that another given word is
    num_filed observations of the map that are filed under words
    """

    kept: float
    other: float
    num_filed: int

    @staticmethod
    def of(release: WordRelease, num_filed: int) -> WordOdds:
        size, num_words = release.words.shape[1], release.num_words
        odds = size * math.exp(min(release.epsilon, 50.0))
        kept = odds / (odds + num_words - size)
        return WordOdds(kept, (size - kept) / max(num_words - 1, 1), num_filed)

    def ratio(self, rarity: NDArray[np.float64]) -> NDArray[np.float64]:
        """How much likelier a candidate's word is if it is true: (n,); rarer words say more."""
        share = np.minimum(1 / np.maximum(rarity * max(self.num_filed, 1), 1e-12), 1.0)
        true = _SAME_WORD * self.kept + (1 - _SAME_WORD) * self.other
        return np.asarray(true / np.maximum(share * self.kept + (1 - share) * self.other, 1e-300))
