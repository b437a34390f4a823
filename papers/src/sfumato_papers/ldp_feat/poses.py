"""Poses as numbers on disk, and when one is near enough to the truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.types import Pose

#: The long-term benchmark's thresholds: metres and degrees. Beyond the last a pose is wrong.
THRESHOLDS = ((0.25, 2.0), (0.5, 5.0), (5.0, 10.0))


def pose_numbers(pose: Pose) -> list[float]:
    """qw, qx, qy, qz, tx, ty, tz of cam_from_world, as COLMAP and the benchmarks write poses."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(pose.rotation).as_quat(canonical=True)
    return [float(value) for value in (w, x, y, z, *pose.translation)]


def pose_of(numbers: Sequence[float]) -> Pose:
    """The pose of such numbers."""
    from scipy.spatial.transform import Rotation

    w, x, y, z, *translation = numbers
    return Pose(Rotation.from_quat([x, y, z, w]).as_matrix(), np.array(translation))


def center_of(numbers: Sequence[float]) -> NDArray[np.float64]:
    """Where the camera of such numbers stands: −Rᵀ·t."""
    from scipy.spatial.transform import Rotation

    w, x, y, z, *translation = numbers
    return np.asarray(-Rotation.from_quat([x, y, z, w]).inv().apply(translation))


def judge(pose: Pose | None, truth: Pose) -> tuple[tuple[bool, ...], bool]:
    """Within which thresholds a pose is, and whether it is wrong; no pose is neither."""
    if pose is None:
        return tuple(False for _ in THRESHOLDS), False
    distance, degrees = pose.error_to(truth)
    inside = tuple(distance <= metres and degrees <= angle for metres, angle in THRESHOLDS)
    return inside, not inside[-1]
