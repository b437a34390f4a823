"""Pixels as codes: the plainest encoder, for comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.encoder import Arrays, Encoder, Shape, finite_array
from sfumato.core.checks import check_count


@dataclass(eq=False, repr=False)
class PixelCodes(Encoder):
    """Each pixel's range over the training pictures, cut into d equal steps [dcaconv, Fig. 3].

    Pixels beyond the range that was seen take its ends; pixels that were constant are 0.

    num_values   d
    image_shape  (h, w) of pictures that come as rows; (1, −1) takes a row as one line of pixels

    >>> PixelCodes(3).fit([[0, 5], [10, 7]]).transform([[0, 6], [4, 9]])
    array([[0, 1],
           [1, 2]], dtype=uint8)
    """

    name: ClassVar[str] = "pixels"

    num_values: int = 16
    image_shape: tuple[int, int] | None = field(default=(1, -1), kw_only=True)

    def _prepare(self, shape: Shape) -> None:
        self.num_values_ = check_count("num_values", self.num_values, low=2, high=256)
        self.map_shape_ = (1, *shape)

    def _learn(self, pictures: NDArray[Any], y: Any) -> None:
        self.low_, self.high_ = (
            np.asarray(edge(pictures, axis=0), dtype=np.float64) for edge in (np.min, np.max)
        )

    def _encode(self, pictures: NDArray[Any]) -> NDArray[Any]:
        span = np.where(self.high_ > self.low_, self.high_ - self.low_, np.inf)
        share = np.clip((pictures - self.low_) / span, 0, 1)
        return np.rint(share * (self.num_values_ - 1))[:, None]

    def _arrays(self) -> Arrays:
        return {"low": self.low_, "high": self.high_, "num_values": np.array(self.num_values_)}

    @classmethod
    def _from_arrays(cls, arrays: Arrays) -> tuple[Self, Shape]:
        made = cls(int(arrays["num_values"]))
        made.low_, made.high_ = (finite_array(arrays, key, 2) for key in ("low", "high"))
        if made.low_.shape != made.high_.shape:
            raise ValueError
        return made, made.low_.shape
