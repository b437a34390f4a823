"""Edge directions as codes: encoders that are the same for everybody and need no training data.

An encoder that is fitted on pictures gives something away about them. With these, a picture's
answers are all that leaves its device.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.encoder import Arrays, Encoder, Shape, filter_all
from sfumato.core.checks import as_number, check_count
from sfumato.core.errors import InvalidInput

Matrix = NDArray[np.float32]

_BLUR = 1.0  # σ in pixels, before derivatives are taken
#: What `for_pictures` chooses from, and the share of bits it wants to be set.
CONTRASTS = (0.1, 0.05, 0.025, 0.0125, 0.00625)
_BITS_SET = 0.25
_MOST_LOOKED_AT = 500
_MAX_SIDE = 4096  # of pictures that a file announces


class _EdgeEncoder(Encoder):
    """Gradients at every pixel, cells on a grid; settings and picture size are all of its file."""

    stride: int

    def _prepare(self, shape: Shape) -> None:
        check_count("stride", self.stride, low=1, high=min(shape), why="the side of the picture")
        self._slopes = [_axis_slopes(side) for side in shape]

    def _check_above_zero(self, name: str, high: float) -> None:
        if not 0 < as_number(name, getattr(self, name)) <= high:
            raise InvalidInput(f"{name} must be above 0 and at most {high:g}.")

    @classmethod
    def _settings(cls) -> tuple[list[str], list[str], str]:
        """Names of the whole and of the real settings, and where a file keeps the real ones."""
        whole, real = (
            [setting.name for setting in fields(cls) if setting.type == kind]
            for kind in ("int", "float")
        )
        return whole, real, "real" if len(real) > 1 else real[0]

    def _gradients(self, pictures: NDArray[Any]) -> tuple[Matrix, Matrix]:
        """Direction in radians and strength at each pixel of pictures (N, h, w) of 0 … 255.

        A strength of 1 is a change by the full contrast over one pixel.
        """
        unit = pictures.astype(np.float32) / np.float32(255)
        (blur_down, slope_down), (blur_across, slope_across) = self._slopes
        to_the_right = blur_down @ (unit @ slope_across.T)
        downwards = slope_down @ (unit @ blur_across.T)
        return np.arctan2(downwards, to_the_right), np.hypot(to_the_right, downwards)

    def _arrays(self) -> Arrays:
        whole, real, key = self._settings()
        return {
            "whole": np.array([*(getattr(self, name) for name in whole), *self.picture_shape_]),
            key: np.array([getattr(self, name) for name in real]).squeeze(),
        }

    @classmethod
    def _from_arrays(cls, arrays: Arrays) -> tuple[Self, Shape]:
        whole, real, key = cls._settings()
        *counts, height, width = (int(value) for value in arrays["whole"])
        numbers = (float(value) for value in np.atleast_1d(arrays[key]))
        for side in (height, width):
            check_count("picture side", side, low=1, high=_MAX_SIDE)
        settings: dict[str, Any] = dict(zip(whole, counts, strict=True))
        settings |= dict(zip(real, numbers, strict=True))
        return cls(**settings), (height, width)


@dataclass(eq=False, repr=False)
class OrientationCodes(_EdgeEncoder):
    """Pictures (N, h, w) of values 0 … 255 → one code per cell: 0 where it is blank, or 1 + the
    strongest of the gradient orientations, which lie between 0° and 180°.

    num_orientations  d − 1
    cell              σ in pixels of the Gaussian window a cell looks through
    stride            pixels between cells
    margin            pixels at each border without cells: where pictures are known to be empty,
                      a code that is drawn and sent from there would be wasted
    blank             a cell whose strongest orientation is below this share of full contrast
                      is blank

    >>> left_dark = np.zeros((1, 13, 13))
    >>> left_dark[:, :, 6:] = 255
    >>> OrientationCodes(2, stride=5, cell=0.5).fit_transform(left_dark).reshape(3, 3)
    array([[0, 1, 0],
           [0, 1, 0],
           [0, 1, 0]], dtype=uint8)
    """

    name: ClassVar[str] = "orientations"

    num_orientations: int = 4
    _: KW_ONLY
    cell: float = 1.5
    stride: int = 3
    margin: int = 0
    blank: float = 0.01

    def _prepare(self, shape: Shape) -> None:
        check_count("num_orientations", self.num_orientations, low=2, high=255)
        check_count("margin", self.margin, low=0, high=(min(shape) - 1) // 2, why="no cell is left")
        self._check_above_zero("cell", 100)
        self._check_above_zero("blank", 1)
        super()._prepare(shape)
        self._windows = [_axis_window(side, self.cell, self.stride, self.margin) for side in shape]
        self.map_shape_ = (1, len(self._windows[0]), len(self._windows[1]))
        self.num_values_ = self.num_orientations + 1

    def _encode(self, pictures: NDArray[Any]) -> NDArray[Any]:
        angle, strength = self._gradients(pictures)
        angle *= np.float32(self.num_orientations / np.pi)
        down, across = self._windows
        shares = []
        for orientation in range(self.num_orientations):
            # Each gradient is shared between the two orientations next to it.
            apart = np.abs((angle - orientation) % self.num_orientations)
            apart = np.minimum(apart, self.num_orientations - apart)
            share = np.maximum(1 - apart, 0) * strength
            shares.append(down @ (share @ across.T))
        cells = np.stack(shares, axis=1)
        strongest = cells.argmax(axis=1, keepdims=True) + 1
        return np.where(cells.max(axis=1, keepdims=True) < self.blank, 0, strongest)


@dataclass(eq=False, repr=False)
class OrientationBits(_EdgeEncoder):
    """Pictures (N, h, w) of values 0 … 255 → bits (N, directions·h′·w′), d = 2: does an edge of
    this direction pass near this cell?

    Randomized response is kindest to d = 2: at ε = .5 a bit is kept with a share of .24, one of
    16 values with .04. And a bit that is 1 for an edge anywhere within reach forgives strokes that
    are drawn a little elsewhere.

    num_directions  of the gradient, from 0° to 360°: dark to bright is not bright to dark
    reach           pixels to each side of a cell where an edge still counts for it
    stride          pixels between cells; a larger one sends fewer bits
    contrast        the weakest edge that counts, as a change per pixel of the full contrast;
                    pictures with soft light need a lower one, see `for_pictures`

    >>> dark_above = np.zeros((1, 13, 13))
    >>> dark_above[:, 6:] = 255
    >>> OrientationBits(2, stride=5, reach=1).fit_transform(dark_above).reshape(2, 3, 3)[0]
    array([[0, 0, 0],
           [1, 1, 1],
           [0, 0, 0]], dtype=uint8)
    """

    name: ClassVar[str] = "orientation-bits"
    _block: ClassVar[int] = 1024

    num_directions: int = 16
    _: KW_ONLY
    reach: int = 2
    stride: int = 2
    contrast: float = 0.1

    @classmethod
    def for_pictures(cls, pictures: Any, num_directions: int = 16, **settings: Any) -> Self:
        """An encoder whose contrast suits these training pictures, fitted to their size.

        Of the contrasts tried, the one that sets nearest to a quarter of the bits: a bit that is
        nearly always 0 says nothing, and randomized response costs the same. The contrast is one
        number learned from the training pictures, which must be yours to show or public.

        >>> faint = np.zeros((4, 13, 13))
        >>> faint[:, 6:] = 20
        >>> OrientationBits.for_pictures(faint, 2).contrast
        0.00625
        """
        made = [cls(num_directions, contrast=contrast, **settings) for contrast in CONTRASTS]
        some = np.asarray(pictures)[:: max(len(pictures) // _MOST_LOOKED_AT, 1)]
        shares = [float(encoder.fit_transform(some).mean()) for encoder in made]
        return made[int(np.argmin(np.abs(np.array(shares) - _BITS_SET)))].fit(pictures)

    def _prepare(self, shape: Shape) -> None:
        super()._prepare(shape)
        check_count("num_directions", self.num_directions, low=2, high=255)
        check_count("reach", self.reach, low=0, high=100)
        self._check_above_zero("contrast", 1)
        self._cells = [
            slice(_first_cell(side, self.stride, 0), side, self.stride) for side in shape
        ]
        height, width = (len(range(cells.stop)[cells]) for cells in self._cells)
        self.map_shape_ = (self.num_directions, height, width)
        self.num_values_ = 2

    def _encode(self, pictures: NDArray[Any]) -> NDArray[Any]:
        import cv2

        angle, strength = self._gradients(pictures)
        turn = np.floor(angle * np.float32(self.num_directions / (2 * np.pi)))
        direction = turn.astype(np.int64) % self.num_directions
        edges = direction[..., None] == np.arange(self.num_directions)
        edges &= (strength >= self.contrast)[..., None]
        count, height, width, _ = edges.shape
        window = np.ones((2 * self.reach + 1,) * 2, dtype=np.uint8)
        planes = edges.transpose(1, 2, 0, 3).reshape(height, width, -1).astype(np.uint8)
        near = filter_all(planes, lambda block: cv2.dilate(block, window))
        down, across = self._cells
        _, rows, columns = self.map_shape_
        cells = near[down, across].reshape(rows, columns, count, self.num_directions)
        return cells.transpose(2, 3, 0, 1)


def _axis_slopes(side: int) -> tuple[Matrix, Matrix]:
    """Blur and derivative along one axis, as matrices.

    As products with small matrices all pictures are filtered alike, none through another's
    border.
    """
    from scipy.ndimage import gaussian_filter1d

    every = np.eye(side)
    blur = gaussian_filter1d(every, _BLUR, axis=0, mode="nearest")
    slope = gaussian_filter1d(every, _BLUR, axis=0, order=1, mode="nearest")
    return blur.astype(np.float32), slope.astype(np.float32)


def _axis_window(side: int, cell: float, stride: int, margin: int) -> Matrix:
    """What each cell sees along one axis; rows are cells."""
    from scipy.ndimage import gaussian_filter1d

    window = gaussian_filter1d(np.eye(side), cell, axis=0, mode="constant")
    rows = window[_first_cell(side, stride, margin) : side - margin : stride]
    return np.ascontiguousarray(rows, dtype=np.float32)


def _first_cell(side: int, stride: int, margin: int) -> int:
    """Where cells begin, so that they lie in the middle of the picture."""
    return margin + (side - 2 * margin - 1) % stride // 2
