"""TUM RGB-D: pictures by time in rgb.txt, a trajectory by time in groundtruth.txt.

    rgb.txt           time file
    groundtruth.txt   time tx ty tz qx qy qz qw        camera to world, metres

The pose of a picture is interpolated between the two measured before and after it. The benchmark
names no queries: choose them by a rule.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.types import Camera, Pose
from sfumato.datasets.layouts.common import (
    LayoutOptions,
    SceneBuilder,
    camera_pose,
    numbers_in,
    rows_of,
    turned,
)
from sfumato.server.mapping.scenes import Scene

#: Seconds between the two poses that a picture lies between; more, and it is left out.
MAX_GAP = 0.1
NO_POSE_IN_TIME = f"no pose was measured within {MAX_GAP:g} s"


def _camera(fx: float, fy: float, cx: float, cy: float, *lens: float) -> Camera:
    """The benchmark's calibration, which counts from pixel centres: half a pixel is added."""
    inner = (fx, fy, cx + 0.5, cy + 0.5)
    if not lens:
        return Camera("PINHOLE", 640, 480, inner)
    return Camera("FULL_OPENCV", 640, 480, (*inner, *lens, 0.0, 0.0, 0.0))


#: By the number of the Kinect, which is in the name of every sequence.
CAMERAS = {
    "1": _camera(517.3, 516.5, 318.6, 255.3, 0.2624, -0.9531, -0.0054, 0.0026, 1.1633),
    "2": _camera(520.9, 521.0, 325.1, 249.7, 0.2312, -0.7849, -0.0033, -0.0001, 0.9172),
    "3": _camera(535.4, 539.2, 320.1, 247.6),
}


def read_tum(folder: str | Path, options: LayoutOptions | None = None) -> Scene:
    """One sequence; the camera follows from its name (freiburg1, …), or is given."""
    root = Path(folder)
    builder = SceneBuilder(root, options or LayoutOptions())
    kinect = re.search(r"(?:freiburg|fr)([123])", root.resolve().name, re.IGNORECASE)
    camera = CAMERAS[kinect[1]] if kinect else None
    if camera is None and builder.options.camera is None:
        raise InvalidInput(
            f"the name of {root} does not say which Kinect took it (freiburg1, 2 or 3); "
            "give the camera."
        )
    trajectory = read_trajectory(root / "groundtruth.txt")
    for line, words in rows_of(root / "rgb.txt", "list of pictures"):
        if len(words) != 2:
            raise InvalidInput(f"line {line} of {root / 'rgb.txt'} must say a time and a file.")
        (time,) = numbers_in(words[:1], root / "rgb.txt", line, 1)
        pose = pose_at_time(trajectory, time)
        if isinstance(pose, str):
            builder.skip(pose)
        else:
            builder.add(words[1], camera, pose)
    return builder.build()


def read_trajectory(path: Path) -> NDArray[np.float64]:
    """(N, 8) time, center and quaternion x, y, z, w, in order of time."""
    rows = [
        numbers_in(words, path, line, 8) for line, words in rows_of(path, "trajectory of poses")
    ]
    if len(rows) < 2:
        raise InvalidInput(f"{path} must hold at least two poses, it holds {len(rows)}.")
    found = np.array(rows)
    if not np.isfinite(found[:, 0]).all():
        raise InvalidInput(f"{path} must hold finite times.")
    return found[np.argsort(found[:, 0], kind="stable")]


def pose_at_time(trajectory: NDArray[np.float64], time: float) -> Pose | str | None:
    """The pose between the two measured around a time; the reason where there are none."""
    times = trajectory[:, 0]
    after = int(np.searchsorted(times, time))
    if after < len(times) and times[after] == time:
        return _pose(trajectory[after])
    if not 0 < after < len(times) or times[after] - times[after - 1] > MAX_GAP:
        return NO_POSE_IN_TIME
    first, second = trajectory[after - 1], trajectory[after].copy()
    if first[4:] @ second[4:] < 0:
        second[4:] *= -1  # the same rotation, on the nearer side
    part = (time - first[0]) / (second[0] - first[0])
    # Between samples 10 ms apart the straight line differs from the arc by less than a digit.
    return _pose((1 - part) * first + part * second)


def _pose(row: NDArray[np.float64]) -> Pose | None:
    return camera_pose(turned(row[[7, 4, 5, 6]]).T, center=row[1:4])
