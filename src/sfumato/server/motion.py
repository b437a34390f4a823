"""How a device moved between two releases, and how far that may be off."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import nearest_rotation
from sfumato.core.releases import KeypointRelease
from sfumato.core.types import Camera, Pose

_FORM = re.compile(r"([0-9]*\.?[0-9]+)\s*%\s*/\s*([0-9]*\.?[0-9]+)\s*(?:deg|°)")


@dataclass(frozen=True, eq=False)
class Frame:
    """One release of a moving device.

    motion  where its camera was by odometry: cam_from_odometry, in one frame of reference for
            the whole sequence, in the map's unit
    camera  stands in where the release carries none
    """

    release: KeypointRelease
    motion: Pose
    camera: Camera | None = None


@dataclass(frozen=True)
class OdometryError:
    """How far odometry is off between two frames: a share of the way, and an angle per frame.

    >>> from sfumato.server.motion import OdometryError
    >>> OdometryError(share=0.02, degrees=0.5)
    OdometryError(share=0.02, degrees=0.5)
    """

    share: float = 0.02
    degrees: float = 0.5

    def __post_init__(self) -> None:
        if not (0 <= self.share <= 1 and 0 <= self.degrees <= 45):
            raise InvalidInput(
                "the error of odometry is a share of the way from 0 to 1 and an angle from 0 to "
                f"45 degrees, got {self.share} and {self.degrees}."
            )

    def angle(self, way: float, depth: float, steps: int) -> float:
        """By how much, in radians, points at this depth are misplaced after so many frames."""
        return math.radians(self.degrees) * math.sqrt(steps) + self.share * way / depth

    def covariance(self, way: float, steps: int) -> NDArray[np.float64]:
        """(6, 6) of the turn, in radians, and of the center after so many frames."""
        turn = math.radians(self.degrees) ** 2 * steps / 3
        return np.diag([turn] * 3 + [(self.share * way) ** 2 / 3] * 3)

    @classmethod
    def parse(cls, text: str) -> OdometryError:
        """From "2%/0.5deg"."""
        if found := _FORM.fullmatch(text.strip()):
            return cls(float(found[1]) / 100, float(found[2]))
        raise InvalidInput(f"the error of odometry is given as 2%/0.5deg, got {text!r}.")

    def __str__(self) -> str:
        return f"{100 * self.share:g}%/{self.degrees:g}°"


def compose(second: Pose, first: Pose) -> Pose:
    """First one pose, then the other: R₂·(R₁·x + t₁) + t₂."""
    return Pose(
        nearest_rotation(second.rotation @ first.rotation),
        second.rotation @ first.translation + second.translation,
    )


def inverse(pose: Pose) -> Pose:
    """The way back: Rᵀ·(x − t)."""
    return Pose(pose.rotation.T, -pose.rotation.T @ pose.translation)
