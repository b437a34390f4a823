"""Edges of the types and of the exact odds, where a sign or a step of one would go unnoticed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sfumato.core.codes import Codes, code_type
from sfumato.core.errors import InvalidInput
from sfumato.core.odds import Coin, exp_bounds, response_coin, subset_coin
from sfumato.core.releases import CandidateRelease, CodeRelease, PlainRelease, WordRelease
from sfumato.core.types import CAMERA_MODELS, Camera, Localization, Pose, PrivacyEvent

ONE_FOCAL = {"SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL"}


@pytest.mark.parametrize("model", CAMERA_MODELS)
def test_focal_lengths_are_positive_and_nothing_else_has_to_be(model: str) -> None:
    focals = 1 if model in ONE_FOCAL else 2
    rest = CAMERA_MODELS[model] - focals
    camera = Camera(model, 640, 480, (0.25,) * focals + (-3.0,) * rest)
    assert camera.params == (0.25,) * focals + (-3.0,) * rest
    for wrong in range(focals):
        for value in (0.0, -1.0):
            params = [500.0] * focals + [1.0] * rest
            params[wrong] = value
            with pytest.raises(InvalidInput, match="focal length must be positive"):
                Camera(model, 640, 480, tuple(params))


def test_camera_parameters_become_a_tuple_of_floats() -> None:
    given: Any = [500, np.float32(2.5), 3]
    params = Camera("SIMPLE_PINHOLE", 4, 4, given).params
    assert params == (500.0, 2.5, 3.0)
    assert [type(value) for value in params] == [float] * 3


def test_rotations_may_be_off_by_rounding_and_by_no_more() -> None:
    Pose(np.eye(3) * (1 - 1e-8), np.zeros(3))
    with pytest.raises(InvalidInput, match="proper rotation"):
        Pose(np.eye(3) * (1 + 1e-5), np.zeros(3))
    with pytest.raises(InvalidInput, match="translation must have shape"):
        Pose(np.eye(3), np.zeros(4))
    given: Any = [1, 2, 3]
    pose = Pose(np.eye(3), given)
    assert pose.translation.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        pose.translation[0] = 5


@pytest.mark.parametrize("degrees", [0.0, 30.0, 90.0, 180.0])
def test_the_error_of_a_rotation_is_its_angle(degrees: float) -> None:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    turned = Pose(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), np.zeros(3))
    rounded = Pose(np.eye(3) * (1 + 2e-7), np.array([3.0, 0, 4.0]))  # cosines beyond ±1
    distance, angle = rounded.error_to(turned)
    assert angle == pytest.approx(degrees, abs=0.1)
    assert distance == pytest.approx(5.0, rel=1e-6)


def test_a_localization_without_a_pose_is_none() -> None:
    assert not Localization(None, 3, 10, 0.0, "too few").localized
    assert Localization(Pose(np.eye(3), np.zeros(3)), 30, 100, -20.0).localized


def test_an_event_costs_something_or_has_no_guarantee() -> None:
    assert PrivacyEvent("m", 0.5, 0, "u", ()).picture_epsilon == 0
    assert PrivacyEvent("m", 0.5, 3, "u", ()).picture_epsilon == 1.5
    assert PrivacyEvent("m", None, 3, "u", ()).picture_epsilon is None
    for epsilon, units in ((0.0, 1), (-1.0, 1), (math.nan, 1), (1.0, -1)):
        with pytest.raises(InvalidInput):
            PrivacyEvent("m", epsilon, units, "u", ())


@pytest.mark.parametrize("epsilon", [1e-10, 1e-13, 1e-16, 1e-20, 1e-60])
@pytest.mark.parametrize("num_words", [3, 1 << 24])
def test_the_smallest_epsilons_hold_in_both_directions(epsilon: float, num_words: int) -> None:
    low, _ = exp_bounds(epsilon)
    keep = subset_coin(epsilon, num_words, 2).probability
    ratio = keep / (1 - keep) * (num_words - 2) / 2
    assert 1 / low <= ratio <= low
    keep = response_coin(epsilon, num_words).probability
    assert keep > 0
    assert (keep + (1 - keep) / num_words) / ((1 - keep) / num_words) <= low


def test_a_chance_that_no_coin_can_show_is_refused() -> None:
    with pytest.raises(InvalidInput, match="more than 8192 random bits"):
        subset_coin(1.0, 1 << 8300, 1)
    with pytest.raises(InvalidInput, match="use a larger epsilon"):
        response_coin(5e-324, 3)  # e^ε cannot be told from 1 in eighty digits


def test_coins_that_never_and_always_show_heads() -> None:
    assert Coin(0).probability == 0
    assert Coin(1 << 64).probability == 1
    assert Coin(1 << 128, 128).probability == 1
    assert response_coin(math.inf, 10) == subset_coin(math.inf, 10, 2) == Coin(1 << 64)
    for bits in (-64, 0, 32, 65):
        with pytest.raises(InvalidInput, match="multiples of 64"):
            Coin(0, bits)


@pytest.mark.parametrize(
    ("num_values", "expected"),
    [(2, np.uint8), (256, np.uint8), (257, np.uint16), (65_536, np.uint16), (65_537, np.uint32)],
)
def test_codes_are_kept_in_the_smallest_type(num_values: int, expected: Any) -> None:
    assert code_type(num_values) is expected
    codes = Codes(values=np.array([[num_values - 1]]), num_values=num_values, num_positions=1)
    assert codes.values.dtype == expected
    assert codes.values[0, 0] == num_values - 1


def test_codes_need_two_values_and_one_position() -> None:
    for values, positions in ((1, 1), (2, 0), (0, 1)):
        with pytest.raises(InvalidInput, match="num_"):
            Codes(values=np.zeros((1, 1), int), num_values=values, num_positions=positions)


def test_codes_travel_with_the_places_they_have() -> None:
    all_of_them = Codes(values=np.array([[1, 0, 1]]), num_values=2, num_positions=3, epsilon=1.0)
    (release,) = all_of_them.releases()
    assert release.positions.tolist() == [0, 1, 2]
    assert not release.reproducible
    places = np.array([[0, 2]])
    some = Codes(values=np.array([[1, 1]]), positions=places, num_values=2, num_positions=3)
    (release,) = some.releases()
    assert release.positions.tolist() == [0, 2]
    assert all_of_them != some
    told = Codes(
        values=all_of_them.values,
        positions=np.array([[0, 1, 2]]),
        num_values=2,
        num_positions=3,
        epsilon=1.0,
    )
    assert all_of_them != told  # None is no array
    none = Codes(
        values=np.zeros((1, 0), int), positions=np.zeros((1, 0), int), num_values=2, num_positions=3
    )
    assert none.picture_epsilon == 0
    assert all_of_them.picture_epsilon == 3


def plain(**changes: Any) -> PlainRelease:
    given: dict[str, Any] = {
        "keypoints": np.zeros((1, 2)),
        "image_size": (10, 5),
        "extractor": "sift",
        "descriptors": np.zeros((1, 2), np.uint8),
    }
    return PlainRelease(**{**given, **changes})


def test_a_release_checks_its_picture_its_positions_and_its_sizes() -> None:
    for keypoint in ([11, 2], [2, 6], [-2, 2], [2, -2]):
        with pytest.raises(InvalidInput, match="inside the 10×5 picture"):
            plain(keypoints=np.array([keypoint], dtype=float))
    with pytest.raises(InvalidInput, match="image width"):
        plain(image_size=(0, 5))
    plain(descriptors=np.zeros((1, 16_384), np.uint8))
    with pytest.raises(InvalidInput, match="descriptor dimension must be between 1 and 16384"):
        plain(descriptors=np.zeros((1, 16_385), np.uint8))


def test_positions_are_clipped_to_the_centres_of_the_outer_pixels() -> None:
    border = plain(keypoints=np.array([[10.0, 5.0]]))
    assert border.keypoints.tolist() == [[9.0, 4.0]]
    assert plain(keypoints=np.array([[-1.0, -0.3]])).keypoints.tolist() == [[0.0, 0.0]]


def test_the_mark_of_a_seeded_release_is_a_plain_truth_value() -> None:
    mark: Any = np.True_
    assert plain(reproducible=mark).reproducible is True


@pytest.mark.parametrize(
    ("num_words", "fits"), [(1, False), (2, True), (1 << 24, True), ((1 << 24) + 1, False)]
)
def test_dictionaries_have_2_to_16777216_words(num_words: int, fits: bool) -> None:
    def make() -> WordRelease:
        return WordRelease(
            keypoints=np.zeros((1, 2), np.float32),
            image_size=(10, 5),
            extractor="sift",
            words=np.array([[0]], np.uint32),
            num_words=num_words,
            dictionary="ab" * 32,
            epsilon=1.0,
        )

    if fits:
        assert make().num_words == num_words
    else:
        with pytest.raises(InvalidInput, match="num_words must be between 2 and 16777216"):
            make()


@pytest.mark.parametrize(
    ("codes", "positions", "sentence"),
    [
        ([0, 5], [0, 6], "codes must lie between 0 and 4"),
        ([-1, 4], [0, 6], "codes must lie between 0 and 4"),
        ([0, 4], [0, 7], "positions must lie between 0 and 6"),
        ([0, 4], [-1, 6], "positions must lie between 0 and 6"),
        ([0, 4], [6, 0], "strictly increasing"),
        ([0, 4], [3, 3], "strictly increasing"),
        ([0, 4], [0], "of one length"),
        ([0.0, 4.0], [0, 6], "whole numbers"),
        ([[0, 4]], [0, 6], "codes must"),
    ],
)
def test_codes_lie_among_their_values_and_positions(
    codes: Any, positions: Any, sentence: str
) -> None:
    def made(codes: Any, positions: Any) -> CodeRelease:
        return CodeRelease(
            codes=np.array(codes),
            positions=np.array(positions),
            num_values=5,
            num_positions=7,
            epsilon=1.0,
            encoder="tiny",
        )

    assert made([0, 4], [0, 6]).codes.tolist() == [0, 4]
    with pytest.raises(InvalidInput, match=sentence):
        made(codes, positions)


@pytest.mark.parametrize(
    ("candidates", "sentence"),
    [
        ([[[1, 2], [1, 1]]], "strictly increasing"),  # an order of its own could tell the true one
        ([[[1, 2], [1, 2]]], "strictly increasing"),
        ([[1, 2]], "candidates must"),
        ([[[1, 2]], [[1, 2]]], "candidates must"),
        (np.zeros((1, 0, 2)), "subset_size"),
        (np.zeros((1, 1, 0)), "dimension"),
    ],
)
def test_candidates_are_ordered_and_of_one_shape(candidates: Any, sentence: str) -> None:
    def made(candidates: Any) -> CandidateRelease:
        return CandidateRelease(
            candidates=np.array(candidates, dtype=np.uint8),
            epsilon=1.0,
            keypoints=np.ones((1, 2), dtype=np.float32),
            image_size=(10, 5),
            extractor="tiny",
        )

    assert made([[[1, 1], [1, 2]]]).subset_size == 2
    with pytest.raises(InvalidInput, match=sentence):
        made(candidates)
