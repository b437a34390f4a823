"""Poses as numbers on disk, and when one is near enough to the truth."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.cli.values import names
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Pose

_LENGTHS = {"": 1.0, "km": 1000.0, "m": 1.0, "cm": 0.01, "mm": 0.001}
_ANGLES = {"": 1.0, "deg": 1.0, "°": 1.0, "rad": 180 / math.pi}
_NUMBER = r"([0-9]*\.?[0-9]+(?:e-?[0-9]+)?)"
_FORM = re.compile(rf"{_NUMBER}(|km|m|cm|mm)/{_NUMBER}(|deg|°|rad)")


@dataclass(frozen=True)
class Within:
    """How near a pose must be: its distance, in the world's unit, and its angle in degrees.

    is_metric  whether the world's unit is the metre; otherwise tables name no unit

    >>> from sfumato_papers.ldp_feat.poses import Within
    >>> Within.parse("5cm/5deg"), str(Within.parse(".25/2"))
    (Within(distance=0.05, degrees=5.0, is_metric=True), '0.25/2°')
    """

    distance: float
    degrees: float
    is_metric: bool = True

    @classmethod
    def parse(cls, text: str) -> Within:
        """A length and an angle: 0.05m/5deg, 5cm/5°, .25/2; without a unit the world's."""
        parts = _FORM.fullmatch(text.strip())
        if parts is None:
            raise InvalidInput(
                "a threshold is a length and an angle, as 0.05m/5deg, 5cm/5deg or .25/2, "
                f"got {text!r}."
            )
        length, unit, angle, turn = parts.groups()
        distance, degrees = float(length) * _LENGTHS[unit], float(angle) * _ANGLES[turn]
        if not (0 < distance < math.inf and 0 < degrees < math.inf):
            raise InvalidInput(f"the lengths and angles of thresholds are positive, got {text!r}.")
        return cls(distance, degrees, bool(unit))

    def __str__(self) -> str:
        return f"{self.distance:g}{'m' if self.is_metric else ''}/{self.degrees:g}°"

    def holds(self, pose: Pose, truth: Pose) -> bool:
        """Whether a pose is as near to the truth as this, both ends included."""
        distance, degrees = pose.error_to(truth)
        return distance <= self.distance and degrees <= self.degrees


def parse_thresholds(text: str) -> tuple[Within, ...]:
    """Several thresholds with commas between."""
    return tuple(Within.parse(one) for one in names(text))


#: The long-term benchmark's thresholds.
THRESHOLDS = (Within(0.25, 2.0), Within(0.5, 5.0), Within(5.0, 10.0))
#: A pose that was returned and is farther from the truth than this is wrong.
WRONG_BEYOND = Within(0.5, 10.0)


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


def judge(
    pose: Pose | None,
    truth: Pose,
    thresholds: Sequence[Within] = THRESHOLDS,
    wrong_beyond: Within = WRONG_BEYOND,
) -> tuple[tuple[bool, ...], bool]:
    """Within which thresholds a pose is, and whether it is wrong; no pose is neither."""
    if pose is None:
        return tuple(False for _ in thresholds), False
    inside = tuple(one.holds(pose, truth) for one in thresholds)
    return inside, not wrong_beyond.holds(pose, truth)
