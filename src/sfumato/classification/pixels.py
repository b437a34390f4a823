"""Pixels as codes: the plainest encoder, for comparison."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sfumato.classification.pictures import check_pictures, fixed_tags
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput


class PixelCodes(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Each pixel's range over the training pictures, cut into d equal steps [dcaconv, Fig. 3].

    No guarantee of its own: codes must pass randomized response before they are shared.

    num_values   d
    image_shape  (h, w) of pictures that come as rows; (1, −1) takes a row as one line of pixels
    """

    name: ClassVar[str] = "pixels"

    def __init__(
        self, num_values: int = 16, *, image_shape: tuple[int, int] | None = (1, -1)
    ) -> None:
        self.num_values = num_values
        self.image_shape = image_shape

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Learn the lowest and the highest value of each pixel; y is not used."""
        check_count("num_values", self.num_values, low=2, high=256)
        pictures = check_pictures(self, X, reset=True)
        self.low_, self.high_ = (
            np.asarray(edge(pictures, axis=0), dtype=np.float64) for edge in (np.min, np.max)
        )
        self.num_values_ = int(self.num_values)
        self.map_shape_ = (1, *self.picture_shape_)
        return self

    def transform(self, X: Any) -> NDArray[np.uint8]:  # noqa: N803
        """Codes (N, h·w); pixels beyond the learned range take its ends, constant ones 0."""
        check_is_fitted(self)
        pictures = check_pictures(self, X, reset=False)
        span = np.where(self.high_ > self.low_, self.high_ - self.low_, np.inf)
        codes = np.empty(pictures.shape, dtype=np.uint8)
        for start in range(0, len(pictures), 4096):
            share = np.clip((pictures[start : start + 4096] - self.low_) / span, 0, 1)
            codes[start : start + 4096] = np.rint(share * (self.num_values_ - 1))
        return codes.reshape(len(pictures), -1)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything `transform` needs, as plain arrays."""
        check_is_fitted(self)
        return {"low": self.low_, "high": self.high_, "num_values": np.array(self.num_values_)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The encoder that `to_arrays` described; anything else is refused."""
        try:
            low, high = (np.asarray(arrays[key], dtype=np.float64) for key in ("low", "high"))
            num_values = int(arrays["num_values"])
            fits = low.ndim == 2 and low.size > 0 and low.shape == high.shape
            fits = fits and 2 <= num_values <= 256 and bool(np.isfinite(low + high).all())
        except (KeyError, TypeError, ValueError):
            fits = False
        if not fits:
            raise InvalidInput("these arrays do not describe a PixelCodes encoder; fit a new one.")
        made = cls(num_values)
        made.low_, made.high_, made.num_values_ = low, high, num_values
        made.picture_shape_, made.n_features_in_ = low.shape, low.size
        made.map_shape_ = (1, *low.shape)
        return made

    def __sklearn_tags__(self) -> Any:
        return fixed_tags(super().__sklearn_tags__())
