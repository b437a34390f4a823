"""What all layouts need: lines of numbers, poses that may be broken, and a scene of the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sfumato.core.errors import InvalidInput
from sfumato.core.files import read_limited
from sfumato.core.geometry import cross_matrix, is_rotation, nearest_rotation
from sfumato.core.types import Camera, Pose
from sfumato.features.image import formats_of
from sfumato.server.mapping.scenes import Scene

NO_POSE = "they have no pose"
BROKEN_POSE = "their pose is not finite or not a rotation"
NO_PICTURE = "their poses have no picture"
NO_CAMERA = "their intrinsics are not known"

_MAX_BYTES = 512 << 20  # Cambridge's largest reconstruction has some hundred million bytes
#: Rotations are written with four digits and more; beyond this error it is another matrix.
_ROUNDING = 1e-2


@dataclass(frozen=True)
class LayoutOptions:
    """What a data set does not say, or says wrongly of the pictures at hand.

    camera        intrinsics of all pictures, MODEL,param,param,… as COLMAP writes them, in pixels
                  of the pictures at hand; None for what the data set says
    camera_scale  pictures are so many times as large as those the intrinsics were made for; None
                  to find out by comparing sizes

    >>> from sfumato.datasets.layouts.common import LayoutOptions
    >>> LayoutOptions(camera_scale=0.5).camera is None
    True
    """

    camera: str | None = None
    camera_scale: float | None = 1.0

    def __post_init__(self) -> None:
        if self.camera_scale is not None and not 0.001 <= self.camera_scale <= 1000:
            raise InvalidInput(
                f"camera_scale must be between 0.001 and 1000, got {self.camera_scale}."
            )


def read_lines(path: Path, what: str) -> list[str]:
    """All lines of a text file; one sentence if it is not there or no text."""
    try:
        return read_limited(path, _MAX_BYTES, what=what).decode("utf-8").splitlines()
    except FileNotFoundError:
        raise InvalidInput(f"there is no {what} at {path}.") from None
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"the {what} at {path} must be readable text in UTF-8.") from None


def rows_of(path: Path, what: str, *, skip: int = 0) -> Iterator[tuple[int, list[str]]]:
    """(number of the line, its words) where a line says anything; # begins a comment."""
    for number, line in enumerate(read_lines(path, what), start=1):
        words = line.split()
        if number > skip and words and not words[0].startswith("#"):
            yield number, words


def numbers_in(words: list[str], path: Path, line: int, count: int) -> list[float]:
    """Exactly so many numbers, NaN and infinity among them; refused with the line's number."""
    try:
        found = [float(word) for word in words]
    except ValueError:
        found = []
    if len(found) != count:
        raise InvalidInput(f"line {line} of {path} must have {count} numbers; it has not.")
    return found


def camera_pose(
    rotation: NDArray[Any], *, center: Any = None, translation: Any = None
) -> Pose | None:
    """cam_from_world from its rotation and the camera's center, or t; None if it is broken."""
    given = np.asarray(center if translation is None else translation, dtype=np.float64)
    if not (np.isfinite(rotation).all() and np.isfinite(given).all()):
        return None
    if not is_rotation(np.asarray(rotation, dtype=np.float64), _ROUNDING):
        return None
    proper = nearest_rotation(rotation)
    return Pose(proper, -proper @ given if translation is None else given)


def pose_of_world(world_from_camera: NDArray[Any]) -> Pose | None:
    """The pose of a (4, 4) matrix from camera to world, None if it is broken."""
    return camera_pose(world_from_camera[:3, :3].T, center=world_from_camera[:3, 3])


def turned(wxyz: Any) -> NDArray[np.float64]:
    """The rotation of a quaternion of any length but 0; NaN where there is none."""
    w, x, y, z = np.asarray(wxyz, dtype=np.float64)
    length = float(w * w + x * x + y * y + z * z)
    if not (np.isfinite(length) and length > 0):
        return np.full((3, 3), np.nan)
    cross = cross_matrix(np.array([x, y, z]))
    return np.asarray(np.eye(3) + 2 / length * (w * cross + cross @ cross))


def listed_poses(path: Path) -> dict[str, Pose | None]:
    """Poses by name, one to a line as hloc writes them: name qw qx qy qz tx ty tz."""
    found: dict[str, Pose | None] = {}
    for line, (name, *words) in rows_of(path, "list of poses"):
        if name in found:
            raise InvalidInput(
                f"line {line} of {path} has the name of an earlier line; keep one pose for each."
            )
        numbers = numbers_in(words, path, line, 7)
        found[name] = camera_pose(turned(numbers[:4]), translation=numbers[4:])
    return found


