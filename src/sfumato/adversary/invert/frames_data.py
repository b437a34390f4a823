"""Examples for the network that guesses frames: keypoints whose angles and sizes are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

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
class Posed:
    """Keypoints of one picture with their true frames; size is (width, height)."""

    rows: NDArray[np.float32]
    keypoints: NDArray[np.float32]
    scales: NDArray[np.float32]
    angles: NDArray[np.float32]
    size: tuple[int, int]

    @staticmethod
    def of(features: Features) -> Posed:
        rows = scale_descriptors(features.descriptors, EXTRACTOR)
        f = features
        return Posed(rows, f.keypoints, f.scales, f.angles, f.image_size)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, keep: NDArray[Any]) -> Posed:
        """The same picture with only these keypoints."""
        return Posed(
            self.rows[keep], self.keypoints[keep], self.scales[keep], self.angles[keep], self.size
        )

    def turned(self, quarters: int) -> Posed:
        """The picture turned clockwise by right angles; its descriptors do not change."""
        keypoints, size = turned_positions(self.keypoints, self.size, quarters)
        angles = np.asarray((self.angles + 90 * quarters) % 360, dtype=np.float32)
        return replace(self, keypoints=keypoints, angles=angles, size=size)


@dataclass(frozen=True)
class FrameExample:
    """What the network sees, what it should answer, and which rows count."""

    posed: Posed
    near: Neighbourhood
    counted: NDArray[np.bool_]


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

    def example(self, crop: Crop, rng: np.random.Generator) -> FrameExample:
        o, posed = self.options, Posed.of(crop.features)
        if rng.random() >= o.upright:
            posed = posed.turned(int(rng.integers(1, 4)))
        count = len(posed)
        kept = int(rng.integers(min(o.min_keypoints, count), count + 1))
        posed = posed.take(np.sort(rng.permutation(count)[:kept]))
        counted = np.ones(kept, dtype=np.bool_)
        if kept > 1 and rng.random() < o.wrong:
            counted = rng.random(kept) >= rng.uniform(0, 0.5)
            rows = posed.rows.copy()
            rows[~counted] = posed.rows[rng.integers(0, kept, int((~counted).sum()))]
            posed = replace(posed, rows=rows)
        return self.surrounded(posed, counted)

    def whole(self, crop: Crop, number: int) -> FrameExample:
        posed = Posed.of(crop.features)
        return self.surrounded(posed, np.ones(len(posed), dtype=np.bool_))

    def surrounded(self, posed: Posed, counted: NDArray[np.bool_]) -> FrameExample:
        """With the neighbours of every keypoint."""
        near = find_neighbourhood(posed.keypoints, posed.size, self.neighbours)
        return FrameExample(posed, near, counted)
