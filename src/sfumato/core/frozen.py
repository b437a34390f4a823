"""What the frozen types share: equality over arrays, read-only copies, checks of their fields."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count, check_finite, check_shape
from sfumato.core.errors import InvalidInput

MAX_IMAGE_SIDE = 65_536

_EXTRACTOR_NAME = re.compile(r"[a-z0-9][a-z0-9+_.-]{0,23}")


class Frozen:
    """Equality over array fields, for frozen dataclasses declared with eq=False."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            _same(getattr(self, field.name), getattr(other, field.name))
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]

    def _set(self, name: str, value: Any) -> None:
        """Store a normalised field of a frozen dataclass, while it is being made."""
        object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What was pickled or copied is as frozen as the original: NumPy forgets that."""
        vars(self).update({name: read_only(value) for name, value in state.items()})


def read_only(value: Any) -> Any:
    """The same value; an array, and arrays in a dict or tuple, can no longer be written."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, dict):
        for item in value.values():
            read_only(item)
    elif isinstance(value, tuple):
        for item in value:
            read_only(item)
    return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return False  # one of them is None; NumPy would compare element by element
    return bool(a == b)


def frozen_array(name: str, values: Any, dtype: Any) -> NDArray[Any]:
    """A contiguous, read-only copy of values; refused if they are no array of numbers."""
    try:
        with np.errstate(over="ignore"):  # what becomes infinite is refused in one sentence
            array = np.array(values, dtype=dtype, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} must be an array of numbers: {error}.") from None
    check_finite(name, array)
    array.flags.writeable = False
    return array


def check_image_size(image_size: Any) -> tuple[int, int]:
    """Return (width, height) as two ints."""
    try:
        width, height = image_size
    except (TypeError, ValueError):
        raise InvalidInput("image_size must be (width, height).") from None
    return (
        check_count("image width", width, low=1, high=MAX_IMAGE_SIDE),
        check_count("image height", height, low=1, high=MAX_IMAGE_SIDE),
    )


def check_extractor_name(name: Any) -> str:
    """Return the name of an extractor: short, lower case, safe in a header and a path."""
    if not isinstance(name, str) or not _EXTRACTOR_NAME.fullmatch(name):
        raise InvalidInput(
            "extractor must be a name of 1 to 24 lower-case letters, digits or + _ . -, "
            f"got {name!r}."
        )
    return name


def check_keypoints(keypoints: NDArray[Any], image_size: tuple[int, int]) -> None:
    """Refuse positions outside the picture; half a pixel of slack lies at each border."""
    check_shape("keypoints", keypoints, (None, 2))
    width, height = image_size
    inside = (keypoints >= -1).all(axis=1)
    inside &= (keypoints[:, 0] <= width) & (keypoints[:, 1] <= height)
    if not inside.all():
        raise InvalidInput(
            f"keypoints must lie inside the {width}×{height} picture, "
            f"{int((~inside).sum())} of {len(keypoints)} do not; "
            "give the size of the picture they were found in."
        )
