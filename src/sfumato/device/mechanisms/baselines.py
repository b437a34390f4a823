"""The rows every table needs beside the mechanism: raw, quantised, and naive LDP."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.errors import InvalidInput
from sfumato.core.odds import Coin, subset_coin
from sfumato.core.randomness import RandomSource, check_source
from sfumato.core.releases import CandidateRelease, PlainRelease
from sfumato.core.types import NOT_PROTECTED, Camera, Features, PrivacyEvent
from sfumato.device.mechanisms.base import release_fields
from sfumato.device.mechanisms.subset import SubsetMechanism
from sfumato.dictionary import Dictionary


@dataclass(frozen=True)
class Plain:
    """No guarantee: send the raw descriptors.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> sf.Plain().release(features, rng=sf.SecureRandom())
    PlainRelease(16 keypoints, raw sift descriptors, not private)
    """

    no_epsilon: ClassVar[str] = "the descriptors are sent as they are"

    def event(self, features: Features) -> PrivacyEvent:
        return PrivacyEvent(
            mechanism="plain",
            epsilon=None,
            num_units=len(features),
            unit="one descriptor",
            not_protected=("the descriptors themselves", *NOT_PROTECTED),
        )

    def release(
        self, features: Features, *, rng: RandomSource, camera: Camera | None = None
    ) -> PlainRelease:
        return PlainRelease(
            descriptors=features.descriptors,
            **release_fields(features, camera, check_source(rng)),
        )


class Quantize(SubsetMechanism):
    """No guarantee: send the nearest word of each descriptor without noise.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> sf.Quantize(sf.Dictionary.load("bsds-16k")).release(features, rng=sf.SecureRandom())
    WordRelease(16 keypoints × 1 of 16384 words, no ε, sent without noise)
    """

    def __init__(self, dictionary: Dictionary) -> None:
        super().__init__(epsilon=math.inf, subset_size=1, dictionary=dictionary)

    def __repr__(self) -> str:
        return f"Quantize(dictionary={self.dictionary!r})"


@dataclass(frozen=True)
class Naive:
    """The ω-subset mechanism over all 2^(8·D) uint8 descriptors [ldp-feat §5, "naive"].

    Guarantee: ε-LDP per descriptor; N descriptors compose to N·ε. Useless by design: at
    D = 128 the true descriptor is sent with probability about ω·e^ε / 2^1024, which is
    tossed exactly, with as many random bits as it takes.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> sf.Naive(epsilon=8, subset_size=2).release(features, rng=sf.SecureRandom())
    CandidateRelease(16 keypoints × 2 candidates, ε = 8 per descriptor)
    """

    epsilon: float
    subset_size: int  # ω
    dimension: int = 128
    coin: Coin = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon = check_epsilon(self.epsilon)
        dimension = check_count("dimension", self.dimension, low=1, high=512)
        size = check_count("subset_size", self.subset_size, low=1, high=255)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "coin", subset_coin(epsilon, 256**dimension, size))

    @property
    def keep_probability_log2(self) -> float:
        """log2 of the chance that the true descriptor is sent; as a float it would be 0."""
        return _log2(self.coin.threshold) - self.coin.bits

    def event(self, features: Features) -> PrivacyEvent:
        self._check_features(features)
        return PrivacyEvent(
            mechanism="naive",
            epsilon=self.epsilon,
            num_units=len(features),
            unit="one descriptor",
            not_protected=NOT_PROTECTED,
        )

    def release(
        self, features: Features, *, rng: RandomSource, camera: Camera | None = None
    ) -> CandidateRelease:
        source = check_source(rng)
        self._check_features(features)
        return CandidateRelease(
            candidates=self.draw(features.descriptors, source),
            epsilon=self.epsilon,
            **release_fields(features, camera, source),
        )

    def draw(self, truth: NDArray[np.uint8], source: RandomSource) -> NDArray[np.uint8]:
        """Answer each descriptor with ω sorted descriptors: (N, D) → (N, ω, D)."""
        count, size = len(truth), self.subset_size
        rows = np.empty((count, size, self.dimension), dtype=np.uint8)
        redraw = np.arange(count)
        while redraw.size:
            drawn = source.below(256, redraw.size * size * self.dimension).astype(np.uint8)
            rows[redraw] = drawn.reshape(redraw.size, size, self.dimension)
            redraw = redraw[_has_repeat(rows[redraw], truth[redraw])]
        slot = source.below(size, count)
        keep = source.coin(self.coin, count)
        for i in range(size):
            here = keep & (slot == i)
            rows[here, i] = truth[here]
        keys = rows.view(f"S{self.dimension}")[:, :, 0]
        order = np.argsort(keys, axis=1)
        return np.take_along_axis(rows, order[:, :, None], axis=1)

    def _check_features(self, features: Features) -> None:
        descriptors = features.descriptors
        if descriptors.dtype != np.uint8 or descriptors.shape[1] != self.dimension:
            raise InvalidInput(
                f"the naive baseline needs {self.dimension}-D uint8 descriptors, got "
                f"{descriptors.shape[1]}-D {descriptors.dtype}."
            )


def _has_repeat(rows: NDArray[np.uint8], truth: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Rows that hold a descriptor twice, or the true one: they would bias the draw."""
    width = rows.shape[2]
    keys = np.ascontiguousarray(np.concatenate([rows, truth[:, None]], axis=1))
    ordered = np.sort(keys.view(f"S{width}")[:, :, 0], axis=1)
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))


def _log2(value: int) -> float:
    shift = max(value.bit_length() - 60, 0)
    return math.log2(value >> shift) + shift
