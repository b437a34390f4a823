"""Scene folders, and several worlds side by side in one map.

A scene is a folder with `images/` and, where poses are known, `cameras.json`. A plain folder
of pictures is a scene too. Each scene has a world frame of its own; in a joined map they are
moved apart along x, and names of images begin with the name of their scene.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Camera, Pose
from sfumato.features.extractors import Extractor, check_wanted
from sfumato.features.folder import list_images
from sfumato.server.mapping.assemble import share_cameras
from sfumato.server.mapping.build import build_map
from sfumato.server.mapping.cameras import read_cameras_json
from sfumato.server.mapping.extract_images import HoldOut
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.overlap import places_held_twice
from sfumato.server.mapping.triangulate import TriangulationOptions

#: Worlds of a joined map are at least this far apart, in the world's unit.
SPACING = 1000.0


@dataclass(frozen=True)
class Scene:
    """A folder of pictures, and what is known about their cameras; None for unknown.

    names    the pictures that belong to the scene, in order; None for all of the folder
    queries  those the data set itself keeps for queries; None where it names none
    skipped  how many pictures were left out, by the reason
    """

    name: str
    images: Path
    cameras: Mapping[str, Camera] | None
    poses: Mapping[str, Pose] | None
    names: tuple[str, ...] | None = None
    queries: frozenset[str] | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def pictures(self) -> tuple[str, ...]:
        """Names of the scene's pictures, in order."""
        return list_images(self.images) if self.names is None else self.names


def read_scene(folder: str | Path, *, cameras: str | Path | None = None) -> Scene:
    """Find the pictures of a scene and read its cameras.json, or the one given."""
    root = Path(folder)
    if not root.is_dir():
        raise InvalidInput(f"there is no folder of pictures at {folder}.")
    inside = root / "cameras.json"
    path = Path(cameras) if cameras is not None else inside if inside.is_file() else None
    images = root / "images" if (root / "images").is_dir() else root
    if path is None:
        return Scene(root.resolve().name, images, None, None)
    known = read_cameras_json(path)
    # Of an image without K or without R, t only the name would be known; that it has a pose
    # while others have none, or no camera, is told when the map is built.
    return Scene(root.resolve().name, images, known.cameras or None, known.poses or None)


def build_map_from_scenes(
    folders: Sequence[str | Path | Scene],
    *,
    extractor: str | Extractor = "sift",
    max_keypoints: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
    strict: bool = False,
    hold_out: HoldOut | None = None,
    options: TriangulationOptions | None = None,
    work: str | Path | None = None,
) -> Map:
    """One map of several scenes; images are compared only within their scene.

    hold_out is asked with the full name, "scene/0003.jpg". facts["scenes"] tells the offset
    that was added to each scene's world; `moved` brings a pose of the scene there.
    facts["warnings"] tells which scenes show the same place.
    """
    check_wanted(extractor, max_keypoints=max_keypoints)
    if not folders:
        raise InvalidInput("a map needs at least one folder of pictures, got none.")
    scenes = [one if isinstance(one, Scene) else read_scene(one) for one in folders]
    names = [scene.name for scene in scenes]
    if len(set(names)) != len(names):
        raise InvalidInput(
            f"folders of scenes must have different names, got {', '.join(names)}; rename one."
        )
    parts: dict[str, Map] = {}
    for scene in scenes:
        parts[scene.name] = build_map(
            scene.images,
            extractor=extractor,
            max_keypoints=max_keypoints,
            cameras=scene.cameras,
            poses=scene.poses,
            seed=seed,
            progress=_named(progress, scene.name) if len(scenes) > 1 else progress,
            strict=strict,
            hold_out=_inside(hold_out, scene.name),
            options=options,
            work=None if work is None else Path(work) / scene.name,
            only=scene.names,
        )
    world = join_maps(parts)
    return replace(world, facts={**world.facts, "warnings": places_held_twice(parts)})


def join_maps(parts: Mapping[str, Map]) -> Map:
    """Several maps as one, by name; the first keeps its place, the others are moved along x."""
    maps = list(parts.values())
    kinds = {world.extractor for world in maps}
    if len(kinds) != 1:
        raise Mismatch(f"maps of one extractor can be joined, got {', '.join(sorted(kinds))}.")
    offsets = _offsets(maps)
    pairs = list(zip(maps, offsets, strict=True))
    cameras, camera_of_image = share_cameras(
        [world.camera(image) for world in maps for image in range(world.num_images)]
    )
    counts = np.concatenate([np.diff(world.feature_start) for world in maps])
    firsts = np.cumsum([0, *(len(world.points) for world in maps)])
    seen = [
        np.where(world.point_of_feature < 0, -1, world.point_of_feature + first)
        for world, first in zip(maps, firsts[:-1], strict=True)
    ]
    scenes = [
        {"name": name, "offset": offset.tolist(), "images": world.num_images, **world.facts}
        for (name, world), offset in zip(parts.items(), offsets, strict=True)
    ]
    return Map(
        points=np.concatenate([world.points + offset for world, offset in pairs]),
        rotations=np.concatenate([world.rotations for world in maps]),
        translations=np.concatenate(
            [world.translations - world.rotations @ offset for world, offset in pairs]
        ),
        camera_of_image=np.array(camera_of_image, dtype=np.int32),
        feature_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        keypoints=np.concatenate([world.keypoints for world in maps]),
        descriptors=np.concatenate([world.descriptors for world in maps]),
        point_of_feature=np.concatenate(seen).astype(np.int32),
        image_names=tuple(f"{name}/{image}" for name in parts for image in parts[name].image_names),
        cameras=cameras,
        extractor=maps[0].extractor,
        facts={"scenes": scenes},
    )


def moved(pose: Pose, offset: Any) -> Pose:
    """A pose in a world whose every point was moved by offset: R·(x − o) + t."""
    return Pose(pose.rotation, pose.translation - pose.rotation @ np.asarray(offset, dtype=float))


def _offsets(maps: Sequence[Map]) -> list[NDArray[np.float64]]:
    """Multiples of SPACING along x that leave SPACING between one world's points and the next."""
    offsets, edge = [], -math.inf
    for world in maps:
        low, high = float(world.points[:, 0].min()), float(world.points[:, 0].max())
        steps = 0 if math.isinf(edge) else max(0, math.ceil((edge + SPACING - low) / SPACING))
        offsets.append(np.array([steps * SPACING, 0.0, 0.0]))
        edge = high + steps * SPACING
    return offsets


def _inside(hold_out: HoldOut | None, scene: str) -> HoldOut | None:
    if hold_out is None:
        return None
    return lambda name: hold_out(f"{scene}/{name}")


def _named(progress: Progress, scene: str) -> Progress:
    def report(stage: str, done: int, total: int) -> None:
        progress(f"{scene}: {stage}", done, total)

    return report
