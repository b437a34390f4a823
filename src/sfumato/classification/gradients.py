"""Gradients of many small pictures at once, for encoders that are fitted on nobody."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

_BLUR = 1.0  # σ in pixels, before derivatives are taken


def axis_slopes(side: int) -> tuple[Matrix, Matrix]:
    """Blur and derivative along one axis, as matrices.

    As products with small matrices all pictures are filtered alike, none through another's
    border.
    """
    from scipy.ndimage import gaussian_filter1d

    every = np.eye(side)
    blur = gaussian_filter1d(every, _BLUR, axis=0, mode="nearest")
    slope = gaussian_filter1d(every, _BLUR, axis=0, order=1, mode="nearest")
    return blur.astype(np.float32), slope.astype(np.float32)


def gradients(
    pictures: NDArray[Any], down: tuple[Matrix, Matrix], across: tuple[Matrix, Matrix]
) -> tuple[Matrix, Matrix]:
    """Direction in radians and strength at each pixel of pictures (N, h, w) of 0 … 255.

    A strength of 1 is a change by the full contrast over one pixel.
    """
    unit = pictures.astype(np.float32) / np.float32(255)
    (blur_down, slope_down), (blur_across, slope_across) = down, across
    to_the_right = blur_down @ (unit @ slope_across.T)
    downwards = slope_down @ (unit @ blur_across.T)
    return np.arctan2(downwards, to_the_right), np.hypot(to_the_right, downwards)


def first_cell(side: int, stride: int, margin: int) -> int:
    """Where cells begin, so that they lie in the middle of the picture."""
    return margin + (side - 2 * margin - 1) % stride // 2
