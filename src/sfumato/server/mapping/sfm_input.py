"""What structure from motion is given, checked on this side: pycolmap ends the process instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_finite, check_shape
from sfumato.core.errors import InvalidInput

Matches = Mapping[tuple[int, int], NDArray[np.int64]]


def check_views(
    names: Sequence[str],
    keypoints: Sequence[NDArray[np.float32]],
    matches: Matches,
    num_cameras: int,
    camera_of_image: Sequence[int],
) -> None:
    """Refuse what pycolmap would end the process for."""
    if not len(names) == len(keypoints) == len(camera_of_image):
        raise InvalidInput("every image needs a name, keypoints and a camera.")
    if len(set(names)) != len(names):
        raise InvalidInput("names of images must differ.")
    if any(not 0 <= index < num_cameras for index in camera_of_image):
        raise InvalidInput(f"camera_of_image must be between 0 and {num_cameras - 1}.")
    for points in keypoints:
        check_shape("keypoints", points, (None, 2))
        check_finite("keypoints", points)
    for (first, second), rows in matches.items():
        if not 0 <= first < second < len(names):
            raise InvalidInput(f"a pair of images must be (i, j) with i < j < {len(names)}.")
        check_shape("matches", rows, (None, 2))
        size = (len(keypoints[first]), len(keypoints[second]))
        if len(rows) and ((rows < 0).any() or (rows >= size).any()):
            raise InvalidInput("matches must be rows of the two images' keypoints.")
