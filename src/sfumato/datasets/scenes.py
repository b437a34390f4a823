"""What is localized where: a map, its queries, and the truth about them where it is known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Camera, Features, Pose
from sfumato.features.folder import list_images
from sfumato.features.h5 import read_features
from sfumato.server.mapping import Map, build_map_from_scenes, moved, read_scene
from sfumato.server.mapping.pairs import read_pairs
from sfumato.server.upright import Gravity

#: Every fourth photograph of a scene is a query: the first, the fifth, …
QUERY_STEP = 4


@dataclass(frozen=True, eq=False)
class Query:
    """One photograph that is not in the map; truth is None where it is secret (Aachen)."""

    name: str
    scene: str
    features: Features
    camera: Camera
    truth: Pose | None


@dataclass(frozen=True, eq=False)
class Problem:
    """A map and what is to be found in it.

    data    how tables name the data
    scenes  scenes of the map; names of their images begin with "scene/" where there are several
    """

    data: str
    world: Map
    queries: tuple[Query, ...]
    scenes: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """Of the map and the queries: predictions of two problems are not mixed."""
        digest = hashlib.sha256()
        world = self.world
        for array in (world.points, world.feature_start, world.point_of_feature):
            digest.update(np.ascontiguousarray(array).data)
        for query in self.queries:
            digest.update(f"|{query.name}|{len(query.features)}".encode())
        return digest.hexdigest()

    def without_scene(self, scene: str) -> Map:
        """The map as if this scene had never been photographed: the control."""
        seen = np.array(self.world.point_of_feature)
        for image, name in enumerate(self.world.image_names):
            if name.startswith(f"{scene}/"):
                seen[self.world.features_of(image)] = -1
        return replace(self.world, point_of_feature=seen, _indices={}, sidecars=None)

    def gravity(self, query: Query) -> Gravity:
        """What an IMU without error would say: made from the true pose of the query.

        Down in the world is the mean of what is down in the map's images.
        """
        if query.truth is None:
            raise InvalidInput("gravity is made from true poses, and these queries have none.")
        down = np.asarray(self.world.rotations)[:, 1].sum(axis=0)
        down /= np.linalg.norm(down)
        inside = query.truth.rotation @ down
        return Gravity(_three(inside), _three(down))

    def shortlists(self, pairs: str | Path) -> dict[str, NDArray[np.int64]]:
        """Images of the map for each query, from hloc's pairs.txt; a query may have none."""
        number = {name: image for image, name in enumerate(self.world.image_names)}
        found: dict[str, list[int]] = {query.name: [] for query in self.queries}
        for query, image in read_pairs(pairs):
            if query not in found:
                continue  # lists for all of a dataset are common
            if image not in number:
                raise InvalidInput(
                    f"the list of pairs names {image!r}, which is not in the map; "
                    "the query comes first, then the image of the map."
                )
            found[query].append(number[image])
        if not any(found.values()):
            raise InvalidInput(f"the list of pairs at {pairs} names none of the queries.")
        return {name: np.array(images, dtype=np.int64) for name, images in found.items()}


def open_scenes(
    folders: Sequence[str | Path], work: str | Path, *, progress: Progress = silent
) -> Problem:
    """All scenes in one map; every fourth photograph of each is a query and not in it.

    work  a folder in which features and the map are kept for the next time
    """
    scenes = {scene.name: scene for scene in map(read_scene, folders)}
    queries: dict[str, list[str]] = {}
    for name, scene in scenes.items():
        if scene.cameras is None or scene.poses is None:
            raise InvalidInput(f"{name} has no cameras.json with poses to compare with.")
        queries[name] = list(list_images(scene.images)[::QUERY_STEP])
    held = {f"{name}/{image}" for name, images in queries.items() for image in images}
    features, stored = Path(work) / "features", Path(work) / "map"
    if not stored.exists():
        build_map_from_scenes(
            folders, hold_out=held.__contains__, work=features, progress=progress
        ).save(stored)
    world = Map.load(stored)
    if held & set(world.image_names) or not set(scenes) == _scenes_of(world):
        raise InvalidInput(f"{stored} is a map of other pictures; give another folder.")
    offsets = _offsets(world.facts)
    found = []
    for name, images in queries.items():
        cameras, poses = scenes[name].cameras or {}, scenes[name].poses or {}
        for image in images:
            if image not in cameras or image not in poses:
                raise InvalidInput(f"the cameras.json of {name} lacks {image}, which is a query.")
            found.append(
                Query(
                    name=f"{name}/{image}",
                    scene=name,
                    features=read_features(features / name / "features.h5", image),
                    camera=cameras[image],
                    truth=moved(poses[image], offsets[name]),
                )
            )
    return Problem(" + ".join(scenes), world, tuple(found), tuple(scenes))


def _scenes_of(world: Map) -> set[str]:
    return {name.split("/")[0] for name in world.image_names}


def _offsets(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {scene["name"]: scene["offset"] for scene in facts["scenes"]}


def _three(vector: NDArray[Any]) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in vector)
    return x, y, z
