"""Several looks at one picture: turned and mirrored keypoints tell the same, and average better.

A turned photograph has the keypoints of the upright one, turned, with the same descriptors where
these are taken in the keypoint's own frame. A mirrored one has them with the cells of each
descriptor in another order. The network paints each look anew; what it made up differs from look
to look and fades in the mean, what the descriptors say stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.encoders import Encoded, with_frames

#: Descriptors that do not change when the picture is turned.
TURNING = ("sift", "rootsift")
_CELLS, _DIRECTIONS = 4, 8
_SIFT = _CELLS * _CELLS * _DIRECTIONS
_FRAME = 3  # columns that `with_frames` adds


@dataclass(frozen=True)
class Look:
    """How the picture is held: mirrored first, then turned clockwise by quarters."""

    quarters: int = 0
    mirrored: bool = False

    def see(self, seen: Encoded) -> Encoded:
        """The keypoints as this look shows them."""
        if self.mirrored:
            seen = _mirror(seen)
        for _ in range(self.quarters):
            seen = _turn(seen)
        return seen

    def undo(self, picture: NDArray[Any]) -> NDArray[Any]:
        """A painted look, held upright again."""
        picture = np.rot90(picture, self.quarters)
        return picture[:, ::-1] if self.mirrored else picture


STRAIGHT = Look()
FOUR = tuple(Look(quarters) for quarters in range(4))


def looks_of(extractor: str) -> tuple[Look, ...]:
    """The looks that are worth averaging; one where turning changes the descriptors."""
    return FOUR if extractor in TURNING else (STRAIGHT,)


def _turn(seen: Encoded) -> Encoded:
    """A quarter clockwise: what was at the left is now at the top."""
    width, height = seen.image_size
    x, y = seen.keypoints.T
    angles = None if seen.angles is None else (seen.angles + 90) % 360
    return _moved(seen, np.stack([height - 1 - y, x], axis=1), (height, width), angles, seen.rows)


def _mirror(seen: Encoded) -> Encoded:
    """Left and right exchanged: in a keypoint's own frame, across is turned round."""
    width, _ = seen.image_size
    x, y = seen.keypoints.T
    angles = None if seen.angles is None else (180 - seen.angles) % 360
    extra = 0 if seen.scales is None else _FRAME
    own = seen.rows[:, : seen.rows.shape[1] - extra]
    blocks = own.reshape(len(own), -1, _CELLS, _CELLS, _DIRECTIONS)
    back = -np.arange(_DIRECTIONS) % _DIRECTIONS
    flipped = blocks[:, :, ::-1][..., back].reshape(own.shape)
    rows = np.hstack([flipped, seen.rows[:, own.shape[1] :]])
    return _moved(seen, np.stack([width - 1 - x, y], axis=1), seen.image_size, angles, rows)


def _moved(
    seen: Encoded,
    keypoints: NDArray[Any],
    image_size: tuple[int, int],
    angles: NDArray[np.float32] | None,
    rows: NDArray[np.float32],
) -> Encoded:
    moved = replace(seen, keypoints=keypoints, image_size=image_size, rows=rows)
    if angles is None or seen.scales is None:
        return moved
    bare = replace(moved, rows=rows[:, :-_FRAME], scales=None, angles=None)
    return with_frames(bare, seen.scales, angles)
