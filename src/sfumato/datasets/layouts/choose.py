"""Which layout a folder has, and its scene."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.datasets.layouts.cambridge import read_cambridge
from sfumato.datasets.layouts.common import LayoutOptions, fitted, picture_size
from sfumato.datasets.layouts.frames import read_seven_scenes, read_twelve_scenes
from sfumato.datasets.layouts.hloc import query_lists, read_hloc
from sfumato.datasets.layouts.kapture import RECORDS, read_kapture
from sfumato.datasets.layouts.nerf import read_nerf
from sfumato.datasets.layouts.tum import read_tum
from sfumato.server.mapping.scenes import Scene, read_scene


def _cameras_json(folder: str | Path, options: LayoutOptions | None = None) -> Scene:
    """The layout of cameras.json, which has cameras of its own; they may be scaled."""
    scene, options = read_scene(folder), options or LayoutOptions()
    if options.camera is not None:
        raise InvalidInput("cameras.json holds the intrinsics; leave out the camera.")
    if options.camera_scale == 1 or scene.cameras is None:
        return scene
    made = {}
    for name, camera in scene.cameras.items():
        path = scene.images / name
        made[name] = fitted(camera, options.camera_scale, picture_size(path), path)
    return replace(scene, cameras=made)


READERS: dict[str, Callable[..., Scene]] = {
    "cameras": _cameras_json,
    "7scenes": read_seven_scenes,
    "12scenes": read_twelve_scenes,
    "cambridge": read_cambridge,
    "tum": read_tum,
    "nerf": read_nerf,
    "hloc": read_hloc,
    "kapture": read_kapture,
}
#: In this order a folder is asked; the files that must be there.
_SIGNS = {
    "cameras": ("cameras.json",),
    "7scenes": ("seq-*/frame-*.color.png",),
    "12scenes": ("info.txt", "split.txt"),
    "cambridge": ("dataset_train.txt", "dataset_test.txt"),
    "tum": ("rgb.txt", "groundtruth.txt"),
    "nerf": ("transforms*.json",),
    "kapture": (RECORDS,),
}


def find_layout(folder: str | Path) -> str:
    """The name of a folder's layout, by the files that are in it."""
    root = Path(folder)
    if not root.is_dir():
        raise InvalidInput(f"there is no folder of pictures at {folder}.")
    for name, signs in _SIGNS.items():
        if all(next(root.glob(sign), None) is not None for sign in signs):
            return name
    if (root / "mapping" / RECORDS).is_file():
        return "kapture"
    if query_lists(root):
        return "hloc"
    raise InvalidInput(
        f"{folder} has none of the layouts {', '.join(READERS)}; put a cameras.json with poses "
        "beside images/, or name the layout."
    )


def read_layout(
    folder: str | Path,
    layout: str = "auto",
    options: LayoutOptions | None = None,
    *,
    stride: int = 1,
) -> Scene:
    """The scene in a folder of any layout; stride 5 takes every fifth picture only.

    >>> from sfumato.datasets.layouts.choose import READERS
    >>> sorted(READERS)
    ['12scenes', '7scenes', 'cambridge', 'cameras', 'hloc', 'kapture', 'nerf', 'tum']
    """
    check_count("stride", stride, low=1)
    found = find_layout(folder) if layout == "auto" else layout
    if found not in READERS:
        raise InvalidInput(f"layout must be auto or one of {', '.join(READERS)}, got {layout!r}.")
    scene = READERS[found](folder, options)
    if stride == 1:
        return scene
    kept = scene.pictures[::stride]
    return replace(
        scene,
        names=kept,
        cameras={name: one for name, one in (scene.cameras or {}).items() if name in set(kept)},
        poses={name: one for name, one in (scene.poses or {}).items() if name in set(kept)},
    )
