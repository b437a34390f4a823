"""Options that take several values with commas between."""

from __future__ import annotations

import math

from sfumato.core.errors import InvalidInput


def names(text: str) -> tuple[str, ...]:
    items = tuple(item.strip() for item in text.split(",") if item.strip())
    if not items:
        raise InvalidInput("a list of values must not be empty.")
    return items


def number(option: str, text: str) -> float:
    try:
        value = float(text)
        if math.isnan(value) or (math.isinf(value) and "inf" not in text.lower()):
            raise ValueError
        return value
    except ValueError:
        raise InvalidInput(
            f"--{option} must be numbers with commas between, got {text!r}."
        ) from None


def whole_number(option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(
            f"--{option} must be whole numbers with commas between, got {text!r}."
        ) from None


def camera_scale(text: str) -> float | None:
    """How many times as large as their intrinsics say pictures are; None: found by their sizes."""
    return None if text == "auto" else number("camera-scale", text)


def numbers(option: str, text: str) -> tuple[float, ...]:
    return tuple(number(option, item) for item in names(text))


def whole_numbers(option: str, text: str) -> tuple[int, ...]:
    return tuple(whole_number(option, item) for item in names(text))
