"""Pictures of some folders as training examples: crops, their features, and a cache of them.

Both networks learn from this one pipeline; what an example holds is decided by a recipe.
Everything drawn is a function of (seed, picture, variant) or (seed, place in the run). A run that
was stopped, or one whose cache was lost, sees the same examples in the same order.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.levels import even_out
from sfumato.core.arrays import read_arrays
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput, UnreadableImage
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import write_file
from sfumato.core.types import Features
from sfumato.execution import current
from sfumato.features.extractors import extract
from sfumato.features.folder import list_images
from sfumato.features.image import decode_image

_FIELDS = ("keypoints", "descriptors", "scores", "scales", "angles")
E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True, kw_only=True)
class CropOptions:
    """How pictures become crops.

    variants       different crops per picture; more need more cache, then repeat
    max_keypoints  only the strongest of a crop
    cache_gb       no more than this is kept on disk; what does not fit is made again
    levels         even out faded scans before anything else, see `levels.py`
    """

    variants: int = 8
    max_keypoints: int = 1000
    cache_gb: float = 4.0
    levels: bool = False

    def __post_init__(self) -> None:
        check_count("variants", self.variants, low=1)
        check_count("max_keypoints", self.max_keypoints, low=1)
        if not self.cache_gb >= 0:
            raise InvalidInput(f"cache_gb must be at least 0, got {self.cache_gb!r}.")


@dataclass(frozen=True)
class Crop:
    """A square of a picture (H, W, 3) uint8, and what an extractor finds in it."""

    picture: NDArray[np.uint8]
    features: Features


class Recipe(Protocol[E_co]):
    """How a crop becomes an example of one network."""

    @property
    def options(self) -> CropOptions: ...

    @property
    def extractor(self) -> str: ...

    @property
    def label(self) -> str:
        """Names what crops depend on beside seed, variant and picture."""

    @property
    def whole_side(self) -> int:
        """Side of the whole pictures that a network is scored on."""

    def side(self, rng: np.random.Generator) -> int:
        """Side of the next crop, in pixels."""

    def example(self, crop: Crop, rng: np.random.Generator) -> E_co:
        """An example to learn from."""

    def whole(self, crop: Crop, number: int) -> E_co:
        """An example to be scored on: nothing left out, nothing changed."""

    def for_crops(self) -> Recipe[Any]:
        """What crops depend on, and nothing that cannot be sent to a worker."""


@dataclass(frozen=True)
class Pictures:
    """The usable pictures of some folders, and how many were left out for which reason.

    names  folder/picture, the same wherever the folders lie: what crops are drawn from
    """

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    unreadable: int
    small: int

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256("\n".join(self.names).encode()).hexdigest()


def find_pictures(folders: str | Path | Sequence[str | Path], side: int) -> Pictures:
    """All pictures of these folders that can be read and hold a crop of this side."""
    paths: list[Path] = []
    names: list[str] = []
    unreadable = small = 0
    for folder in [folders] if isinstance(folders, str | Path) else folders:
        base = Path(folder).resolve().name
        for name in list_images(folder):
            path = Path(folder).resolve() / name
            try:
                height, width = decode_image(path).shape[:2]
            except UnreadableImage:
                unreadable += 1
                continue
            if min(height, width) < side:
                small += 1
            else:
                paths.append(path)
                names.append(f"{base}/{name}")
    if not paths:
        raise InvalidInput(
            f"training needs pictures of at least {side}×{side} pixels, found none: {small} are "
            f"smaller and {unreadable} cannot be read; give larger pictures or a smaller crop."
        )
    return Pictures(tuple(paths), tuple(names), unreadable, small)


@dataclass
class CropSource(Generic[E_co]):
    """Examples by step or by picture, with crops and their features kept on disk."""

    pictures: Pictures
    recipe: Recipe[E_co]
    seed: int
    cache: Path | None = None
    _used: int | None = field(default=None, init=False)

    def __len__(self) -> int:
        return len(self.pictures.paths)

    def batch(self, step: int, size: int) -> list[E_co]:
        """The examples of one step; every picture comes once per epoch, shuffled anew."""
        examples = []
        for place in range(step * size, (step + 1) * size):
            number, variant, rng = self._drawn(place)
            examples.append(self.recipe.example(self._crop(number, variant), rng))
        return examples

    def _drawn(self, place: int) -> tuple[int, int, np.random.Generator]:
        """Picture and variant at a place in the run, and what the example is drawn with."""
        epoch, rank = divmod(place, len(self))
        order = np.random.default_rng([self.seed, 1, epoch]).permutation(len(self))
        rng = np.random.default_rng([self.seed, 2, place])
        return int(order[rank]), int(rng.integers(self.recipe.options.variants)), rng

    def prepare(self, steps: int, size: int, progress: Progress = silent) -> int:
        """Let the workers make the crops of so many steps; training then finds them in the cache.

        They are the same as if training had made them. Ends early where the cache is full.
        Returns how many were made.
        """
        if self.cache is None:
            raise InvalidInput("crops are prepared in a cache; give one.")
        place = current()
        self.cache.mkdir(parents=True, exist_ok=True)
        for folder in {self.cache, *(path.parent for path in self.pictures.paths)}:
            place.check_path(folder)
        drawn = dict.fromkeys(self._drawn(number)[:2] for number in range(steps * size))
        todo = [one for one in drawn if not (self.cache / f"{self._key(*one)}.npz").exists()]
        room = self.recipe.options.cache_gb * 1e9
        used = sum(entry.stat().st_size for entry in self.cache.glob("*.npz"))
        source, done = replace(self, recipe=self.recipe.for_crops()), 0
        fitting = takewhile(lambda _: used < room, todo)
        for written in place.map(_prepare, fitting, source):
            used, done = used + written, done + 1
            progress("preparing crops", done, len(todo))
        return done

    def whole(self, number: int) -> E_co:
        """The middle square of one picture, scaled so that its short side fits."""
        square = fit_square(decode_image(self.pictures.paths[number]), self.recipe.whole_side)
        return self.recipe.whole(self._described(square), number)

    def whole_spread(self, count: int) -> list[E_co]:
        """At most this many whole pictures, from all over the folder: neighbours are alike."""
        chosen = np.linspace(0, len(self) - 1, min(count, len(self))).round().astype(int)
        return [self.whole(int(number)) for number in chosen]

    def _described(self, picture: NDArray[np.uint8]) -> Crop:
        most = self.recipe.options.max_keypoints
        return Crop(picture, extract(picture, self.recipe.extractor, max_keypoints=most))

    def _key(self, number: int, variant: int) -> str:
        levels = "levels, whole tint " if self.recipe.options.levels else ""
        text = f"{self.recipe.label} {levels}{self.seed} {variant} {self.pictures.names[number]}"
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]

    def _crop(self, number: int, variant: int) -> Crop:
        key = self._key(number, variant)
        file = None if self.cache is None else self.cache / f"{key}.npz"
        kept = None if file is None else self._read(file)
        if kept is not None:
            return kept
        rng = np.random.default_rng([self.seed, 3, int(key[:15], 16)])
        side = self.recipe.side(rng)
        image = decode_image(self.pictures.paths[number])
        if self.recipe.options.levels:
            image = even_out(image, rng)
        crop = self._described(random_crop(image, side, rng))
        if file is not None:
            self._write(file, crop)
        return crop

    def _read(self, file: Path) -> Crop | None:
        try:
            stored = read_arrays(file)
            fields: dict[str, Any] = {name: stored[name] for name in _FIELDS}
            picture = stored["picture"]
        except (InvalidInput, KeyError):
            return None  # absent or damaged: made again, the same
        size = (picture.shape[1], picture.shape[0])
        return Crop(picture, Features(image_size=size, extractor=self.recipe.extractor, **fields))

    def _write(self, file: Path, crop: Crop) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        if self._used is None:
            self._used = sum(entry.stat().st_size for entry in file.parent.glob("*.npz"))
        data = io.BytesIO()
        fields: dict[str, Any] = {name: getattr(crop.features, name) for name in _FIELDS}
        np.savez(data, picture=crop.picture, **fields)
        content = data.getvalue()
        if self._used + len(content) <= self.recipe.options.cache_gb * 1e9:
            write_file(file, content)
            self._used += len(content)


def _prepare(source: CropSource[Any], item: tuple[int, int]) -> int:
    """Make one crop in the cache; its bytes."""
    source._crop(*item)
    assert source.cache is not None
    file = source.cache / f"{source._key(*item)}.npz"
    return file.stat().st_size if file.exists() else 0


def random_crop(image: NDArray[np.uint8], side: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A square at a random place and scale, mirrored half of the time."""
    short = min(image.shape[:2])
    fitting = side / short
    image = _resize(image, rng.uniform(fitting, 1) if fitting < 1 else fitting)
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
