"""A map as a COLMAP model, binary or text: what `model_files.py` reads, and COLMAP opens.

Image i, camera c and point p of the map have the ids i + 1, c + 1 and p + 1. Keypoints are moved by
half a pixel, as COLMAP counts from corners. Colours are not known to a map and come out gray.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.lens import from_corner
from sfumato.core.types import CAMERA_MODELS, Camera, Pose
from sfumato.server.mapping.assemble import reprojection_errors
from sfumato.server.mapping.map import Map

KINDS = ("binary", "text")
_GRAY = (128, 128, 128)
_POINT2D = np.dtype([("xy", "<f8", 2), ("point", "<i8")])
_NUMBERS = {name: number for number, name in enumerate(CAMERA_MODELS)}


def write_model(world: Map, folder: Path, *, kind: str = "binary") -> None:
    """Write cameras, images and points3D of a map into a folder that exists."""
    if kind not in KINDS:
        raise InvalidInput(f"a COLMAP model is {' or '.join(KINDS)}, got {kind!r}.")
    writers: dict[str, tuple[Callable[[Map], bytes], ...]] = {
        ".bin": (_cameras_binary, _images_binary, _points_binary),
        ".txt": (_cameras_text, _images_text, _points_text),
    }
    suffix = ".bin" if kind == "binary" else ".txt"
    for name, writer in zip(("cameras", "images", "points3D"), writers[suffix], strict=True):
        (folder / f"{name}{suffix}").write_bytes(writer(world))


def _images(world: Map) -> Iterator[tuple[int, str, Pose, NDArray[Any], NDArray[Any]]]:
    """(image, name, pose, keypoints in COLMAP's pixels, point id of each or −1)."""
    for image, name in enumerate(world.image_names):
        rows = world.features_of(image)
        xy = from_corner(np.asarray(world.keypoints[rows], dtype=np.float64))
        seen = np.asarray(world.point_of_feature[rows], dtype=np.int64)
        yield image, name, world.pose(image), xy, np.where(seen < 0, -1, seen + 1)


def _tracks(world: Map) -> list[list[tuple[int, int]]]:
    """(image id, row of the keypoint) of everyone who saw each point."""
    tracks: list[list[tuple[int, int]]] = [[] for _ in range(len(world.points))]
    for image in range(world.num_images):
        seen = np.asarray(world.point_of_feature[world.features_of(image)])
        for row in np.flatnonzero(seen >= 0).tolist():
            tracks[seen[row]].append((image + 1, row))
    return tracks


def point_errors(world: Map) -> NDArray[np.float64]:
    """The mean reprojection error of each point in pixels; −1 where nobody saw it."""
    errors = reprojection_errors(world)
    seen = np.asarray(world.point_of_feature)[world.observations()]
    finite = np.where(np.isfinite(errors), errors, 0.0)
    counts = np.bincount(seen, minlength=len(world.points))
    sums = np.bincount(seen, weights=finite, minlength=len(world.points))
    return np.where(counts > 0, sums / np.maximum(counts, 1), -1.0)


def _cameras_binary(world: Map) -> bytes:
    parts = [struct.pack("<Q", len(world.cameras))]
    for number, camera in enumerate(world.cameras, start=1):
        head = (number, _NUMBERS[camera.model], camera.width, camera.height)
        parts.append(struct.pack(f"<IiQQ{len(camera.params)}d", *head, *camera.params))
    return b"".join(parts)


def _images_binary(world: Map) -> bytes:
    parts = [struct.pack("<Q", world.num_images)]
    for image, name, pose, xy, points in _images(world):
        numbers = (*pose.quaternion.tolist(), *pose.translation.tolist())
        camera = int(world.camera_of_image[image]) + 1
        parts.append(struct.pack("<I7dI", image + 1, *numbers, camera))
        parts.append(name.encode() + b"\0" + struct.pack("<Q", len(xy)))
        rows = np.empty(len(xy), dtype=_POINT2D)
        rows["xy"], rows["point"] = xy, points
        parts.append(rows.tobytes())
    return b"".join(parts)


def _points_binary(world: Map) -> bytes:
    errors = point_errors(world)
    parts = [struct.pack("<Q", len(world.points))]
    for row, track in enumerate(_tracks(world)):
        place = np.asarray(world.points[row]).tolist()
        parts.append(struct.pack("<Q3d3Bd", row + 1, *place, *_GRAY, errors[row]))
        flat = [number for element in track for number in element]
        parts.append(struct.pack(f"<Q{len(flat)}I", len(track), *flat))
    return b"".join(parts)


def camera_words(camera: Camera) -> str:
    """MODEL width height parameters, with all digits."""
    words = [camera.model, camera.width, camera.height, *map(repr, camera.params)]
    return " ".join(map(str, words))


def _cameras_text(world: Map) -> bytes:
    lines = [f"{i} {camera_words(camera)}\n" for i, camera in enumerate(world.cameras, start=1)]
    return ("# CAMERA_ID MODEL WIDTH HEIGHT PARAMS[]\n" + "".join(lines)).encode()


def _images_text(world: Map) -> bytes:
    lines = ["# IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME; then X Y POINT3D_ID …\n"]
    for image, name, pose, xy, points in _images(world):
        if name.split() != [name]:
            raise InvalidInput("names with spaces do not fit a text model; write the binary one.")
        numbers = " ".join(map(repr, (*pose.quaternion.tolist(), *pose.translation.tolist())))
        camera = int(world.camera_of_image[image]) + 1
        places = zip(xy.tolist(), points.tolist(), strict=True)
        seen = " ".join(f"{x!r} {y!r} {point}" for (x, y), point in places)
        lines.append(f"{image + 1} {numbers} {camera} {name}\n{seen}\n")
    return "".join(lines).encode()


def _points_text(world: Map) -> bytes:
    errors = point_errors(world).tolist()
    lines = ["# POINT3D_ID X Y Z R G B ERROR TRACK[] as IMAGE_ID POINT2D_IDX\n"]
    for row, track in enumerate(_tracks(world)):
        place = " ".join(map(repr, np.asarray(world.points[row]).tolist()))
        seen = " ".join(f"{image} {feature}" for image, feature in track)
        lines.append(f"{row + 1} {place} 128 128 128 {errors[row]!r} {seen}\n")
    return "".join(lines).encode()
