"""Where intrinsics and poses come from: cameras.json, EXIF, or a rule of thumb.

cameras.json holds one entry per image, by its name below `images/`:

    {"0000.jpg": {"width": 1536, "height": 1024,
                  "K": [[fx, 0, cx], [0, fy, cy], [0, 0, 1]],
                  "R_cam_from_world": 3×3, "t_cam_from_world": 3}}

K counts from pixel centres; our `Camera` counts from corners, as COLMAP does, so half a pixel
is added to the principal point. K may be left out, and so may R and t, both together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.files import parse_json, read_limited
from sfumato.core.frozen import frozen_array
from sfumato.core.geometry import is_rotation, nearest_rotation
from sfumato.core.lens import from_corner
from sfumato.core.types import Camera, Pose

#: Focal length over the longer side, where nothing is known: a field of view of 45°.
FOCAL_PRIOR = 1.2

#: Written with six digits, a rotation is orthonormal to about 1e−6; beyond this it is none.
_ROUNDING = 1e-4

_MAX_BYTES = 64 << 20  # 100,000 images and more
_FILM_DIAGONAL = math.hypot(36, 24)


@dataclass(frozen=True)
class SceneCameras:
    """What a cameras.json says, by the name of the image; either may lack some names."""

    cameras: Mapping[str, Camera]
    poses: Mapping[str, Pose]
    names: tuple[str, ...]


def read_cameras_json(path: str | Path) -> SceneCameras:
    """Read intrinsics and poses; every entry is checked before any is used.

    A rotation that differs from a proper one by no more than the rounding of its digits is
    replaced by the nearest proper one.
    """
    try:
        content = parse_json(read_limited(path, _MAX_BYTES, what="cameras file"))
    except InvalidInput:
        raise
    except FileNotFoundError:
        raise InvalidInput(f"there is no cameras file at {path}.") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InvalidInput(f"{path} is not valid JSON in UTF-8; export it again.") from None
    if not isinstance(content, dict) or not content:
        raise InvalidInput(f"{path} must hold one object per image by name, got something else.")
    cameras: dict[str, Camera] = {}
    poses: dict[str, Pose] = {}
    for name, entry in content.items():
        if not isinstance(entry, dict):
            raise InvalidInput(f"{path}: the entry of {name} must be an object with K, R and t.")
        try:
            if "K" in entry:
                cameras[name] = _camera(entry)
            if "R_cam_from_world" in entry or "t_cam_from_world" in entry:
                poses[name] = _pose(entry)
        except KeyError as error:
            raise InvalidInput(f"{path}: the entry of {name} has no {error}.") from None
        except InvalidInput as error:
            raise InvalidInput(f"{path}: the entry of {name} is refused: {error}") from None
    return SceneCameras(cameras, poses, tuple(content))


def _camera(entry: dict[str, Any]) -> Camera:
    matrix = frozen_array("K", entry["K"], np.float64)
    if matrix.shape != (3, 3):
        raise InvalidInput(f"K must have shape (3, 3), got {matrix.shape}.")
    fixed = matrix.copy()
    fixed[0, 0] = fixed[1, 1] = fixed[0, 2] = fixed[1, 2] = 0
    if not np.array_equal(fixed, np.diag([0, 0, 1])):
        raise InvalidInput("K must be [[fx, 0, cx], [0, fy, cy], [0, 0, 1]]; skew is not handled.")
    center = from_corner(matrix[:2, 2]).tolist()
    focals = (float(matrix[0, 0]), float(matrix[1, 1]))
    return Camera("PINHOLE", entry["width"], entry["height"], (*focals, *center))


def _pose(entry: dict[str, Any]) -> Pose:
    rotation = frozen_array("R_cam_from_world", entry["R_cam_from_world"], np.float64)
    translation = frozen_array("t_cam_from_world", entry["t_cam_from_world"], np.float64)
    if rotation.shape != (3, 3):
        raise InvalidInput(f"R_cam_from_world must have shape (3, 3), got {rotation.shape}.")
    if not is_rotation(rotation, _ROUNDING):
        raise InvalidInput(
            "R_cam_from_world must be a proper rotation; check that it was not scaled, mirrored "
            "or cut."
        )
    if not is_rotation(rotation, 1e-9):
        rotation = nearest_rotation(rotation)
    return Pose(rotation, translation)


def guess_camera(image_size: tuple[int, int], focal_35mm: float | None = None) -> Camera:
    """A camera to begin with: from a focal length in 35 mm terms, or 1.2 times the longer side.

    One radial parameter, zero, is left for bundle adjustment to find.
    """
    width, height = image_size
    focal = FOCAL_PRIOR * max(width, height)
    if focal_35mm is not None:
        focal = focal_35mm / _FILM_DIAGONAL * math.hypot(width, height)
    return Camera("SIMPLE_RADIAL", width, height, (focal, width / 2, height / 2, 0.0))


def usual_camera(cameras: Sequence[Camera], camera_of_image: NDArray[Any]) -> Camera:
    """The camera most images of a map were taken with; of several the first."""
    counts = np.bincount(np.asarray(camera_of_image, dtype=np.int64), minlength=len(cameras))
    return cameras[int(counts.argmax())]
