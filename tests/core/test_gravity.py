"""What a device tells of gravity: a direction of few digits and how far it may be off."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput
from sfumato.core.gravity import Gravity, parse_direction


def test_no_more_of_the_sensor_is_told_than_three_digits() -> None:
    gravity = Gravity((0.123456789, 9.78123, -1.400021), error_deg=1.96)
    assert gravity.in_camera == (0.012, 0.99, -0.142)
    assert gravity.to_text() == "0.012,0.99,-0.142,2"
    assert Gravity.from_text(gravity.to_text()) == gravity


def test_rounding_is_far_below_the_error_of_a_phone() -> None:
    for direction in np.random.default_rng(0).normal(size=(1000, 3)):
        kept = np.array(Gravity(tuple(direction)).in_camera)
        cosine = kept @ direction / np.linalg.norm(kept) / np.linalg.norm(direction)
        assert math.degrees(math.acos(min(1.0, cosine))) < 0.06


def test_the_length_of_a_direction_does_not_matter() -> None:
    for scale in (1e-320, 1e-9, 9.81, 1e308):
        assert Gravity((0.0, scale, 0.0)) == Gravity((0, 1, 0))
    assert parse_direction("--up", "0,0,-4") == (0.0, 0.0, -1.0)


@pytest.mark.parametrize(
    "bad", [(0, 0, 0), (0, math.nan, 0), (math.inf, 0, 0), (0, 1), (0, 1, 0, 0), ("0", "1", "0")]
)
def test_what_is_no_direction_is_refused(bad: tuple[float, ...]) -> None:
    with pytest.raises(InvalidInput, match="gravity must be"):
        Gravity(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, 90, -2, 0.09, 20.1, math.nan, math.inf, True, "2"])
def test_an_error_that_no_sensor_has_is_refused(bad: float) -> None:
    with pytest.raises(InvalidInput, match="the error of gravity must be"):
        Gravity((0, 1, 0), bad)


@pytest.mark.parametrize(
    "text", ["", "0,1,0", "0,1,0,2,2", "a,b,c,d", "0;1;0;2", "0,1,0," + "2" * 200, "0,nan,0,2"]
)
def test_text_that_is_not_four_numbers_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="gravity must be"):
        Gravity.from_text(text)
