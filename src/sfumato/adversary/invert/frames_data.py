"""Keypoints whose angles and sizes are known, to learn frames from: crops, turns, and a cache.

Everything drawn is a function of (seed, picture, variant) or (seed, place in the run).
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.data import Pictures, fit_square, random_crop
from sfumato.adversary.invert.encoders import scale_descriptors
from sfumato.adversary.invert.keypoint_angles import Neighbourhood, find_neighbourhood
from sfumato.core.arrays import read_arrays
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.storage import write_file
from sfumato.features.extractors import extract
from sfumato.features.image import decode_image

_FIELDS = ("descriptors", "keypoints", "scales", "angles")


@dataclass(frozen=True)
class FrameDataOptions:
    """How pictures become examples.

    smallest, largest  side of the square crops, in pixels
    variants           different crops per picture
    max_keypoints      the strongest of a crop; a random number of them, down to
    min_keypoints      this many, is kept at each use
    upright            share of examples that are not turned by a right angle: pictures have an
                       up, and the network may lean on it, but not too much
    wrong              share of examples in which up to half of the descriptors are exchanged
                       for others, as recovery attacks sometimes do
    """

    smallest: int = 256
    largest: int = 320
    variants: int = 3
    max_keypoints: int = 1000
    min_keypoints: int = 100
    upright: float = 0.5
    wrong: float = 0.2

    def __post_init__(self) -> None:
        check_count("smallest", self.smallest, low=16, high=4096)
        check_count("largest", self.largest, low=self.smallest, high=4096)
        check_count("variants", self.variants, low=1)
        check_count("min_keypoints", self.min_keypoints, low=2)
        check_count("max_keypoints", self.max_keypoints, low=self.min_keypoints)
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

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, keep: NDArray[Any]) -> Posed:
        """The same picture with only these keypoints."""
        return Posed(
            self.rows[keep], self.keypoints[keep], self.scales[keep], self.angles[keep], self.size
        )

    def turned(self, quarters: int) -> Posed:
        """The picture turned clockwise by right angles; its descriptors do not change."""
        keypoints, (width, height) = self.keypoints, self.size
        for _ in range(quarters % 4):
            x, y = keypoints.T
            keypoints = np.stack([height - 1 - y, x], axis=1)
            width, height = height, width
        angles = np.asarray((self.angles + 90 * quarters) % 360, dtype=np.float32)
        return Posed(self.rows, keypoints, self.scales, angles, (width, height))


@dataclass(frozen=True)
class FrameExample:
    """What the network sees, what it should say, and for which rows it is held to it."""

    posed: Posed
    near: Neighbourhood
    counted: NDArray[np.bool_]


@dataclass(frozen=True)
class FrameSource:
    """Examples by their place in the run, with features kept on disk."""

    pictures: Pictures
    options: FrameDataOptions
    neighbours: int
    seed: int
    cache: Path

    def batch(self, step: int, size: int) -> list[FrameExample]:
        """The examples of one step; every picture comes once per epoch, shuffled anew."""
        total = len(self.pictures.paths)
        examples = []
        for place in range(step * size, (step + 1) * size):
            epoch, rank = divmod(place, total)
            order = np.random.default_rng([self.seed, 1, epoch]).permutation(total)
            rng = np.random.default_rng([self.seed, 2, place])
            posed = self.variant(int(order[rank]), int(rng.integers(self.options.variants)))
            examples.append(self._example(posed, rng))
        return examples

    def _example(self, posed: Posed, rng: np.random.Generator) -> FrameExample:
        o = self.options
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
            posed = Posed(rows, posed.keypoints, posed.scales, posed.angles, posed.size)
        return FrameExample(
            posed, find_neighbourhood(posed.keypoints, posed.size, self.neighbours), counted
        )

    def variant(self, number: int, variant: int) -> Posed:
        """One crop of one picture, from the cache where it is there and whole."""
        o, name = self.options, self.pictures.names[number]
        told = f"{o.smallest} {o.largest} {o.max_keypoints} {self.seed} {variant} {name}"
        key = hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        file = self.cache / f"{key}.npz"
        try:
            stored = read_arrays(file)
            return _posed({f: stored[f] for f in _FIELDS}, tuple(stored["size"].tolist()))
        except (InvalidInput, KeyError):
            pass  # absent or damaged: made again, the same
        rng = np.random.default_rng([self.seed, 3, int(key[:15], 16)])
        side = int(rng.integers(o.smallest, o.largest + 1))
        cut = random_crop(decode_image(self.pictures.paths[number]), side, rng)
        features = extract(cut, "sift", max_keypoints=o.max_keypoints)
        arrays: dict[str, Any] = {field: getattr(features, field) for field in _FIELDS}
        data = io.BytesIO()
        np.savez(data, size=np.array(features.image_size), **arrays)
        self.cache.mkdir(parents=True, exist_ok=True)
        write_file(file, data.getvalue())
        return _posed(arrays, features.image_size)


def whole_pictures(paths: Sequence[Path], side: int, max_keypoints: int) -> list[Posed]:
    """Middle squares of pictures, upright, as figures are reported on."""
    made = []
    for path in paths:
        square = fit_square(decode_image(path), side)
        features = extract(square, "sift", max_keypoints=max_keypoints)
        arrays = {field: getattr(features, field) for field in _FIELDS}
        made.append(_posed(arrays, features.image_size))
    return made


def _posed(arrays: dict[str, Any], size: tuple[int, ...]) -> Posed:
    rows = scale_descriptors(arrays["descriptors"], "sift")
    width, height = size
    return Posed(rows, arrays["keypoints"], arrays["scales"], arrays["angles"], (width, height))
