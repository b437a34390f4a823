"""Pictures of a folder as training examples: crops, flips, features, and a cache of them.

Everything drawn is a function of (seed, picture, variant) or (seed, step). A run that was
stopped, or one whose cache was lost, sees the same examples in the same order.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.encoders import Encoded, Source, encode
from sfumato.adversary.invert.sparse import MapOptions, PixelMap, map_pixels
from sfumato.core.arrays import read_arrays
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput, UnreadableImage
from sfumato.core.storage import write_file
from sfumato.core.types import Features
from sfumato.dictionary import Dictionary
from sfumato.features.extractors import check_request, extract
from sfumato.features.folder import list_images
from sfumato.features.image import decode_image

_FIELDS = ("keypoints", "descriptors", "scores", "scales", "angles")


@dataclass(frozen=True)
class DataOptions:
    """How pictures become examples.

    crop           side of the square crops, in pixels
    variants       different crops per picture; more need more cache, then repeat
    max_keypoints  only the strongest of a crop
    dropout        up to this share of the keypoints is left out, anew at each use
    cache_gb       no more than this is kept on disk; what does not fit is made again
    """

    crop: int = 256
    variants: int = 8
    max_keypoints: int = 1000
    dropout: float = 0.3
    cache_gb: float = 4.0

    def __post_init__(self) -> None:
        check_count("crop", self.crop, low=16, high=4096)
        check_count("variants", self.variants, low=1)
        check_count("max_keypoints", self.max_keypoints, low=1)
        if not 0 <= self.dropout < 1:
            raise InvalidInput(f"dropout must be at least 0 and below 1, got {self.dropout!r}.")
        if not self.cache_gb >= 0:
            raise InvalidInput(f"cache_gb must be at least 0, got {self.cache_gb!r}.")


@dataclass(frozen=True)
class View:
    """What the attacker gets to see of a picture's features.

    release  (features, seed) → what is sent; None shows the features themselves. A mechanism
             of the device is passed in here, the adversary does not import it.
    label    names `release` in checkpoints, so that another one is refused
    """

    kind: str = "raw"
    extractor: str = "sift"
    frames: str = "none"
    dictionary: Dictionary | None = None
    release: Callable[[Features, int], Source] | None = None
    label: str = ""

    def encode(self, features: Features, seed: int) -> Encoded:
        seen = features if self.release is None else self.release(features, seed)
        return encode(seen, self.kind, dictionary=self.dictionary, frames=self.frames)


@dataclass(frozen=True)
class Example:
    """One training pair: the crop (H, W, 3) uint8 and what the attacker sees of it."""

    picture: NDArray[np.uint8]
    encoded: Encoded
    pixels: PixelMap


@dataclass(frozen=True)
class Pictures:
    """The usable pictures of some folders, and how many were left out for which reason.

    names  folder/picture, the same wherever the folders lie: what crops are drawn from
    """

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    unreadable: int
    small: int


def find_pictures(folders: Sequence[str | Path], crop: int) -> Pictures:
    """All pictures of these folders that can be read and hold one crop."""
    paths: list[Path] = []
    names: list[str] = []
    unreadable = small = 0
    for folder in folders:
        base = Path(folder).resolve().name
        for name in list_images(folder):
            path = Path(folder) / name
            try:
                height, width = decode_image(path).shape[:2]
            except UnreadableImage:
                unreadable += 1
                continue
            if min(height, width) < crop:
                small += 1
            else:
                paths.append(path)
                names.append(f"{base}/{name}")
    if not paths:
        raise InvalidInput(
            f"training needs pictures of at least {crop}×{crop} pixels, found none: {small} are "
            f"smaller and {unreadable} cannot be read; give larger pictures or a smaller crop."
        )
    return Pictures(tuple(paths), tuple(names), unreadable, small)


@dataclass
class ExampleSource:
    """Examples by step or by picture, with features kept on disk."""

    pictures: Pictures
    view: View
    options: DataOptions
    maps: MapOptions
    seed: int
    cache: Path | None = None
    _used: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_request(self.view.extractor)

    def batch(self, step: int, size: int) -> list[Example]:
        """The examples of one step; every picture comes once per epoch, shuffled anew."""
        total = len(self.pictures.paths)
        examples = []
        for place in range(step * size, (step + 1) * size):
            epoch, rank = divmod(place, total)
            order = np.random.default_rng([self.seed, 1, epoch]).permutation(total)
            rng = np.random.default_rng([self.seed, 2, place])
            variant = int(rng.integers(self.options.variants))
            picture, features = self._variant(int(order[rank]), variant)
            encoded = self.view.encode(features, int(rng.integers(1 << 62)))
            examples.append(self._example(picture, self._drop(encoded, rng)))
        return examples

    def centre(self, number: int) -> Example:
        """One picture whole, scaled so that its short side is the crop: for validation."""
        picture = fit_square(decode_image(self.pictures.paths[number]), self.options.crop)
        features = self._extract(picture)
        return self._example(picture, self.view.encode(features, number))

    def _example(self, picture: NDArray[np.uint8], encoded: Encoded) -> Example:
        pixels = map_pixels(
            encoded.keypoints,
            encoded.image_size,
            self.maps,
            scales=encoded.scales,
            angles=encoded.angles,
        )
        return Example(picture, encoded, pixels)

    def _drop(self, encoded: Encoded, rng: np.random.Generator) -> Encoded:
        keep = 1 - rng.uniform(0, self.options.dropout)
        return encoded.take(np.flatnonzero(rng.random(len(encoded)) < keep))

    def _extract(self, picture: NDArray[np.uint8]) -> Features:
        return extract(picture, self.view.extractor, max_keypoints=self.options.max_keypoints)

    def _variant(self, number: int, variant: int) -> tuple[NDArray[np.uint8], Features]:
        o, name = self.options, self.pictures.names[number]
        told = f"{self.view.extractor} {o.crop} {o.max_keypoints} {self.seed} {variant} {name}"
        key = hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        kept = None if self.cache is None else self._read(self.cache / f"{key}.npz")
        if kept is not None:
            return kept
        rng = np.random.default_rng([self.seed, 3, int(key[:15], 16)])
        picture = random_crop(decode_image(self.pictures.paths[number]), o.crop, rng)
        features = self._extract(picture)
        if self.cache is not None:
            self._write(self.cache / f"{key}.npz", picture, features)
        return picture, features

    def _read(self, file: Path) -> tuple[NDArray[np.uint8], Features] | None:
        try:
            stored = read_arrays(file)
            fields: dict[str, Any] = {name: stored[name] for name in _FIELDS}
            picture = stored["picture"]
        except (InvalidInput, KeyError):
            return None  # absent or damaged: made again, the same
        size = (picture.shape[1], picture.shape[0])
        return picture, Features(image_size=size, extractor=self.view.extractor, **fields)

    def _write(self, file: Path, picture: NDArray[np.uint8], features: Features) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        if self._used is None:
            self._used = sum(entry.stat().st_size for entry in file.parent.glob("*.npz"))
        data = io.BytesIO()
        fields: dict[str, Any] = {name: getattr(features, name) for name in _FIELDS}
        np.savez(data, picture=picture, **fields)
        content = data.getvalue()
        if self._used + len(content) <= self.options.cache_gb * 1e9:
            write_file(file, content)
            self._used += len(content)


def random_crop(image: NDArray[np.uint8], side: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A square at a random place and scale, mirrored half of the time."""
    short = min(image.shape[:2])
    image = _resize(image, rng.uniform(side / short, 1))
    top, left = (int(rng.integers(length - side + 1)) for length in image.shape[:2])
    cut = image[top : top + side, left : left + side]
    return np.ascontiguousarray(cut[:, ::-1] if rng.random() < 0.5 else cut)


def fit_square(image: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """The middle square of a picture whose short side is scaled to `side`."""
    image = _resize(image, side / min(image.shape[:2]))
    top, left = ((length - side) // 2 for length in image.shape[:2])
    return np.ascontiguousarray(image[top : top + side, left : left + side])


def _resize(image: NDArray[np.uint8], factor: float) -> NDArray[np.uint8]:
    height, width = (max(1, round(length * factor)) for length in image.shape[:2])
    if (height, width) == image.shape[:2]:
        return image
    how = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(image, (width, height), interpolation=how), dtype=np.uint8)
