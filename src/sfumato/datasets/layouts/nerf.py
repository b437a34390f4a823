"""NeRF's transforms.json: intrinsics of all pictures, or of each, and poses from camera to world.

    {"fl_x": 1375.5, "fl_y": 1374.5, "cx": 554.6, "cy": 965.3, "w": 1080, "h": 1920,
     "k1": 0.058, "k2": -0.081, "p1": -0.001, "p2": 0.0002,
     "frames": [{"file_path": "images/0001.jpg", "transform_matrix": 4×4}]}

The camera looks along −z and y is up; ours looks along z and y is down. cx, cy count from the
corner, as COLMAP's. Where transforms_train.json and transforms_test.json are there, the pictures of
the test are queries. Poses are mostly from structure from motion, and lengths then not in metres.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from sfumato.core.errors import InvalidInput
from sfumato.core.files import parse_json
from sfumato.core.types import Camera, Pose
from sfumato.datasets.layouts.common import (
    LayoutOptions,
    SceneBuilder,
    picture_size,
    pose_of_world,
    read_lines,
)
from sfumato.server.mapping.scenes import Scene

_FLIP = np.diag([1.0, -1.0, -1.0, 1.0])
_FISHEYE = ("k1", "k2", "k3", "k4")
_LENS = ("k1", "k2", "p1", "p2")


def read_nerf(folder: str | Path, options: LayoutOptions | None = None) -> Scene:
    """All pictures of transforms.json, or of the files for train, val and test."""
    root = Path(folder)
    whole = root / "transforms.json"
    parts = [root / f"transforms_{part}.json" for part in ("train", "val", "test")]
    files = [whole] if whole.is_file() else [path for path in parts if path.is_file()]
    if not files:
        raise InvalidInput(f"there is no transforms.json in {root}.")
    builder = SceneBuilder(root, options or LayoutOptions(), has_split=files[-1] == parts[-1])
    for path in files:
        facts = _read(path)
        for number, frame in enumerate(facts["frames"]):
            try:
                name = _name(root, frame["file_path"])
                pose = _pose(frame["transform_matrix"])
                camera = _camera({**facts, **frame}, root / name, builder.options)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise InvalidInput(f"{path}: frame {number} is refused: {error}") from None
            builder.add(name, camera, pose, is_query=path == parts[-1])
    return builder.build()


def _read(path: Path) -> dict[str, Any]:
    try:
        facts = parse_json("\n".join(read_lines(path, "file of transforms")))
    except ValueError:
        raise InvalidInput(f"{path} is not valid JSON; export it again.") from None
    if not isinstance(facts, dict) or not isinstance(facts.get("frames"), list):
        raise InvalidInput(f"{path} must be an object with a list of frames.")
    return facts


def _name(root: Path, text: str) -> str:
    """The picture's name below the folder; Blender's files leave out .png."""
    name = PurePosixPath(text)
    if name.is_absolute() or ".." in name.parts:
        raise InvalidInput("file_path must be below the folder.")
    if not name.suffix or not (root / name).is_file():
        beside = PurePosixPath(f"{text}.png")
        name = beside if (root / beside).is_file() else name
    return name.as_posix()


def _pose(matrix: Any) -> Pose | None:
    found = np.array(matrix, dtype=np.float64)
    if found.shape not in ((4, 4), (3, 4)):
        raise InvalidInput(f"transform_matrix must be 4×4, got {found.shape}.")
    return pose_of_world(found[:3] @ _FLIP)


def _camera(facts: Mapping[str, Any], path: Path, options: LayoutOptions) -> Camera | None:
    """The camera before scaling; None where neither a focal length nor an angle is given."""
    if not path.is_file():
        return None
    if options.camera_scale is None and "fl_x" in facts and "w" not in facts:
        raise InvalidInput("it does not say how large pictures were; give the scale as number.")
    width, height = (round(side / (options.camera_scale or 1)) for side in picture_size(path))
    width, height = round(float(facts.get("w", width))), round(float(facts.get("h", height)))
    if "fl_x" in facts:
        focal = float(facts["fl_x"])
    elif "camera_angle_x" in facts:
        focal = 0.5 * width / math.tan(0.5 * float(facts["camera_angle_x"]))
    else:
        return None
    inner = (
        focal,
        float(facts.get("fl_y", focal)),
        float(facts.get("cx", width / 2)),
        float(facts.get("cy", height / 2)),
    )
    is_fisheye = facts.get("camera_model") == "OPENCV_FISHEYE" or facts.get("is_fisheye") is True
    names = _FISHEYE if is_fisheye else _LENS
    lens = tuple(float(facts.get(name, 0.0)) for name in names)
    if not is_fisheye and any(float(facts.get(name, 0.0)) for name in ("k3", "k4")):
        raise InvalidInput("k3 and k4 are known for fisheye lenses only.")
    if not any(lens) and not is_fisheye:
        return Camera("PINHOLE", width, height, inner)
    return Camera("OPENCV_FISHEYE" if is_fisheye else "OPENCV", width, height, (*inner, *lens))
