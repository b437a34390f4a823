"""Checks at the public doors: one sentence pattern for everything that is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch

#: Above this, e^ε says nothing a person could use; ε = ∞ says the same honestly.
MAX_EPSILON = 64.0


def check_epsilon(epsilon: float, *, allow_infinite: bool = False) -> float:
    """Return epsilon as a float in (0, MAX_EPSILON], or ∞ where that is allowed."""
    value = as_number("epsilon", epsilon)
    if math.isinf(value) and value > 0 and allow_infinite:
        return value
    if not 0 < value <= MAX_EPSILON:
        advice = (
            "use epsilon=inf (no protection, marked as such)"
            if allow_infinite and value > MAX_EPSILON
            else "choose a smaller one"
            if value > MAX_EPSILON
            else "a guarantee of zero would send nothing about the picture"
            if value == 0
            else "choose a positive number"
        )
        raise InvalidInput(
            f"epsilon must be above 0 and at most {MAX_EPSILON:g}, got {epsilon!r}; {advice}."
        )
    return value


def as_number(name: str, value: Any) -> float:
    """Return value as a float; booleans, text, NaN and what no float can hold are refused."""
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        raise InvalidInput(f"{name} must be a number, got {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidInput(f"{name} must be a number, got {_shown(value)}.") from None
    if math.isnan(number):
        raise InvalidInput(f"{name} must be a number, got NaN.")
    return number


def check_count(name: str, value: Any, *, low: int, high: int | None = None, why: str = "") -> int:
    """Return value as an int with low ≤ value ≤ high."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InvalidInput(
            f"{name} must be a whole number, got {value!r} ({type(value).__name__})."
        )
    if value < low or (high is not None and value > high):
        span = f"at least {low}" if high is None else f"between {low} and {high}"
        tail = f"; {why}" if why else ""
        raise InvalidInput(f"{name} must be {span}, got {_shown(value)}{tail}.")
    return int(value)


def _shown(value: Any) -> str:
    """A number for a message; one of thousands of digits helps nobody and cannot be printed."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"a whole number of {value.bit_length():,} bits"
    return f"{value!r}"


def check_choice(name: str, value: str, choices: Iterable[str], *, otherwise: str = "") -> str:
    """Return value if it is one of the choices; otherwise: what to do if none of them fits."""
    known = tuple(choices)
    if value not in known:
        tail = f"; {otherwise}" if otherwise else ""
        raise InvalidInput(f"{name} must be one of {', '.join(known)}, got {value!r}{tail}.")
    return value


def check_finite(name: str, array: NDArray[Any]) -> None:
    """Refuse NaN and infinities in a floating-point array."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int(array.size - np.count_nonzero(np.isfinite(array)))
        raise InvalidInput(
            f"{name} must be finite, {bad} of {array.size} values are NaN or infinite; "
            "remove or repair those rows first."
        )


def check_shape(name: str, array: NDArray[Any], shape: tuple[int | None, ...]) -> None:
    """Refuse an array whose shape differs from `shape`; None stands for any length."""
    fits = array.ndim == len(shape) and all(
        want is None or have == want for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise InvalidInput(f"{name} must have shape ({wanted}), got {array.shape}.")


def check_same_extractor(holder: str, extractor: str, other: str, others_extractor: str) -> None:
    """Refuse two things made with different extractors; `holder` and `other` name them."""
    if others_extractor != extractor:
        raise Mismatch(
            f"{holder} holds {extractor!r} features, {other} {others_extractor!r}; use one "
            "extractor for both."
        )


def check_indices(name: str, values: Any, limit: int) -> NDArray[Any]:
    """Return an array of integers in {0, …, limit − 1}; everything else is refused."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise InvalidInput(f"{name} must be whole numbers, got {array.dtype}.")
    if array.size and not (array.min() >= 0 and array.max() < limit):
        raise InvalidInput(
            f"{name} must lie between 0 and {limit - 1}, some of {array.size} do not."
        )
    return array


def check_fingerprint(text: Any) -> str:
    """Return a SHA-256 fingerprint as 64 lower-case hexadecimal digits."""
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]{64}", text):
        raise InvalidInput("a fingerprint must be 64 lower-case hexadecimal digits.")
    return text
