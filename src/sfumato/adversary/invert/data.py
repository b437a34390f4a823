"""Examples for the network that paints: a crop, and what the attacker sees of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.crops import Crop, CropOptions
from sfumato.adversary.invert.encoders import (
    INFERRED,
    Encoded,
    Source,
    as_guessed,
    encode,
    shows_frames,
    true_word_chance,
)
from sfumato.adversary.invert.sparse import MapOptions, PixelMap, map_pixels
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import WordRelease
from sfumato.core.types import Features
from sfumato.dictionary import Dictionary
from sfumato.features.extractors import check_request


@dataclass(frozen=True, kw_only=True)
class DataOptions(CropOptions):
    """How pictures become examples.

    crop     side of the square crops, in pixels
    dropout  up to this share of the keypoints is left out, anew at each use
    """

    crop: int = 256
    dropout: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("crop", self.crop, low=16, high=4096)
        if not 0 <= self.dropout < 1:
            raise InvalidInput(f"dropout must be at least 0 and below 1, got {self.dropout!r}.")


@dataclass(frozen=True)
class View:
    """What the attacker gets to see of a picture's features.

    release  (features, seed) → what is sent; None shows the features themselves. A mechanism
             of the device is passed in here, the adversary does not import it. With frames
             "either" half of the pictures is sent so, the others are features
    label    names `release` in checkpoints, so that another one is refused
    """

    kind: str = "raw"
    extractor: str = "sift"
    frames: str = "none"
    dictionary: Dictionary | None = None
    release: Callable[[Features, int], Source] | None = None
    label: str = ""

    def encode(self, features: Features, seed: int) -> Encoded:
        if self.frames == "either":
            return self._either(features, seed)
        seen = features if self.release is None else self.release(features, seed)
        return encode(seen, self.kind, dictionary=self.dictionary, frames=self.frames)

    def _either(self, features: Features, seed: int) -> Encoded:
        """Features with their frames, as guessed of a release, and half of the time as sent."""
        rng, way = np.random.default_rng(seed), seed % (2 if self.release is None else 4)
        if way > 1 and self.release is not None:
            sent = self.release(features, seed)
            seen = encode(sent, self.kind, dictionary=self.dictionary, frames=self.frames)
            if not (isinstance(sent, WordRelease) and shows_frames(sent)):
                return seen
            certainty = INFERRED * true_word_chance(sent)
            return as_guessed(seen, features.scales, features.angles, rng, certainty)
        known = encode(features, self.kind, frames=self.frames)
        return as_guessed(known, features.scales, features.angles, rng) if way else known


@dataclass(frozen=True)
class Example:
    """One training pair: the crop (H, W, 3) uint8 and what the attacker sees of it."""

    picture: NDArray[np.uint8]
    encoded: Encoded
    pixels: PixelMap


@dataclass(frozen=True)
class PaintRecipe:
    """Crops of one size as an attacker with this view sees them."""

    view: View
    options: DataOptions
    maps: MapOptions

    def __post_init__(self) -> None:
        check_request(self.view.extractor)

    @property
    def extractor(self) -> str:
        return self.view.extractor

    @property
    def label(self) -> str:
        return f"{self.view.extractor} {self.options.crop} {self.options.max_keypoints}"

    @property
    def whole_side(self) -> int:
        return self.options.crop

    def side(self, rng: np.random.Generator) -> int:
        return self.options.crop

    def example(self, crop: Crop, rng: np.random.Generator) -> Example:
        encoded = self.view.encode(crop.features, int(rng.integers(1 << 62)))
        keep = 1 - rng.uniform(0, self.options.dropout)
        kept = encoded.take(np.flatnonzero(rng.random(len(encoded)) < keep))
        return self._with_map(crop, kept)

    def whole(self, crop: Crop, number: int) -> Example:
        return self._with_map(crop, self.view.encode(crop.features, number))

    def for_crops(self) -> PaintRecipe:
        return replace(self, view=View(extractor=self.view.extractor))

    def _with_map(self, crop: Crop, encoded: Encoded) -> Example:
        pixels = map_pixels(
            encoded.keypoints,
            encoded.image_size,
            self.maps,
            scales=encoded.scales,
            angles=encoded.angles,
        )
        return Example(crop.picture, encoded, pixels)
