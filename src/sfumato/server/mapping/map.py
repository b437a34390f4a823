"""The map a server localizes in: points, images, and the features that saw them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_finite, check_same_extractor, check_shape
from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.frozen import check_extractor_name
from sfumato.core.gravity import Direction
from sfumato.core.releases import WordRelease
from sfumato.core.storage import load_array, load_manifest, save_arrays
from sfumato.core.types import Camera, Pose
from sfumato.dictionary import Dictionary
from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server.mapping.sidecars import Sidecars
from sfumato.server.mapping.up import up_of

KIND = "map"
FORMAT = 1
_ARRAYS = {
    "points": ((None, 3), "f"),
    "rotations": ((None, 3, 3), "f"),
    "translations": ((None, 3), "f"),
    "camera_of_image": ((None,), "i"),
    "feature_start": ((None,), "i"),
    "keypoints": ((None, 2), "f"),
    "descriptors": ((None, None), "fu"),
    "point_of_feature": ((None,), "i"),
}
ARRAY_NAMES = tuple(_ARRAYS)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Map:
    """Points of the world and the map-maker's own images of them.

    Arrays are read-only and may be mapped files. Queries write nothing: what they compute stays
    in memory, and `save` and `mapping/filing.py` are the only ones that store anything.

    points            (P, 3) float64, in the world's unit
    rotations         (I, 3, 3) float64 and translations (I, 3): cam_from_world of each image
    camera_of_image   (I,) index into `cameras`
    feature_start     (I + 1,) features of image i are rows start[i] … start[i+1]
    keypoints         (F, 2) float32, pixel centres at whole numbers
    descriptors       (F, D) of `extractor`
    point_of_feature  (F,) the point a feature saw, or −1

    >>> from sfumato.datasets import GallerySettings, load_gallery, map_scene
    >>> room = load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=2))
    >>> world = map_scene(room)
    >>> world.save("my-map")
    >>> sf.Map.load("my-map").num_images
    8
    """

    points: NDArray[np.float64]
    rotations: NDArray[np.float64]
    translations: NDArray[np.float64]
    camera_of_image: NDArray[np.int32]
    feature_start: NDArray[np.int64]
    keypoints: NDArray[np.float32]
    descriptors: NDArray[Any]
    point_of_feature: NDArray[np.int32]
    image_names: tuple[str, ...]
    cameras: tuple[Camera, ...]
    extractor: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    sidecars: Sidecars | None = None  # of a map that was loaded
    _indices: dict[str, InvertedIndex] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_extractor_name(self.extractor)
        for name, (shape, kinds) in _ARRAYS.items():
            array = np.asarray(getattr(self, name)).view()
            check_shape(name, array, shape)
            if array.dtype.kind not in kinds:
                raise InvalidInput(f"{name} of a map cannot be {array.dtype}.")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        images, features = len(self.image_names), len(self.keypoints)
        lengths = {
            "rotations": images,
            "translations": images,
            "camera_of_image": images,
            "feature_start": images + 1,
            "descriptors": features,
            "point_of_feature": features,
        }
        for name, length in lengths.items():
            if len(getattr(self, name)) != length:
                raise InvalidInput(f"{name} of a map must have {length} rows.")
        for name in ("points", "rotations", "translations"):
            check_finite(name, getattr(self, name))
        start = self.feature_start
        if start[0] != 0 or start[-1] != features or (np.diff(start) < 0).any():
            raise InvalidInput("feature_start of a map must rise from 0 to the number of features.")
        _check_range("point_of_feature", self.point_of_feature, -1, len(self.points))
        _check_range("camera_of_image", self.camera_of_image, 0, len(self.cameras))

    @property
    def num_images(self) -> int:
        return len(self.image_names)

    @property
    def num_observations(self) -> int:
        """Features that saw a point."""
        return int(self.observations_per_image.sum())

    @property
    def up(self) -> Direction | None:
        """Which way is up, as a unit vector; None where the map does not know."""
        return up_of(self.facts)

    def __repr__(self) -> str:
        return (
            f"Map({self.num_images} images, {len(self.points)} points, "
            f"{self.num_observations} observations, {self.extractor})"
        )

    def camera(self, image: int) -> Camera:
        return self.cameras[int(self.camera_of_image[image])]

    def pose(self, image: int) -> Pose:
        return Pose(self.rotations[image], self.translations[image])

    def features_of(self, image: int) -> slice:
        """The rows of an image's features."""
        return slice(int(self.feature_start[image]), int(self.feature_start[image + 1]))

    def image_of(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """The image of each feature row."""
        return np.asarray(self._image_of_feature[rows], dtype=np.int64)

    @cached_property
    def _image_of_feature(self) -> NDArray[np.int32]:
        # 4 bytes per feature, a thirtieth of the map, against a search for every candidate.
        if "image_of_feature" in self._derived:
            return self._derived["image_of_feature"]
        return np.repeat(np.arange(self.num_images, dtype=np.int32), np.diff(self.feature_start))

    def observations(self) -> NDArray[np.int64]:
        """Rows of the features that saw a point."""
        return np.flatnonzero(np.asarray(self.point_of_feature) >= 0)

    def word_index(self, dictionary: Dictionary, *, words_each: int = 1) -> InvertedIndex:
        """Which observations are filed under each word; made once per dictionary and kept.

        With words_each above 1 an observation is filed under that many of its nearest words:
        more true matches are found, among more wrong ones.
        """
        check_same_extractor("the map", self.extractor, "the dictionary", dictionary.extractor)
        name = index_name(dictionary.fingerprint, words_each)
        index = self.known_index(name)
        if index is None:
            rows = self.observations()
            descriptors = np.asarray(self.descriptors[rows])
            if words_each == 1:
                words = dictionary.nearest(descriptors).astype(np.int64)
            else:
                several = dictionary.nearest_several(descriptors, words_each)
                pairs = several.astype(np.int64) * (len(rows) + 1) + np.arange(len(rows))[:, None]
                words, filed = np.divmod(np.unique(pairs), len(rows) + 1)
                rows = rows[filed]
            index = self._indices[name] = InvertedIndex.build(words, rows, dictionary.num_words)
        return index

    def known_index(self, name: str) -> InvertedIndex | None:
        """An index that was made before, in this process or beside the stored map."""
        if name not in self._indices and self.sidecars is not None:
            index = self.sidecars.word_index(name)
            if index is not None:
                self._indices[name] = index
        return self._indices.get(name)

    @property
    def filed_under(self) -> list[str]:
        """Fingerprints of the dictionaries that need not be given any more."""
        return sorted({*self._indices, *(self.sidecars.word_indices() if self.sidecars else ())})

    def word_index_of(
        self, release: WordRelease, dictionary: Dictionary | None, *, words_each: int = 1
    ) -> InvertedIndex:
        """The index for a release's own dictionary, which must be known or given."""
        if dictionary is not None:
            given = dictionary.fingerprint_at(release.num_words)
            if given != release.dictionary:
                raise Mismatch(
                    f"the release uses dictionary {release.dictionary[:12]}…, this one is "
                    f"{given[:12]}…; both sides must use the same words."
                )
        known = self.known_index(index_name(release.dictionary, words_each))
        if known is not None:
            return known
        if dictionary is None:
            raise Mismatch(
                f"the map is not filed under dictionary {release.dictionary[:12]}…; give that "
                "dictionary, or protect with one of the map's."
            )
        return self.word_index(dictionary.at(release.num_words), words_each=words_each)

    @cached_property
    def observations_per_image(self) -> NDArray[np.int64]:
        """How many points each image saw."""
        if "observations_per_image" in self._derived:
            return self._derived["observations_per_image"]
        seen = np.concatenate([[0], np.cumsum(np.asarray(self.point_of_feature) >= 0)])
        return np.asarray(np.diff(seen[self.feature_start]), dtype=np.int64)

    def covisible(self, image: int, count: int) -> NDArray[np.int64]:
        """The image itself and those that saw most of its points, `count` in all."""
        seen = np.asarray(self.point_of_feature[self.features_of(image)])
        _, rows = self.rows_of_points.lookup(seen[seen >= 0][:, None])
        images, shared = np.unique(self.image_of(rows), return_counts=True)
        others = images[np.argsort(-shared, kind="stable")]
        return np.concatenate([[image], others[others != image]])[:count]

    @cached_property
    def rows_of_points(self) -> InvertedIndex:
        """Which features saw each point."""
        if "point_starts" in self._derived:
            return InvertedIndex(self._derived["point_starts"], self._derived["point_rows"])
        rows = self.observations()
        return InvertedIndex.build(np.asarray(self.point_of_feature)[rows], rows, len(self.points))

    @cached_property
    def _derived(self) -> dict[str, NDArray[Any]]:
        """Arrays that were computed before and stored beside the map, or none."""
        return {} if self.sidecars is None else self.sidecars.derived()

    def derived_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays that follow from the map, to be stored beside it."""
        return {
            "image_of_feature": self._image_of_feature,
            "observations_per_image": self.observations_per_image,
            "point_starts": self.rows_of_points.starts,
            "point_rows": self.rows_of_points.rows,
        }

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Store the map as a directory of memory-mappable arrays, whole or not at all."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        manifest = {
            "kind": KIND,
            "format": FORMAT,
            "extractor": self.extractor,
            "image_names": list(self.image_names),
            "cameras": [[c.model, c.width, c.height, list(c.params)] for c in self.cameras],
            "facts": dict(self.facts),
        }
        folder = Path(path)
        save_arrays(folder, arrays, manifest, replace=replace)
        sidecars = Sidecars(folder, load_manifest(folder, kind=KIND)["checksum"])
        for name, index in self._indices.items():
            sidecars.save_word_index(name, index)

    @staticmethod
    def load(path: str | os.PathLike[str], *, verify: bool = True) -> Map:
        """Open a stored map; arrays are memory-mapped after their checksums were compared.

        `verify=False` is for further processes that open what another one has just verified.
        """
        folder = Path(path)
        manifest = load_manifest(folder, kind=KIND)
        if manifest.get("format") != FORMAT:
            raise InvalidInput(
                f"{folder} has map format {manifest.get('format')!r}, this sfumato reads {FORMAT}; "
                "update the older side."
            )
        arrays: dict[str, Any] = {
            name: load_array(folder, name, manifest, verify=verify) for name in _ARRAYS
        }
        try:
            return Map(
                **arrays,
                image_names=tuple(manifest["image_names"]),
                cameras=tuple(Camera(m, w, h, tuple(p)) for m, w, h, p in manifest["cameras"]),
                extractor=manifest["extractor"],
                facts=manifest["facts"],
                sidecars=Sidecars(folder, manifest["checksum"], verify),
            )
        except (InvalidInput, KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{folder} is not a whole map: {error}") from None


def index_name(fingerprint: str, words_each: int) -> str:
    return fingerprint if words_each == 1 else f"{fingerprint}x{words_each}"


def _check_range(name: str, values: NDArray[Any], low: int, high: int) -> None:
    if len(values) and not (values.min() >= low and values.max() < high):
        raise InvalidInput(f"{name} of a map must lie between {low} and {high - 1}.")
