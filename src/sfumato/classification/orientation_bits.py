"""Orientation bits: does an edge of this direction pass near this cell? Nothing is learned.

One bit for each cell and each direction. Randomized response is kindest to d = 2: at ε = .5 a
bit is kept with a share of .24, one of 16 values with .04. And a bit that is 1 for an edge
anywhere within reach forgives strokes that are drawn a little elsewhere.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sfumato.classification.fixed import FixedEncoder
from sfumato.classification.gradients import axis_slopes, first_cell, gradients
from sfumato.core.checks import as_number, check_count
from sfumato.core.errors import InvalidInput


class OrientationBits(FixedEncoder):
    """Pictures (N, h, w) of values 0 … 255 → bits (N, directions·h′·w′), d = 2.

    No guarantee of its own: bits must pass randomized response before they are shared.

    num_directions  of the gradient, from 0° to 360°: dark to bright is not bright to dark
    reach           pixels to each side of a cell where an edge still counts for it
    stride          pixels between cells; a larger one sends fewer bits
    contrast        the weakest edge that counts, as a change per pixel of the full contrast
    """

    name: ClassVar[str] = "orientation-bits"
    _block: ClassVar[int] = 1024

    def __init__(
        self,
        num_directions: int = 16,
        *,
        reach: int = 2,
        stride: int = 2,
        contrast: float = 0.1,
        image_shape: tuple[int, int] | None = None,
    ) -> None:
        self.num_directions = num_directions
        self.reach = reach
        self.stride = stride
        self.contrast = contrast
        self.image_shape = image_shape

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything `transform` needs, as plain arrays."""
        check_is_fitted(self, "map_shape_")
        whole = (self.num_directions, self.reach, self.stride, *self.picture_shape_)
        return {"whole": np.array(whole), "contrast": np.array(self.contrast)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The encoder that `to_arrays` described; anything else is refused."""
        try:
            count, reach, stride, height, width = (int(value) for value in arrays["whole"])
            made = cls(count, reach=reach, stride=stride, contrast=float(arrays["contrast"]))
            return made._restored(height, width)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InvalidInput(
                "these arrays do not describe an OrientationBits encoder; make a new one."
            ) from None

    def _prepare(self, shape: tuple[int, int]) -> None:
        check_count("num_directions", self.num_directions, low=2, high=255)
        check_count("reach", self.reach, low=0, high=100)
        check_count("stride", self.stride, low=1, high=min(shape), why="the side of the picture")
        if not 0 < as_number("contrast", self.contrast) <= 1:
            raise InvalidInput("contrast must be above 0 and at most 1.")
        self._slopes = (axis_slopes(shape[0]), axis_slopes(shape[1]))
        self._first = tuple(first_cell(side, self.stride, 0) for side in shape)
        height, width = (
            -(-(side - first) // self.stride)
            for side, first in zip(shape, self._first, strict=True)
        )
        self.map_shape_ = (self.num_directions, height, width)
        self.num_values_ = 2

    def _encode(self, pictures: NDArray[Any]) -> NDArray[np.bool_]:
        angle, strength = gradients(pictures, *self._slopes)
        turn = np.floor(angle * np.float32(self.num_directions / (2 * np.pi)))
        direction = turn.astype(np.int64) % self.num_directions
        every = np.arange(self.num_directions)[:, None, None]
        planes: NDArray[np.bool_] = direction[:, None] == every
        planes &= (strength >= self.contrast)[:, None]
        for axis in (2, 3):
            planes = self._any_within_reach(planes, axis)
        return planes

    def _any_within_reach(self, planes: NDArray[np.bool_], axis: int) -> NDArray[np.bool_]:
        """Is there an edge within reach of each cell, along one axis?"""
        margin = [(0, 0)] * 4
        margin[axis] = (self.reach, self.reach)
        padded = np.moveaxis(np.pad(planes, margin), axis, 0)
        count, first = self.map_shape_[axis - 1], self._first[axis - 2]
        stop = first + (count - 1) * self.stride + 1
        near = padded[first : stop : self.stride].copy()
        for away in range(1, 2 * self.reach + 1):
            near |= padded[first + away : stop + away : self.stride]
        return np.moveaxis(near, 0, axis)
