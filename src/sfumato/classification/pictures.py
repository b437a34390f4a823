"""Pictures as the encoders take them: (N, h, w), or rows of h·w pixels with a shape given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from sfumato.core.errors import InvalidInput, Mismatch


def check_pictures(encoder: Any, pictures: Any, *, reset: bool) -> NDArray[Any]:
    """Return (N, h, w) of finite numbers; a fitted encoder takes pictures of one size only.

    With reset the size is learned (`picture_shape_`), otherwise compared.
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


def _shape_of_rows(encoder: Any, length: int, *, reset: bool) -> tuple[int, int]:
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


def picture_tags(tags: Any) -> Any:
    """What scikit-learn should know about an encoder of pictures."""
    tags.input_tags.three_d_array = True
    tags.transformer_tags.preserves_dtype = []  # codes, whatever came
    tags.target_tags.required = True
    return tags


def fixed_tags(tags: Any) -> Any:
    """The same for an encoder that needs no labels."""
    tags = picture_tags(tags)
    tags.target_tags.required = False
    return tags
