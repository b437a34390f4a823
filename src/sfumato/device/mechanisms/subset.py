"""LDP on a dictionary: the ω-subset mechanism, with exact odds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.accounting import PrivateAnswer
from sfumato.core.checks import check_count, check_epsilon, check_same_extractor
from sfumato.core.errors import InvalidInput
from sfumato.core.odds import Coin, subset_coin
from sfumato.core.randomness import RandomSource, check_source, draw_distinct
from sfumato.core.releases import WordRelease
from sfumato.core.types import NOT_PROTECTED, Camera, Features, PrivacyEvent
from sfumato.device.mechanisms.base import release_fields
from sfumato.dictionary import Dictionary


@dataclass(frozen=True)
class SubsetMechanism:
    """Send ω dictionary words per descriptor; the true one is kept with favoured odds.

    keep probability = ω·e^ε / (ω·e^ε + |K| − ω)                         [ldp-feat, eq. 5]
    Guarantee: ε-LDP per descriptor. N descriptors of one picture compose to N·ε.
    Positions and N lie outside it. Proof: docs/proof-subset.md.
    With ε = ∞ the true word is always sent: quantised, not private.

    >>> words = sf.Dictionary.load("bsds-16k")
    >>> mechanism = sf.SubsetMechanism(epsilon=8, subset_size=2, dictionary=words)
    >>> round(mechanism.keep_probability, 3)
    0.267
    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> mechanism.release(features, rng=sf.SecureRandom())
    WordRelease(16 keypoints × 2 of 16384 words, ε = 8 per descriptor)
    """

    epsilon: float
    subset_size: int  # ω
    dictionary: Dictionary
    coin: Coin = field(init=False, repr=False)

    no_epsilon: ClassVar[str] = "the nearest word is sent without noise"

    def __post_init__(self) -> None:
        num_words = self.dictionary.num_words
        if num_words < 2:
            raise InvalidInput(
                f"a dictionary needs at least 2 words to hide one among others, got {num_words}."
            )
        epsilon = check_epsilon(self.epsilon, allow_infinite=True)
        size = check_count(
            "subset_size",
            self.subset_size,
            low=1,
            high=num_words - 1,
            why=f"sending all {num_words} words of the dictionary carries no information"
            if self.subset_size == num_words
            else f"the dictionary has {num_words} words",
        )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "subset_size", size)
        object.__setattr__(self, "coin", subset_coin(epsilon, num_words, size))

    @property
    def private_answer(self) -> PrivateAnswer:
        """One answer, as exact composition counts it."""
        return PrivateAnswer(self.epsilon, self.dictionary.num_words, self.subset_size)

    @property
    def keep_probability(self) -> float:
        """The chance that the true word is among those sent."""
        return float(self.coin.probability)

    def event(self, features: Features) -> PrivacyEvent:
        self._check_features(features)
        return PrivacyEvent(
            mechanism="subset" if math.isfinite(self.epsilon) else "quantize",
            epsilon=self.epsilon,
            num_units=len(features),
            unit="one descriptor",
            not_protected=NOT_PROTECTED
            if math.isfinite(self.epsilon)
            else ("the nearest words", *NOT_PROTECTED),
            num_values=self.dictionary.num_words,
            subset_size=self.subset_size,
        )

    def release(
        self, features: Features, *, rng: RandomSource, camera: Camera | None = None
    ) -> WordRelease:
        return self.release_words(features, self.nearest_words(features), rng=rng, camera=camera)

    def release_words(
        self,
        features: Features,
        true_words: NDArray[np.uint32],
        *,
        rng: RandomSource,
        camera: Camera | None = None,
    ) -> WordRelease:
        """`release` where the true word of every descriptor is known already."""
        source = check_source(rng)
        return WordRelease(
            words=self.draw(true_words, source),
            num_words=self.dictionary.num_words,
            dictionary=self.dictionary.fingerprint,
            epsilon=self.epsilon,
            **release_fields(features, camera, source),
        )

    def nearest_words(self, features: Features) -> NDArray[np.uint32]:
        """The true word of every descriptor. Never leaves the device."""
        self._check_features(features)
        return self.dictionary.nearest(features.descriptors)

    def draw(self, true_words: NDArray[np.uint32], source: RandomSource) -> NDArray[np.uint32]:
        """Answer each true word with a sorted row of ω words: (N,) → (N, ω).

        Every row costs the same draws and the same arithmetic, whatever the coin shows.
        """
        size, count = self.subset_size, len(true_words)
        truth = np.asarray(true_words, dtype=np.uint32)
        # Labels 0 … |K|−2 skip over the true word: the others are uniform among the rest.
        columns = draw_distinct(self.dictionary.num_words - 1, size, count, source)
        for column in columns:
            column += column >= truth
        slot = source.below(size, count)
        keep = source.coin(self.coin, count)
        for i, column in enumerate(columns):
            np.copyto(column, truth, where=keep & (slot == i))
        return _sorted_rows(columns)

    def _check_features(self, features: Features) -> None:
        check_same_extractor(
            "the dictionary", self.dictionary.extractor, "the picture", features.extractor
        )


def _sorted_rows(columns: list[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Sort each row, so that order says nothing about which word was true."""
    rows = np.empty((len(columns[0]), len(columns)), dtype=np.uint32)
    if len(columns) == 2:
        np.minimum(columns[0], columns[1], out=rows[:, 0])
        np.maximum(columns[0], columns[1], out=rows[:, 1])
        return rows
    for i, column in enumerate(columns):
        rows[:, i] = column
    rows.sort(axis=1)
    return rows
