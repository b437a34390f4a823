"""Which keypoints agree with a pose, and what they saw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_shape
from sfumato.core.frozen import Frozen, frozen_array


@dataclass(frozen=True, eq=False)
class Inliers(Frozen):
    """What agrees with a pose, pair by pair.

    keypoints  (k,) rows of the release, in its own order; a row may stand here more than once
    points     (k, 3) the points of the map they saw, in the map's unit
    """

    keypoints: NDArray[np.int64]
    points: NDArray[np.float64]

    def __post_init__(self) -> None:
        self._set("keypoints", frozen_array("keypoints", self.keypoints, np.int64))
        self._set("points", frozen_array("points", self.points, np.float64))
        check_shape("keypoints", self.keypoints, (None,))
        check_shape("points", self.points, (len(self.keypoints), 3))
