"""How many keypoints leave: the strongest, or always the same number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count, check_same_extractor
from sfumato.core.positions import position_shift
from sfumato.core.randomness import RandomSource
from sfumato.core.types import Features
from sfumato.dictionary import Dictionary


@dataclass(frozen=True)
class KeepStrongest:
    """Keep the `count` strongest keypoints: fewer of them cost less, N·ε per picture.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> len(sf.KeepStrongest(5)(features, rng=sf.SecureRandom()))
    5
    """

    count: int

    def __post_init__(self) -> None:
        check_count("count", self.count, low=0)

    def __call__(self, features: Features, *, rng: RandomSource) -> Features:
        order = np.argsort(-features.scores, kind="stable")
        return features.take(order[: self.count])


@dataclass(frozen=True)
class ConstantCount:
    """Send exactly `count` keypoints, so that their number says nothing about the picture.

    Too many: the strongest stay. Too few: decoys are added, at uniform positions, each a
    uniformly drawn word of the dictionary. The ω-subset mechanism answers a uniform word
    with a uniform set, so a decoy carries no information. Decoys hide the number from
    someone who counts; positions may still tell a decoy from a corner of the scene.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> fill = sf.ConstantCount(100, sf.Dictionary.load("bsds-16k"))
    >>> len(fill(features, rng=sf.SecureRandom()))
    100
    """

    count: int
    dictionary: Dictionary

    def __post_init__(self) -> None:
        check_count("count", self.count, low=1)

    def __call__(self, features: Features, *, rng: RandomSource) -> Features:
        check_same_extractor(
            "the dictionary", self.dictionary.extractor, "the picture", features.extractor
        )
        # Drawn always, used as needed: the work does not tell how many were missing.
        positions = _uniform_positions(self.count, features.image_size, rng)
        words = rng.below(self.dictionary.num_words, self.count)
        kept = KeepStrongest(self.count)(features, rng=rng)
        missing = self.count - len(kept)
        return Features(
            keypoints=np.concatenate([kept.keypoints, positions[:missing]]),
            descriptors=np.concatenate([kept.descriptors, self._words(words[:missing], kept)]),
            scores=np.concatenate([kept.scores, np.zeros(missing)]),
            scales=np.concatenate([kept.scales, np.zeros(missing)]),
            angles=np.concatenate([kept.angles, np.full(missing, -1.0)]),
            image_size=features.image_size,
            extractor=features.extractor,
        )

    def _words(self, rows: NDArray[np.uint32], like: Features) -> NDArray[Any]:
        words = np.asarray(self.dictionary.words[rows])
        return words.astype(like.descriptors.dtype, copy=False)


def _uniform_positions(
    count: int, image_size: tuple[int, int], rng: RandomSource
) -> NDArray[np.float32]:
    """Positions uniform on the grid of the wire format."""
    scale = 1 << position_shift(image_size)
    columns = [rng.below((side - 1) * scale + 1, count) for side in image_size]
    return (np.stack(columns, axis=1) / scale).astype(np.float32)
