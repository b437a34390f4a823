"""A map in shards on disk: `head` knows what all share, each shard is a stored map of its own.

FOLDER/manifest.json, shard_of_image.npy, words-…/    the head: how often each word is filed
FOLDER/shard-000/, shard-001/, …                     the images of one region each
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.gravity import Direction, unit_direction
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import (
    MANIFEST,
    fill_directory,
    load_array,
    load_manifest,
    new_directory,
    save_arrays,
)
from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server.mapping.filing import store_derived
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.own_error import own_error_of, scene_of
from sfumato.server.mapping.sidecars import Sidecars
from sfumato.server.shards.regions import covisible_images, group_images
from sfumato.server.shards.shard import PLACE, PLACE_KIND, Shard

KIND = "map in shards"
FORMAT = 1
_NO_ROWS = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Head:
    """What all shards share, and what is known of the whole map without asking any.

    shard_of_image  (I,)
    num_seeing      images that see a point
    of              checksum of the map they were made of; None where it was never stored
    scenes          of each: its first image, the one behind its last, and its own error as facts
    descriptor      how many numbers of which type one has
    """

    folder: Path
    of: str | None
    extractor: str
    num_points: int
    num_seeing: int
    num_observations: int
    descriptor: tuple[int, str]
    scenes: tuple[tuple[int, int, dict[str, Any]], ...]
    shards: tuple[str, ...]
    shard_of_image: NDArray[np.int32]
    sidecars: Sidecars
    up: Direction | None = None

    @property
    def num_images(self) -> int:
        return len(self.shard_of_image)

    @property
    def filed_under(self) -> list[str]:
        return self.sidecars.word_indices()

    def open(self, number: int, *, verify: bool = True) -> Shard:
        """A shard, from disk."""
        name, checksum = self.shards[number].split(":")
        folder = self.folder / name
        if load_manifest(folder, kind="map").get("checksum") != checksum:
            raise DamagedFile(f"{folder} belongs to another map; make the shards again.")
        return Shard.load(folder, verify=verify)


def load_head(path: str | os.PathLike[str], *, verify: bool = True) -> Head:
    """Read what all shards share."""
    folder = Path(path)
    manifest = load_manifest(folder, kind=KIND)
    if manifest.get("format") != FORMAT:
        raise InvalidInput(
            f"{folder} has format {manifest.get('format')!r} of a {KIND}, this sfumato reads "
            f"{FORMAT}; update the older side."
        )
    try:
        return Head(
            folder=folder,
            of=manifest["of"],
            extractor=manifest["extractor"],
            num_points=int(manifest["points"]),
            num_seeing=int(manifest["seeing"]),
            num_observations=int(manifest["observations"]),
            descriptor=(int(manifest["descriptor"][0]), str(manifest["descriptor"][1])),
            scenes=tuple((int(a), int(b), dict(facts)) for a, b, facts in manifest["scenes"]),
            shards=tuple(manifest["shards"]),
            shard_of_image=load_array(folder, "shard_of_image", manifest, verify=verify),
            sidecars=Sidecars(folder, manifest["checksum"], verify),
            up=None if manifest.get("up") is None else unit_direction("up", manifest["up"]),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DamagedFile(f"{folder} is not a whole {KIND}: {error}") from None


def is_in_shards(path: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a map in shards; one that is damaged is told by whoever opens it."""
    try:
        return b'"kind": "' + KIND.encode() in (Path(path) / MANIFEST).read_bytes()
    except OSError:
        return False


def shard_map(
    world: Map,
    path: str | os.PathLike[str],
    num_shards: int,
    *,
    replace: bool = False,
    progress: Progress = silent,
) -> Head:
    """Store a map in shards, whole or not at all; what it is filed under, they are filed under.

    One shard is held in memory at a time. The map's own error is learnt now, where it was not yet.
    """
    together = covisible_images(world, progress=progress)
    group = group_images(together, world.observations_per_image, num_shards)
    scenes = list(_scenes(world))
    with new_directory(Path(path), replace=replace) as folder:
        shards = []
        for number in range(num_shards):
            progress("writing shards", number, num_shards)
            name = f"shard-{number:03}"
            checksum = _write_shard(world, np.flatnonzero(group == number), together, folder / name)
            shards.append(f"{name}:{checksum}")
        manifest = {
            "kind": KIND,
            "format": FORMAT,
            "of": None if world.sidecars is None else world.sidecars.checksum,
            "extractor": world.extractor,
            "points": len(world.points),
            "seeing": int(np.count_nonzero(world.observations_per_image)),
            "observations": world.num_observations,
            "descriptor": [world.descriptors.shape[1], str(world.descriptors.dtype)],
            "scenes": scenes,
            "shards": shards,
            "up": world.up,
        }
        fill_directory(folder, {"shard_of_image": group}, manifest, {})
        sidecars = Sidecars(folder, load_manifest(folder, kind=KIND)["checksum"])
        for name in world.filed_under:
            index = world.known_index(name)
            if index is not None:  # the head needs to know how many, not which
                sidecars.save_word_index(name, InvertedIndex(index.starts, _NO_ROWS))
    return load_head(path, verify=False)


def _write_shard(
    world: Map, images: NDArray[np.int64], together: NDArray[np.int64], folder: Path
) -> str:
    """Images of a map as a map of their own; its checksum."""
    spans = [world.features_of(int(image)) for image in images]
    rows = np.concatenate([np.arange(span.start, span.stop) for span in spans])
    seen = np.asarray(world.point_of_feature[rows])
    points = np.unique(seen[seen >= 0])
    new_point = np.searchsorted(points, seen).astype(np.int32)
    used, camera_of_image = np.unique(world.camera_of_image[images], return_inverse=True)
    Map(
        points=np.asarray(world.points[points]),
        rotations=np.asarray(world.rotations[images]),
        translations=np.asarray(world.translations[images]),
        camera_of_image=camera_of_image.astype(np.int32),
        feature_start=np.cumsum([0, *(span.stop - span.start for span in spans)]),
        keypoints=np.asarray(world.keypoints[rows]),
        descriptors=np.asarray(world.descriptors[rows]),
        point_of_feature=np.where(seen < 0, np.int32(-1), new_point),
        image_names=tuple(world.image_names[int(image)] for image in images),
        cameras=tuple(world.cameras[int(camera)] for camera in used),
        extractor=world.extractor,
        _indices=_indices_of(world, rows),
    ).save(folder)
    stored = Map.load(folder, verify=False)
    store_derived(stored)
    place = {"images": images, "points": points.astype(np.int64), "covisible": together[images]}
    save_arrays(folder / PLACE, place, {"kind": PLACE_KIND})
    assert stored.sidecars is not None
    return stored.sidecars.checksum


def _indices_of(world: Map, rows: NDArray[np.int64]) -> dict[str, InvertedIndex]:
    """Every word index of a map, of these rows alone and with their new numbers."""
    new_row = np.full(len(world.keypoints), -1, dtype=np.int64)
    new_row[rows] = np.arange(len(rows))
    found = {}
    for name in world.filed_under:
        index = world.known_index(name)
        if index is None:
            continue
        own = new_row[index.rows]
        kept = np.concatenate([[0], np.cumsum(own >= 0)])
        own = own[own >= 0].astype(np.int32 if len(rows) < 2**31 else np.int64)
        found[name] = InvertedIndex(kept[index.starts].astype(np.int64), own)
    return found


def _scenes(world: Map) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The scenes of a map one after the other, with their own errors."""
    first = 0
    while first < world.num_images:
        last = scene_of(world, first)[1]
        yield first, last, own_error_of(world, first).as_facts()
        first = last
