"""COLMAP's sparse models on disk, binary or text, read to the last byte.

pycolmap reads them too, but a truncated binary model makes it loop without end or come back
with half of the numbers, and it aborts the process where it could raise. Here a file is either
whole or refused. Newer models bring rigs.bin and frames.bin along; images.bin holds the pose of
every image all the same, and is enough.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.files import open_plain
from sfumato.core.types import CAMERA_MODELS, Camera, Pose

_FILES = ("cameras", "images", "points3D")
_MODEL_NAMES = tuple(CAMERA_MODELS)  # COLMAP numbers its models in this order
_POINT2D = np.dtype([("xy", "<f8", 2), ("point", "<i8")])


@dataclass(frozen=True)
class ModelImage:
    """An image of a model: its keypoints in COLMAP's pixels, and the point id of each, or −1."""

    name: str
    camera_id: int
    pose: Pose
    xy: NDArray[np.float64]
    point_ids: NDArray[np.int64]


@dataclass(frozen=True)
class ColmapModel:
    """Cameras and points by id, images in order of name."""

    cameras: dict[int, Camera]
    images: tuple[ModelImage, ...]
    point_ids: NDArray[np.int64]
    points: NDArray[np.float64]


def read_model(folder: str | Path) -> ColmapModel:
    """Read cameras, images and points of a model; binary is preferred where both are there."""
    root = Path(folder)
    kinds = [
        kind for kind in _READERS if all((root / f"{name}{kind}").is_file() for name in _FILES)
    ]
    if not kinds:
        raise InvalidInput(
            f"{folder} is not a COLMAP model: cameras, images and points3D must be there, "
            "all .bin or all .txt."
        )
    parts: list[Any] = []
    for name, reader in zip(_FILES, _READERS[kinds[0]], strict=True):
        path = root / f"{name}{kinds[0]}"
        try:
            with open_plain(path, follow_links=False) as file:
                data = file.read()
            parts.append(reader(data))
        except OSError as error:
            raise DamagedFile(f"{path} cannot be read: {error.strerror}.") from None
        except InvalidInput as error:
            raise DamagedFile(f"{path} cannot be used: {error}") from None
        except (struct.error, ValueError, IndexError, OverflowError, MemoryError):
            raise DamagedFile(
                f"{path} is damaged or cut short; export the model from COLMAP again."
            ) from None
    cameras, images, (point_ids, points) = parts
    _check_references(root, cameras, images, point_ids)
    return ColmapModel(
        cameras, tuple(sorted(images, key=lambda image: image.name)), point_ids, points
    )


def _check_references(
    root: Path, cameras: dict[int, Camera], images: list[ModelImage], point_ids: NDArray[np.int64]
) -> None:
    if len({image.name for image in images}) != len(images):
        raise DamagedFile(f"{root} is damaged: two images have one name.")
    for image in images:
        if image.camera_id not in cameras:
            raise DamagedFile(f"{root} is damaged: {image.name} has a camera that is not there.")
        used = image.point_ids[image.point_ids >= 0]
        if not np.isin(used, point_ids).all():
            raise DamagedFile(f"{root} is damaged: {image.name} sees points that are not there.")


class _Bytes:
    """Bytes read from front to end; reading past the end is a struct.error."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self.data, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return values

    def records(self) -> Iterator[None]:
        (count,) = self.take("Q")
        for _ in range(count):
            yield  # a count that is too large ends at the end of the bytes
        if self.at != len(self.data):
            raise ValueError("bytes are left over")


def _cameras_binary(data: bytes) -> dict[int, Camera]:
    file, cameras = _Bytes(data), {}
    for _ in file.records():
        number, model, width, height = file.take("IiQQ")
        name = _model_name(model)
        cameras[number] = Camera(name, width, height, file.take(f"{CAMERA_MODELS[name]}d"))
    return cameras


def _images_binary(data: bytes) -> list[ModelImage]:
    file, images = _Bytes(data), []
    for _ in file.records():
        _, *numbers = file.take("I7d")
        (camera_id,) = file.take("I")
        end = data.index(b"\0", file.at)
        name = data[file.at : end].decode("utf-8")
        file.at = end + 1
        (count,) = file.take("Q")
        if count > (len(data) - file.at) // _POINT2D.itemsize:
            raise ValueError("cut short")
        rows = np.frombuffer(data, _POINT2D, count, file.at)
        file.at += rows.nbytes
        images.append(
            ModelImage(name, camera_id, _pose(numbers), rows["xy"].copy(), rows["point"].copy())
        )
    return images


def _points_binary(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    file, ids, points = _Bytes(data), [], []
    for _ in file.records():
        number, *rest = file.take("Q3d3Bd")
        (length,) = file.take("Q")
        if 8 * length > len(data) - file.at:
            raise ValueError("cut short")
        file.at += 8 * length  # the track says again what images.bin says
        ids.append(number)
        points.append(rest[:3])
    return _points(ids, points)


def _cameras_text(data: bytes) -> dict[int, Camera]:
    cameras = {}
    for line in _lines(data):
        number, model, width, height, *params = line.split()
        if model not in CAMERA_MODELS:
            raise InvalidInput(_unknown_model(model))
        numbers = tuple(float(value) for value in params)
        cameras[int(number)] = Camera(model, int(width), int(height), numbers)
    return cameras


def _images_text(data: bytes) -> list[ModelImage]:
    images = []
    lines = iter(data.decode("utf-8").splitlines())
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        _, *numbers, camera_id, name = line.strip().split(maxsplit=9)
        values = next(lines, "").split()  # empty for an image without keypoints
        rows = np.array(values, dtype=np.float64).reshape(-1, 3)
        ids = np.array(values[2::3], dtype=np.int64)
        pose = _pose([float(value) for value in numbers])
        images.append(ModelImage(name, int(camera_id), pose, rows[:, :2], ids))
    return images


def _points_text(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    ids, points = [], []
    for line in _lines(data):
        words = line.split()
        if len(words) < 8 or len(words) % 2:
            raise ValueError("cut short")
        ids.append(int(words[0]))
        points.append([float(value) for value in words[1:4]])
    return _points(ids, points)


def _lines(data: bytes) -> Iterator[str]:
    for line in data.decode("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


def _points(ids: list[int], points: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    numbers = np.array(ids, dtype=np.int64)
    values = np.array(points, dtype=np.float64).reshape(-1, 3)
    if len(np.unique(numbers)) != len(numbers) or not np.isfinite(values).all():
        raise ValueError("points repeat or are not finite")
    order = np.argsort(numbers)
    return numbers[order], values[order]


def _pose(numbers: list[float]) -> Pose:
    """w, x, y, z of a unit quaternion and the translation, cam_from_world."""
    quaternion = np.array(numbers[:4])
    length = math.hypot(*numbers[:4])
    if not abs(length - 1) < 1e-3:  # so that NaN is refused too
        raise ValueError("not a unit quaternion")
    w, x, y, z = quaternion / length
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return Pose(rotation, np.array(numbers[4:7]))


def _model_name(number: int) -> str:
    if not 0 <= number < len(_MODEL_NAMES):
        raise InvalidInput(_unknown_model(f"number {number}"))
    return _MODEL_NAMES[number]


def _unknown_model(name: str) -> str:
    known = ", ".join(_MODEL_NAMES)
    return f"camera model {name} is not understood; undistort the model, or use one of {known}."


_READERS: dict[str, tuple[Callable[[bytes], Any], ...]] = {
    ".bin": (_cameras_binary, _images_binary, _points_binary),
    ".txt": (_cameras_text, _images_text, _points_text),
}