def scaled(camera: Camera, scale: float) -> Camera:
    """The camera of pictures so many times as large; the lens stays as it is."""
    lengths = camera.num_focals + 2
    params = [value * scale for value in camera.params[:lengths]]
    size = (round(camera.width * scale), round(camera.height * scale))
    return Camera(camera.model, *size, (*params, *camera.params[lengths:]))


def picture_size(path: Path) -> tuple[int, int]:
    """Width and height of a picture, from its header."""
    try:
        with Image.open(path, formats=formats_of(path)) as image:
            return image.size
    except Exception:  # noqa: BLE001 - damaged headers raise anything
        raise InvalidInput(f"{path} is not a picture that can be read.") from None


@dataclass(eq=False)
class SceneBuilder:
    """Pictures are added one by one with what is known; `build` says what was left out."""

    root: Path
    options: LayoutOptions
    images: Path | None = None
    has_split: bool = False
    entries: dict[str, tuple[Camera | None, Pose | None]] = field(default_factory=dict)
    queries: set[str] = field(default_factory=set)
    skipped: Counter[str] = field(default_factory=Counter)

    _made: dict[Any, Camera] = field(default_factory=dict, init=False)

    def add(
        self, name: str, camera: Camera | None, pose: Pose | None, *, is_query: bool = False
    ) -> None:
        """One picture; a pose of None is one that is broken, for a query one that is secret."""
        self.entries[name] = (camera, pose)
        if is_query:
            self.queries.add(name)

    def skip(self, reason: str, count: int = 1) -> None:
        self.skipped[reason] += count

    def build(self, *, secret: bool = False) -> Scene:
        """The scene of all pictures that can be used; refused if there are fewer than two.

        secret  queries without a pose stay: their truth is not known
        """
        folder = self.images or self.root
        cameras: dict[str, Camera] = {}
        poses: dict[str, Pose] = {}
        given = self.options.camera
        for name, (camera, pose) in sorted(self.entries.items()):
            if not (folder / name).is_file():
                self.skip(NO_PICTURE)
            elif camera is None and given is None:
                self.skip(NO_CAMERA)
            elif pose is None and not (secret and name in self.queries):
                self.skip(BROKEN_POSE)
            else:
                cameras[name] = self._camera(folder / name, camera, given)
                if pose is not None:
                    poses[name] = pose
        if len(cameras) < 2:
            why = "; ".join(f"{count} left out: {reason}" for reason, count in self.skipped.items())
            raise InvalidInput(
                f"{self.root} has {len(cameras)} pictures with camera and pose, two are needed"
                f"{f' ({why})' if why else ''}."
            )
        queries = frozenset(self.queries & set(cameras)) if self.has_split else None
        return Scene(
            self.root.resolve().name,
            folder,
            cameras,
            poses,
            names=tuple(cameras),
            queries=queries,
            skipped=dict(self.skipped),
        )

    def _camera(self, path: Path, known: Camera | None, given: str | None) -> Camera:
        """The camera of a picture; the first of each kind is compared with its picture."""
        key = known if given is None else given
        if key not in self._made:
            size = picture_size(path)
            self._made[key] = (
                _given_camera(given, size) if given is not None or known is None
                else fitted(known, self.options.camera_scale, size, path)
            )  # fmt: skip
        return self._made[key]


def _given_camera(text: str | None, size: tuple[int, int]) -> Camera:
    model, *numbers = (text or "").split(",")
    try:
        return Camera(model.strip(), *size, tuple(float(number) for number in numbers))
    except ValueError:
        raise InvalidInput(
            f"camera must be MODEL,param,param,… with numbers, got {text!r}."
        ) from None


def fitted(camera: Camera, scale: float | None, size: tuple[int, int], path: Path) -> Camera:
    """The camera scaled, if it then has the size of its picture, up to a pixel by rounding."""
    width, height = size
    camera = scaled(camera, width / camera.width if scale is None else scale)
    if abs(camera.width - width) > 1 or abs(camera.height - height) > 1:
        raise InvalidInput(
            f"{path.name} has {width}×{height} pixels, its intrinsics are for "
            f"{camera.width}×{camera.height}; give the camera's scale (--camera-scale), for "
            "pictures of half the size 0.5."
        )
    return replace(camera, width=width, height=height)
