"""kapture: sensors, records and trajectories as lists with commas between.

    sensors/sensors.txt         id, name, camera, MODEL, width, height, parameters
    sensors/records_camera.txt  timestamp, id, picture below sensors/records_data
    sensors/trajectories.txt    timestamp, id, qw, qx, qy, qz, tx, ty, tz: device from world
    sensors/rigs.txt            rig, id, qw … tz: sensor from rig; ids may be rigs themselves

Where mapping/ and query/ are there, each with its own sensors/, the pictures of query/ are queries;
without a trajectory their poses are secret. Intrinsics are COLMAP's; UNKNOWN_CAMERA has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sfumato.core.errors import InvalidInput
from sfumato.core.types import Camera, Pose
from sfumato.datasets.layouts.common import (
    LayoutOptions,
    SceneBuilder,
    camera_pose,
    numbers_in,
    read_lines,
    turned,
)
from sfumato.server.mapping.scenes import Scene

RECORDS = "sensors/records_camera.txt"
_PICTURES = "sensors/records_data"
_Poses = dict[tuple[str, str], Pose | None]


def read_kapture(folder: str | Path, options: LayoutOptions | None = None) -> Scene:
    """All pictures of a kapture, or of mapping/ and query/ in it."""
    root = Path(folder)
    split = [root / part for part in ("mapping", "query") if (root / part / RECORDS).is_file()]
    builder = SceneBuilder(root, options or LayoutOptions(), has_split=len(split) == 2)
    for part in split or [root]:
        _add(builder, part, is_query=len(split) == 2 and part.name == "query")
    return builder.build(secret=True)


def _add(builder: SceneBuilder, part: Path, *, is_query: bool) -> None:
    cameras = _cameras(part / "sensors/sensors.txt")
    poses = _poses(part)
    prefix = (part / _PICTURES).relative_to(builder.root).as_posix()
    for line, words in _rows(part / RECORDS, "list of pictures"):
        if len(words) != 3:
            raise InvalidInput(
                f"line {line} of {part / RECORDS} must say timestamp, sensor and picture."
            )
        time, sensor, name = words
        if sensor not in cameras:
            raise InvalidInput(f"line {line} of {part / RECORDS} names a sensor that is not there.")
        if name.startswith("/") or ".." in name.split("/"):
            raise InvalidInput(
                f"line {line} of {part / RECORDS} must name a picture below {_PICTURES}."
            )
        pose = poses.get((time, sensor))
        builder.add(f"{prefix}/{name}", cameras[sensor], pose, is_query=is_query)


def _cameras(path: Path) -> dict[str, Camera | None]:
    found: dict[str, Camera | None] = {}
    for line, words in _rows(path, "list of sensors"):
        if len(words) < 3 or words[2] != "camera":
            continue  # lidars, thermometers and the like
        try:
            model, width, height, *numbers = words[3:]
            known = model != "UNKNOWN_CAMERA"
            params = tuple(float(number) for number in numbers)
            found[words[0]] = Camera(model, int(width), int(height), params) if known else None
        except ValueError as error:
            raise InvalidInput(
                f"line {line} of {path} must say id, name, camera, MODEL, width, height and "
                f"parameters: {error}"
            ) from None
    return found


def _poses(part: Path) -> _Poses:
    """device_from_world by timestamp and sensor; those of rigs become their sensors'."""
    path = part / "sensors/trajectories.txt"
    poses: _Poses = {}
    if path.is_file():
        poses = {(time, device): pose for time, device, pose in _transforms(path)}
    rigs: dict[str, list[tuple[str, Pose | None]]] = {}
    if (part / "sensors/rigs.txt").is_file():
        for rig, sensor, pose in _transforms(part / "sensors/rigs.txt"):
            rigs.setdefault(rig, []).append((sensor, pose))
    waiting = list(poses.items())
    for _ in range(len(rigs)):  # a rig of rigs is as deep as there are rigs, at most
        waiting = [
            ((time, sensor), _after(inside, pose))
            for (time, device), pose in waiting
            for sensor, inside in rigs.get(device, [])
        ]
        poses |= dict(waiting)
    return poses


def _after(second: Pose | None, first: Pose | None) -> Pose | None:
    if first is None or second is None:
        return None
    shift = second.rotation @ first.translation + second.translation
    return camera_pose(second.rotation @ first.rotation, translation=shift)


def _transforms(path: Path) -> Iterator[tuple[str, str, Pose | None]]:
    for line, (first, second, *words) in _rows(path, "list of poses", least=2):
        if not any(words):
            yield first, second, None  # kapture leaves out what is not known
            continue
        numbers = numbers_in(words, path, line, 7)
        yield first, second, camera_pose(turned(numbers[:4]), translation=numbers[4:])


def _rows(path: Path, what: str, *, least: int = 1) -> Iterator[tuple[int, list[str]]]:
    for number, text in enumerate(read_lines(path, what), start=1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        words = [word.strip() for word in text.split(",")]
        if len(words) < least:
            raise InvalidInput(f"line {number} of {path} must have commas between its values.")
        yield number, words
