"""The checks at the doors, at their very edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.core.checks import as_number, check_count, check_epsilon, check_finite, check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.frozen import MAX_IMAGE_SIDE, check_image_size, check_keypoints
from sfumato.core.types import Pose


@pytest.mark.parametrize("epsilon", [1e-300, 0.5, 1, 64, 64.0, np.float32(2.0), np.int64(3)])
def test_epsilon_above_0_and_up_to_64_is_taken(epsilon: float) -> None:
    assert check_epsilon(epsilon) == float(epsilon)


@pytest.mark.parametrize("allow_infinite", [False, True])
@pytest.mark.parametrize("epsilon", [0, 0.0, -1e-300, -1, -math.inf, 64.000001, 65, 1e9])
def test_every_other_epsilon_is_refused(epsilon: float, allow_infinite: bool) -> None:
    with pytest.raises(InvalidInput, match="epsilon must be above 0 and at most 64"):
        check_epsilon(epsilon, allow_infinite=allow_infinite)


def test_an_infinite_epsilon_is_taken_only_where_it_is_allowed() -> None:
    assert check_epsilon(math.inf, allow_infinite=True) == math.inf
    with pytest.raises(InvalidInput, match="choose a smaller one"):
        check_epsilon(math.inf)


@pytest.mark.parametrize(
    ("epsilon", "allow_infinite", "advice"),
    [
        (65, True, "use epsilon=inf"),
        (65, False, "choose a smaller one"),
        (0, False, "would send nothing"),
        (-1, True, "choose a positive number"),
    ],
)
def test_a_refused_epsilon_comes_with_advice(
    epsilon: float, allow_infinite: bool, advice: str
) -> None:
    with pytest.raises(InvalidInput, match=advice):
        check_epsilon(epsilon, allow_infinite=allow_infinite)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, math.nan, np.nan, 1j, [1.0]])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="must be a number"):
        as_number("x", value)


def test_counts_include_both_ends() -> None:
    assert [check_count("n", value, low=1, high=3) for value in (1, 2, 3)] == [1, 2, 3]
    for value in (0, 4, -1):
        with pytest.raises(InvalidInput, match="between 1 and 3"):
            check_count("n", value, low=1, high=3)
    with pytest.raises(InvalidInput, match="at least 1, got 0; because"):
        check_count("n", 0, low=1, why="because")
    for odd in (True, 1.0, "1", np.True_):
        with pytest.raises(InvalidInput, match="whole number"):
            check_count("n", odd, low=0)


def test_values_that_are_not_finite_are_counted() -> None:
    with pytest.raises(InvalidInput, match="2 of 5 values"):
        check_finite("x", np.array([0.0, math.nan, 1.0, math.inf, 2.0]))
    check_finite("x", np.array([1, 2, 3]))


def test_shapes_are_compared_length_by_length() -> None:
    array = np.zeros((2, 3))
    check_shape("x", array, (2, 3))
    check_shape("x", array, (None, 3))
    for shape in ((3, 3), (2, 2), (2,), (2, 3, 1), (None, None, None)):
        with pytest.raises(InvalidInput, match="must have shape"):
            check_shape("x", array, shape)


def test_pictures_have_sides_between_1_and_65536() -> None:
    assert check_image_size((1, 1)) == (1, 1)
    assert MAX_IMAGE_SIDE == 65_536
    assert check_image_size((65_536, 65_536)) == (65_536, 65_536)
    for size in ((0, 5), (5, 0), (65_537, 5), (5, 65_537), (5,), (1, 2, 3), None):
        with pytest.raises(InvalidInput):
            check_image_size(size)


def test_each_coordinate_is_held_against_its_own_side() -> None:
    check_keypoints(np.array([[-1.0, -1.0], [100.0, 50.0]]), (100, 50))
    for outside in ([101.0, 10.0], [10.0, 51.0], [60.0, 60.0], [-1.5, 5.0], [5.0, -1.5]):
        with pytest.raises(InvalidInput, match="inside the 100×50 picture, 1 of 1"):
            check_keypoints(np.array([outside]), (100, 50))


def test_a_mirror_or_a_sheared_matrix_is_no_rotation() -> None:
    for wrong in (np.diag([1.0, 1.0, -1.0]), np.eye(3) + 1e-3, 2 * np.eye(3)):
        with pytest.raises(InvalidInput, match="proper rotation"):
            Pose(wrong, np.zeros(3))
