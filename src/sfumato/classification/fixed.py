"""Encoders that are the same for everybody: they note the size of a picture and learn nothing.

An encoder that is fitted on pictures gives something away about them. With these, a picture's
answers are all that leaves its device.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sfumato.classification.pictures import check_pictures, fixed_tags
from sfumato.core.checks import check_count
from sfumato.core.codes import MapShape

_MAX_SIDE = 4096


class FixedEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What is common: pictures (N, h, w) of values 0 … 255 → codes (N, m)."""

    map_shape_: MapShape
    #: Pictures encoded at a time.
    _block: ClassVar[int] = 4096

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Note the size of the pictures, and nothing else about them."""
        pictures = check_pictures(self, X, reset=True)
        self._prepare((pictures.shape[1], pictures.shape[2]))
        return self

    def transform(self, X: Any) -> NDArray[np.uint8]:  # noqa: N803
        """Codes, flattened from `map_shape_`."""
        check_is_fitted(self, "map_shape_")
        pictures = check_pictures(self, X, reset=False)
        codes = np.empty((len(pictures), *self.map_shape_), dtype=np.uint8)
        for start in range(0, len(pictures), self._block):
            part = slice(start, start + self._block)
            codes[part] = self._encode(pictures[part])
        return codes.reshape(len(pictures), -1)

    def _prepare(self, shape: tuple[int, int]) -> None:
        """Check the settings for pictures of this shape; set map_shape_ and num_values_."""
        raise NotImplementedError

    def _encode(self, pictures: NDArray[Any]) -> NDArray[Any]:
        """Codes (N, *map_shape_) of some pictures."""
        raise NotImplementedError

    def _restored(self, height: int, width: int) -> Self:
        """As after a fit on pictures of this size."""
        check_count("picture height", height, low=1, high=_MAX_SIDE)
        check_count("picture width", width, low=1, high=_MAX_SIDE)
        self._prepare((height, width))
        self.picture_shape_, self.n_features_in_ = (height, width), height * width
        return self

    def __sklearn_tags__(self) -> Any:
        return fixed_tags(super().__sklearn_tags__())
