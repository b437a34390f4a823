"""Orientation codes: in which direction the strokes of each cell run. Nothing is learned."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sfumato.classification.fixed import FixedEncoder
from sfumato.classification.gradients import Matrix, axis_slopes, first_cell, gradients
from sfumato.core.checks import as_number, check_count
from sfumato.core.errors import InvalidInput


class OrientationCodes(FixedEncoder):
    """Pictures (N, h, w) of values 0 … 255 → one code per cell: 0 where it is blank, or 1 + the
    strongest of the gradient orientations, which lie between 0° and 180°.

    No guarantee of its own: codes must pass randomized response before they are shared.

    num_orientations  d − 1
    cell              σ in pixels of the Gaussian window a cell looks through
    stride            pixels between cells
    margin            pixels at each border without cells: where pictures are known to be empty,
                      a code that is drawn and sent from there would be wasted
    blank             a cell whose strongest orientation is below this share of full contrast
                      is blank
    """

    name: ClassVar[str] = "orientations"

    def __init__(
        self,
        num_orientations: int = 4,
        *,
        cell: float = 1.5,
        stride: int = 3,
        margin: int = 0,
        blank: float = 0.01,
        image_shape: tuple[int, int] | None = None,
    ) -> None:
        self.num_orientations = num_orientations
        self.cell = cell
        self.stride = stride
        self.margin = margin
        self.blank = blank
        self.image_shape = image_shape

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything `transform` needs, as plain arrays."""
        check_is_fitted(self, "map_shape_")
        whole = (self.num_orientations, self.stride, self.margin, *self.picture_shape_)
        return {"whole": np.array(whole), "real": np.array([self.cell, self.blank])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The encoder that `to_arrays` described; anything else is refused."""
        try:
            count, stride, margin, height, width = (int(value) for value in arrays["whole"])
            cell, blank = (float(value) for value in arrays["real"])
            made = cls(count, cell=cell, stride=stride, margin=margin, blank=blank)
            return made._restored(height, width)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InvalidInput(
                "these arrays do not describe an OrientationCodes encoder; make a new one."
            ) from None

    def _prepare(self, shape: tuple[int, int]) -> None:
        check_count("num_orientations", self.num_orientations, low=2, high=255)
        check_count("stride", self.stride, low=1, high=min(shape), why="the side of the picture")
        check_count("margin", self.margin, low=0, high=(min(shape) - 1) // 2, why="no cell is left")
        for name, high in (("cell", 100.0), ("blank", 1.0)):
            if not 0 < as_number(name, getattr(self, name)) <= high:
                raise InvalidInput(f"{name} must be above 0 and at most {high:g}.")
        self._slopes = (axis_slopes(shape[0]), axis_slopes(shape[1]))
        self._windows = [_axis_window(side, self.cell, self.stride, self.margin) for side in shape]
        self.map_shape_ = (1, len(self._windows[0]), len(self._windows[1]))
        self.num_values_ = self.num_orientations + 1

    def _encode(self, pictures: NDArray[Any]) -> NDArray[np.uint8]:
        angle, strength = gradients(pictures, *self._slopes)
        angle *= np.float32(self.num_orientations / np.pi)
        down, across = self._windows
        shares = []
        for orientation in range(self.num_orientations):
            # Each gradient is shared between the two orientations next to it.
            apart = np.abs((angle - orientation) % self.num_orientations)
            apart = np.minimum(apart, self.num_orientations - apart)
            share = np.maximum(1 - apart, 0) * strength
            shares.append(down @ (share @ across.T))
        cells = np.stack(shares, axis=-1)
        found = cells.argmax(axis=-1) + 1
        codes = np.where(cells.max(axis=-1) < self.blank, 0, found).astype(np.uint8)
        return np.asarray(codes[:, None])


def _axis_window(side: int, cell: float, stride: int, margin: int) -> Matrix:
    """What each cell sees along one axis; rows are cells."""
    from scipy.ndimage import gaussian_filter1d

    window = gaussian_filter1d(np.eye(side), cell, axis=0, mode="constant")
    rows = window[first_cell(side, stride, margin) : side - margin : stride]
    return np.ascontiguousarray(rows, dtype=np.float32)
