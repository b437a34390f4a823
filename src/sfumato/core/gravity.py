"""Which way is down: what a device with an accelerometer may tell a server beside a release."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sfumato.core.checks import as_number
from sfumato.core.errors import InvalidInput

Direction = tuple[float, float, float]

#: Where it travels: beside a release, not in it. Addresses are logged by many, headers are not.
GRAVITY_HEADER = "Sfumato-Gravity"
#: Sent in the clear where a device tells gravity; see NOT_PROTECTED for the rest.
TILT = "how the camera was tilted (gravity)"
#: Errors of gravity that a device may state, in degrees; phones at rest are off by 1 to 3.
LEAST_ERROR, MOST_ERROR = 0.1, 20.0
_DIGITS = 3  # of a unit vector: a twentieth of a degree, below the error of any phone
_LONGEST = 100


@dataclass(frozen=True)
class Gravity:
    """Which way is down in the camera, as a device at rest measures it.

    in_camera  a direction of any length: x to the right, y down in the upright picture, z into the
               scene. A camera held level has (0, 1, 0), one that looks at the floor (0, 0, 1). It
               is kept as a unit vector of three digits: no more of the sensor is told
    error_deg  its standard deviation in degrees, 0.1 to 20; phones at rest are off by 1 to 3

    No ε covers it: it tells how the camera was tilted, to whom it is sent.

    >>> sf.Gravity((0, 9.7, 1.4), error_deg=2)
    Gravity(in_camera=(0.0, 0.99, 0.143), error_deg=2.0)
    """

    in_camera: Direction
    error_deg: float = 2.0

    def __post_init__(self) -> None:
        x, y, z = unit_direction("gravity", self.in_camera)
        short = (round(x, _DIGITS) + 0.0, round(y, _DIGITS) + 0.0, round(z, _DIGITS) + 0.0)
        object.__setattr__(self, "in_camera", short)
        error = as_number("the error of gravity", self.error_deg)
        if not LEAST_ERROR <= error <= MOST_ERROR:
            raise InvalidInput(
                f"the error of gravity must be from {LEAST_ERROR:g} to {MOST_ERROR:g} degrees, got "
                f"{error:g}; phones at rest are off by 1 to 3."
            )
        object.__setattr__(self, "error_deg", round(error, 1))

    def to_text(self) -> str:
        """As it travels: x,y,z,error."""
        return ",".join(f"{value:g}" for value in (*self.in_camera, self.error_deg))

    @staticmethod
    def from_text(text: str) -> Gravity:
        """What `to_text` wrote; everything else is refused."""
        *direction, error = parse_numbers("gravity", text, 4, "x,y,z,error in degrees")
        return Gravity((direction[0], direction[1], direction[2]), error)


def parse_direction(name: str, text: str) -> Direction:
    """A direction from "x,y,z", as a unit vector."""
    return unit_direction(name, parse_numbers(name, text, 3, "x,y,z"))


def parse_numbers(name: str, text: str, count: int, form: str) -> list[float]:
    """So many numbers with commas between."""
    try:
        values = [float(part) for part in text[:_LONGEST].split(",")]
    except ValueError:
        values = []
    if len(values) != count or len(text) > _LONGEST:
        raise InvalidInput(f"{name} must be {count} numbers, {form}; got something else.")
    return values


def unit_direction(name: str, values: Iterable[Any]) -> Direction:
    """Three finite numbers, not all zero, as a unit vector."""
    numbers = [as_number(name, value) for value in values]
    largest = max(map(abs, numbers), default=0.0)
    if len(numbers) != 3 or not 0 < largest < math.inf:
        raise InvalidInput(f"{name} must be three finite numbers x, y, z, not all zero.")
    x, y, z = (value / largest for value in numbers)  # squares of the largest floats overflow
    length = math.hypot(x, y, z)
    return (x / length, y / length, z / length)
