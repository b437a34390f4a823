"""A face brought to the place where a network expects it: enlarging, bordering, turning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput

Picture = NDArray[np.uint8]

#: Below this, no network was trained and no landmark means anything.
MIN_SIDE = 16
#: Where ArcFace's networks expect the two eyes, as shares of the sides of their input.
ARCFACE_EYES = np.array([[38.2946, 51.6963], [73.5318, 51.5014]]) / 112.0


@dataclass(frozen=True)
class Sizing:
    """What is done to a picture before faces are looked for.

    shorter  a picture whose shorter side is below this many pixels is enlarged to it
    border   pixels added on each side beforehand, as a share of the shorter side: a detector
             needs something around a face, and a tight crop has nothing
    """

    shorter: int = 300
    border: float = 0.2

    def __post_init__(self) -> None:
        check_count("shorter", self.shorter, low=MIN_SIDE, high=4096)
        if not 0 <= self.border <= 1:
            raise InvalidInput(f"border must be between 0 and 1, got {self.border!r}.")


def check_picture(picture: NDArray[Any]) -> Picture:
    """Return (H, W, 3); a picture too small to hold a face is refused."""
    from sfumato.features.image import check_image

    image = check_image(picture)
    height, width = image.shape[:2]
    if min(height, width) < MIN_SIDE:
        raise InvalidInput(
            f"a picture of a face needs at least {MIN_SIDE}×{MIN_SIDE} pixels, got "
            f"{width}×{height}."
        )
    return image


def enlarge(picture: Picture, sizing: Sizing) -> Picture:
    """The picture with its border, large enough to look for faces in."""
    import cv2

    image: NDArray[Any] = picture
    shorter = min(image.shape[:2])
    pad = round(sizing.border * shorter)
    if pad:
        image = cv2.copyMakeBorder(image, pad, pad, pad, pad, cv2.BORDER_REPLICATE)
    scale = sizing.shorter / shorter
    if scale > 1:
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
    return np.ascontiguousarray(image, dtype=np.uint8)


def resize(image: Picture, size: int) -> Picture:
    """The whole picture as a square of this side."""
    import cv2

    method = cv2.INTER_AREA if min(image.shape[:2]) > size else cv2.INTER_CUBIC
    return np.ascontiguousarray(cv2.resize(image, (size, size), interpolation=method))


def align_eyes(image: Picture, eyes: NDArray[Any], size: int) -> Picture:
    """Turn, scale and move the picture so that the eyes (2, 2) lie where ArcFace wants them.

    Two points fix the similarity: with z = x + iy, z′ = a·z + b through both of them.
    """
    import cv2

    source = np.asarray(eyes, dtype=np.float64) @ np.array([1, 1j])
    target = (ARCFACE_EYES * size) @ np.array([1, 1j])
    apart = source[1] - source[0]
    if abs(apart) < 1e-6:
        raise InvalidInput("the two eyes of a face must be apart, these are one point.")
    a = (target[1] - target[0]) / apart
    b = target[0] - a * source[0]
    matrix = np.array([[a.real, -a.imag, b.real], [a.imag, a.real, b.imag]])
    return np.ascontiguousarray(cv2.warpAffine(image, matrix, (size, size)), dtype=np.uint8)
