"""How far a pose is expected to be off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number, check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.frozen import Frozen, frozen_array


@dataclass(frozen=True, eq=False)
class PoseError(Frozen):
    """Nine poses of ten are at most this far from the truth, each of the two for itself.

    position      distance of the camera's center, in the map's unit
    rotation_deg  angle of the rotation, in degrees
    covariance    (6, 6) of a small rotation about the camera's axes, in radians, and of the
                  center in the world, in the map's unit

    >>> error = sf.PoseError(0.02, 0.5, np.diag([1e-5, 1e-5, 1e-5, 1e-4, 1e-4, 1e-4]))
    >>> f"{error.position:g} m, {error.rotation_deg:g}°"
    '0.02 m, 0.5°'
    """

    position: float
    rotation_deg: float
    covariance: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("position", "rotation_deg"):
            value = as_number(name, getattr(self, name))
            if not (np.isfinite(value) and value >= 0):
                raise InvalidInput(f"{name} of an expected error must be 0 or above, got {value}.")
            self._set(name, value)
        self._set("covariance", frozen_array("covariance", self.covariance, np.float64))
        check_shape("covariance", self.covariance, (6, 6))
