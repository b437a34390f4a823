"""What a map is built from: pictures in any layout, frames, or features that were found before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import InvalidInput

if TYPE_CHECKING:
    from sfumato.server.mapping import Map
    from sfumato.server.mapping.scenes import Scene

PLAIN = "plain"


def build_from(
    sources: list[Path],
    layout: str,
    camera_scale: float | None,
    cameras: Path | None,
    pairs: Path | None,
    options: dict[str, Any],
) -> Map:
    """The map of one source, or of several side by side."""
    from sfumato.features.h5 import is_features_file
    from sfumato.server.mapping import build_map, build_map_from_scenes

    if len(sources) > 1 and (cameras is not None or pairs is not None):
        raise InvalidInput(
            "--cameras and --pairs belong to one folder, "
            f"{len(sources)} are given; build them one by one."
        )
    if any(is_features_file(source) for source in sources):
        if len(sources) > 1:
            raise InvalidInput("features files are built one by one, several sources are given.")
        return _from_features(sources[0], cameras, pairs, options)
    has_cameras = (sources[0] / "cameras.json").is_file() and layout in ("auto", "cameras")
    scenes = [scene_of(source, layout, cameras, camera_scale) for source in sources]
    if len(sources) > 1 or (has_cameras and cameras is pairs is None):
        return build_map_from_scenes(scenes, **options)
    scene = scenes[0]
    return build_map(
        scene.images,
        cameras=scene.cameras,
        poses=scene.poses,
        pairs=pairs,
        only=scene.names,
        **options,
    )


def scene_of(
    source: Path, layout: str, cameras: Path | None, camera_scale: float | None = 1.0
) -> Scene:
    """The pictures of a folder and what is known of them; a data set's queries stay out."""
    from sfumato.datasets.layouts.choose import READERS, find_layout, read_layout
    from sfumato.datasets.layouts.common import LayoutOptions
    from sfumato.server.mapping import read_scene

    if layout not in ("auto", PLAIN, *READERS):
        known = ", ".join(("auto", PLAIN, *READERS))
        raise InvalidInput(f"--layout must be one of {known}, got {layout!r}.")
    found = layout
    if layout == "auto":
        try:
            found = PLAIN if cameras is not None else find_layout(source)
        except InvalidInput:
            found = PLAIN
    if found == PLAIN and camera_scale != 1:
        raise InvalidInput(
            f"--camera-scale is for the intrinsics of a data set, and {source} has none; leave it "
            "out."
        )
    if found == PLAIN or (found == "cameras" and camera_scale == 1):
        scene = read_scene(source, cameras=cameras)
        return replace(scene, cameras=None, poses=None) if layout == PLAIN else scene
    if cameras is not None:
        raise InvalidInput(f"--cameras is for plain folders, {source} has the layout {found}.")
    scene = read_layout(source, found, LayoutOptions(camera_scale=camera_scale))
    queries = scene.queries or frozenset()
    kept = tuple(name for name in scene.pictures if name not in queries)
    return replace(
        scene,
        names=kept,
        cameras={name: one for name, one in (scene.cameras or {}).items() if name in set(kept)},
        poses={name: one for name, one in (scene.poses or {}).items() if name in set(kept)},
        queries=None,
    )


def _from_features(
    path: Path, cameras: Path | None, pairs: Path | None, options: dict[str, Any]
) -> Map:
    """Structure from motion on features of any extractor; poses where cameras.json has them."""
    from sfumato.features.h5 import extractor_of_file, list_feature_names, read_strongest
    from sfumato.server.mapping import build_map_from_features
    from sfumato.server.mapping.cameras import read_cameras_json

    made_by = extractor_of_file(path, options["extractor"])
    names = list_feature_names(path)
    found = {name: read_strongest(path, name, extractor=made_by) for name in names}
    most = options["max_keypoints"]
    if most is not None:
        import numpy as np

        found = {name: one.take(np.arange(min(most, len(one)))) for name, one in found.items()}
    known = None if cameras is None else read_cameras_json(cameras)
    return build_map_from_features(
        found,
        cameras=None if known is None else known.cameras or None,
        poses=None if known is None else known.poses or None,
        pairs=pairs,
        seed=options["seed"],
        progress=options["progress"],
    )
