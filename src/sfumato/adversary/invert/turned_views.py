"""Several looks at one picture: turned keypoints tell the same, and average better.

A turned photograph has the keypoints of the upright one, turned, with the same descriptors where
these are taken in the keypoint's own frame. The network paints each look anew; what it made up
differs from look to look and fades in the mean, what the descriptors say stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.encoders import FRAME, Encoded, with_frames

#: Descriptors that do not change when the picture is turned.
TURNING = ("sift", "rootsift")


def quarters_of(extractor: str) -> tuple[int, ...]:
    """Quarter turns that are worth averaging; none where turning changes the descriptors."""
    return (0, 1, 2, 3) if extractor in TURNING else (0,)


def turned(seen: Encoded, quarters: int) -> Encoded:
    """The keypoints as they are seen when the picture is turned clockwise by right angles."""
    keypoints, size = turned_positions(seen.keypoints, seen.image_size, quarters)
    moved = replace(seen, keypoints=keypoints, image_size=size)
    if quarters == 0 or seen.angles is None or seen.scales is None:
        return moved
    bare = replace(moved, rows=seen.rows[:, :-FRAME], scales=None, angles=None)
    certainty = np.hypot(seen.rows[:, -2], seen.rows[:, -1])
    angles = (seen.angles + 90 * quarters) % 360
    return with_frames(bare, seen.scales, angles, certainty=certainty)


def turned_positions(
    keypoints: NDArray[Any], image_size: tuple[int, int], quarters: int
) -> tuple[NDArray[Any], tuple[int, int]]:
    """Positions and size after turns of a quarter: what was at the left is then at the top."""
    width, height = image_size
    for _ in range(quarters % 4):
        x, y = keypoints.T
        keypoints = np.stack([height - 1 - y, x], axis=1)
        width, height = height, width
    return keypoints, (width, height)
