"""What all encoders share: pictures (N, h, w) in, codes (N, m) out, and their arrays for a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from sfumato.core.codes import Codes, MapShape, code_type
from sfumato.core.errors import InvalidInput, Mismatch

#: Channels that OpenCV filters at once; rows of 28 pixels of them stay in a core's first cache.
MAX_CHANNELS = 64

Arrays = dict[str, NDArray[Any]]
Shape = tuple[int, int]


@dataclass(eq=False, repr=False)
class Encoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pictures → codes, in scikit-learn's contract.

    image_shape  (h, w) of pictures that come as rows; one of them may be −1

    Fitted: num_values_ (d), map_shape_ (channels, h′, w′) whose product is m, picture_shape_.

    An encoder has no guarantee of its own: codes must pass `RandomizedResponse` before they
    are shared. One that learns from pictures gives something away about them.
    """

    name: ClassVar[str]  # in files and on the command line
    needs_labels: ClassVar[bool] = False
    _block: ClassVar[int] = 4096  # pictures encoded at a time

    image_shape: tuple[int, int] | None = field(default=None, kw_only=True)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Note the size of pictures X, and learn from them and their classes y where needed."""
        pictures = check_pictures(self, X, reset=True)
        self._prepare(self.picture_shape_)
        self._learn(pictures, y)
        return self

    def transform(self, X: Any) -> NDArray[np.unsignedinteger[Any]]:  # noqa: N803
        """Codes in {0, …, d − 1}, flattened from `map_shape_`."""
        check_is_fitted(self, "map_shape_")
        pictures = check_pictures(self, X, reset=False)
        codes = np.empty((len(pictures), *self.map_shape_), dtype=code_type(self.num_values_))
        for start in range(0, len(pictures), self._block):
            block = slice(start, start + self._block)
            codes[block] = self._encode(pictures[block])
        return codes.reshape(len(pictures), -1)

    @property
    def cell_shape(self) -> MapShape:
        """(channels, height, width) of what learners take; of the cells where some were joined."""
        shape: MapShape = self.map_shape_
        return shape

    def separate(self, codes: Codes) -> Codes:
        """Codes as learners take them: the same, unless several cells were joined to one code."""
        return codes

    def to_arrays(self) -> Arrays:
        """Everything `transform` needs, as plain arrays."""
        check_is_fitted(self, "map_shape_")
        return self._arrays()

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The encoder that `to_arrays` described; anything else is refused."""
        try:
            made, (height, width) = cls._from_arrays(arrays)
            made.picture_shape_, made.n_features_in_ = (height, width), height * width
            made._prepare((height, width))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InvalidInput(
                f"these arrays do not describe a {cls.__name__} encoder; make a new one."
            ) from None
        return made

    def _prepare(self, shape: Shape) -> None:
        """Check the settings for pictures of this shape; set map_shape_ and num_values_."""
        raise NotImplementedError

    def _learn(self, pictures: NDArray[Any], y: Any) -> None:
        """Learn from pictures; nothing for an encoder that needs no training data."""

    def _encode(self, pictures: NDArray[Any]) -> NDArray[Any]:
        """Codes (N, *map_shape_) of at most `_block` pictures."""
        raise NotImplementedError

    def _arrays(self) -> Arrays:
        raise InvalidInput(f"no file format is defined for {type(self).__name__}.")

    @classmethod
    def _from_arrays(cls, arrays: Arrays) -> tuple[Self, tuple[int, int]]:
        """An encoder with what it learned, and the (h, w) of its pictures."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = []  # codes, whatever came
        tags.target_tags.required = self.needs_labels
        return tags


def check_pictures(encoder: Encoder, pictures: Any, *, reset: bool) -> NDArray[Any]:
    """Return (N, h, w) of finite numbers; a fitted encoder takes pictures of one size only.

    With reset the size is learned (`picture_shape_`), otherwise compared. Rows of h·w pixels are
    taken where the encoder has an `image_shape`.
    """
    if isinstance(pictures, list | tuple):
        if len({np.shape(picture) for picture in pictures}) > 1:
            raise InvalidInput(
                "pictures must all have the same size, got several; cut or scale them to one size."
            )
        pictures = np.asarray(pictures)
    try:
        if getattr(pictures, "ndim", 2) == 3:
            array = check_array(pictures, allow_nd=True, dtype="numeric")
        else:
            rows = validate_data(encoder, pictures, dtype="numeric", reset=reset)
            array = rows.reshape(len(rows), *_shape_of_rows(encoder, rows.shape[1], reset=reset))
    except InvalidInput:
        raise
    except ValueError as error:
        raise InvalidInput(f"these are no pictures: {' '.join(str(error).split())}") from None
    if 0 in array.shape:
        raise InvalidInput(f"pictures must not be empty, got shape {array.shape}.")
    shape = array.shape[1:]
    if reset:
        encoder.picture_shape_ = shape
        encoder.n_features_in_ = shape[0] * shape[1]
    elif shape != encoder.picture_shape_:
        height, width = encoder.picture_shape_
        raise Mismatch(
            f"pictures must have {height}×{width} pixels as those of the fit, "
            f"got {shape[0]}×{shape[1]}."
        )
    return np.asarray(array)


def _shape_of_rows(encoder: Encoder, length: int, *, reset: bool) -> Shape:
    wanted = encoder.image_shape if reset else encoder.picture_shape_
    if wanted is None:
        raise InvalidInput(
            f"pictures must have shape (N, h, w), got rows of {length} pixels; "
            "reshape them or give image_shape=(h, w)."
        )
    try:
        height, width = np.empty(length, dtype=np.bool_).reshape(wanted).shape
    except (TypeError, ValueError):
        raise InvalidInput(
            f"image_shape must be (h, w) with h·w = {length} pixels, got {wanted!r}."
        ) from None
    return height, width


def filter_all(
    pictures: NDArray[Any], apply: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[Any]:
    """An OpenCV filter on pictures (h, w, N), which it takes as channels of one; (h, w, N) out."""
    blocks = [
        apply(np.ascontiguousarray(pictures[:, :, start : start + MAX_CHANNELS]))
        for start in range(0, pictures.shape[2], MAX_CHANNELS)
    ]
    return np.concatenate([np.atleast_3d(block) for block in blocks], axis=2)


def finite_array(arrays: Arrays, name: str, num_axes: int, dtype: Any = np.float64) -> NDArray[Any]:
    """An array of a file as numbers; ValueError where it is not finite or has other axes."""
    array = np.asarray(arrays[name], dtype=dtype)
    if array.ndim != num_axes or not array.size or not np.isfinite(array).all():
        raise ValueError(name)
    return array
