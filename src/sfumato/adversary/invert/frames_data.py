"""Examples for the network that guesses frames: keypoints whose angles and sizes are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.crops import Crop, CropOptions
from sfumato.adversary.invert.encoders import scale_descriptors
from sfumato.adversary.invert.keypoint_angles import EXTRACTOR, Neighbourhood, find_neighbourhood
from sfumato.adversary.invert.turned_views import turned_positions
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Features

#: Pictures the figures are made on are squares of this side.
SCORED_SIDE = 256


@dataclass(frozen=True, kw_only=True)
class FrameDataOptions(CropOptions):
    """How pictures become examples.

    smallest, largest  side of the square crops, in pixels
    min_keypoints      a random number of the strongest, down to this many, is kept at each use
    upright            share of examples that are not turned by a right angle: pictures have an
                       up, and the network may lean on it, but not too much
    wrong              share of examples in which up to half of the descriptors are exchanged
                       for others, as recovery attacks sometimes do
    """

    variants: int = 3
    smallest: int = 256
    largest: int = 320
    min_keypoints: int = 100
    upright: float = 0.5
    wrong: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("smallest", self.smallest, low=16, high=4096)
        check_count("largest", self.largest, low=self.smallest, high=4096)
        check_count("min_keypoints", self.min_keypoints, low=2, high=self.max_keypoints)
        for name in ("upright", "wrong"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidInput(f"{name} must lie in 0…1, got {getattr(self, name)!r}.")


@dataclass(frozen=True)
class FrameExample:
    """What the network sees, what it should answer, and which rows count.

    rows      (N, 128) scaled descriptors
    features  the same keypoints, with their true angles and sizes
    """

    rows: NDArray[np.float32]
    features: Features
    near: Neighbourhood
    counted: NDArray[np.bool_]


def turned_features(features: Features, quarters: int) -> Features:
    """Those of the picture turned clockwise by right angles; descriptors do not change."""
    keypoints, size = turned_positions(features.keypoints, features.image_size, quarters)
    angles = (features.angles + 90 * quarters) % 360
    return replace(features, keypoints=keypoints, angles=angles, image_size=size)


@dataclass(frozen=True)
class FrameRecipe:
    """Crops of many sizes, turned, thinned out, and some of their descriptors exchanged."""

    options: FrameDataOptions
    neighbours: int
    extractor: str = EXTRACTOR
    whole_side: int = SCORED_SIDE

    @property
    def label(self) -> str:
        o = self.options
        return f"{o.smallest} {o.largest} {o.max_keypoints}"

    def side(self, rng: np.random.Generator) -> int:
        return int(rng.integers(self.options.smallest, self.options.largest + 1))

    def for_crops(self) -> FrameRecipe:
        return self

    def example(self, crop: Crop, rng: np.random.Generator) -> FrameExample:
        o, features = self.options, crop.features
        if rng.random() >= o.upright:
            features = turned_features(features, int(rng.integers(1, 4)))
        count = len(features)
        kept = int(rng.integers(min(o.min_keypoints, count), count + 1))
        features = features.take(np.sort(rng.permutation(count)[:kept]))
        counted = np.ones(kept, dtype=np.bool_)
        if kept > 1 and rng.random() < o.wrong:
            counted = rng.random(kept) >= rng.uniform(0, 0.5)
            descriptors = features.descriptors.copy()
            others = rng.integers(0, kept, int((~counted).sum()))
            descriptors[~counted] = features.descriptors[others]
            features = replace(features, descriptors=descriptors)
        return self.surrounded(features, counted)

    def whole(self, crop: Crop, number: int) -> FrameExample:
        return self.surrounded(crop.features, np.ones(len(crop.features), dtype=np.bool_))

    def surrounded(self, features: Features, counted: NDArray[np.bool_]) -> FrameExample:
        """With the neighbours of every keypoint."""
        near = find_neighbourhood(features.keypoints, features.image_size, self.neighbours)
        rows = scale_descriptors(features.descriptors, EXTRACTOR)
        return FrameExample(rows, features, near, counted)
