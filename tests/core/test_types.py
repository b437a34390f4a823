"""Doors: what the frozen types refuse, and what they never show."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sfumato.core.checks import check_epsilon
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.releases import SubspaceRelease
from sfumato.core.types import Camera, Pose, PrivacyEvent
from support import CAMERA, features_of, one_of_each_release

FEATURES = features_of(np.eye(5, dtype=np.float32))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"descriptors": np.full((5, 5), np.nan, dtype=np.float32)}, "finite, 25 of 25"),
        ({"descriptors": np.zeros((4, 5))}, r"shape \(5, any\), got \(4, 5\)"),
        ({"descriptors": np.zeros((5, 0))}, "at least one dimension"),
        ({"descriptors": np.array([["a"] * 2] * 5)}, "array of numbers"),
        ({"keypoints": np.full((5, 2), np.inf)}, "finite"),
        ({"keypoints": np.full((5, 2), 1e4)}, "5 of 5 do not"),
        ({"keypoints": np.zeros((5, 3))}, "shape"),
        ({"scores": np.zeros(4)}, "scores must have shape"),
        ({"image_size": (0, 10)}, "image width must be between"),
        ({"image_size": 640}, "width, height"),
        ({"image_size": (640.5, 480)}, "whole number"),
        ({"extractor": "../etc"}, "extractor must be a name"),
        ({"extractor": ""}, "extractor must be a name"),
    ],
)
def test_features_refuse_what_is_not_features(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        replace(FEATURES, **change)


def test_features_cannot_be_changed_afterwards() -> None:
    with pytest.raises(FrozenInstanceError):
        FEATURES.extractor = "sift"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        FEATURES.descriptors[0, 0] = 1


def test_what_was_pickled_or_copied_is_equal_and_as_frozen() -> None:
    for one in (FEATURES, *one_of_each_release().values()):
        for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
            assert again == one
            arrays = [value for value in vars(again).values() if isinstance(value, np.ndarray)]
            assert arrays
            assert not any(array.flags.writeable for array in arrays)


def test_nothing_prints_coordinates_or_descriptors() -> None:
    shown = [repr(FEATURES), *(repr(release) for release in one_of_each_release().values())]
    assert repr(FEATURES) == "Features(5 tiny keypoints, 5-D float32, 640×480)"
    for text in shown:
        assert "array" not in text
        assert "[[" not in text
        assert len(text) < 120


def test_equality_is_of_content() -> None:
    assert features_of(np.eye(5, dtype=np.float32)) == FEATURES
    assert replace(FEATURES, scores=np.zeros(5, dtype=np.float32)) != FEATURES
    assert FEATURES != 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("PINHOLE", 640, 480, (500.0, 500.0, 320.0)), "4 parameters, got 3"),
        (("FISH", 640, 480, (1.0,)), "one of SIMPLE_PINHOLE"),
        (("PINHOLE", 640, 480, (math.nan, 1.0, 1.0, 1.0)), "NaN"),
        (("PINHOLE", 640, 480, (math.inf, 1.0, 1.0, 1.0)), "finite"),
        (("PINHOLE", 640, 480, (-5.0, 1.0, 1.0, 1.0)), "positive"),
        (("PINHOLE", 0, 480, (5.0, 1.0, 1.0, 1.0)), "width"),
    ],
)
def test_cameras_refuse_what_cannot_project(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        Camera(*arguments)


def test_a_camera_of_another_size_is_refused() -> None:
    release = one_of_each_release()["words"]
    with pytest.raises(InvalidInput, match="scale the intrinsics"):
        replace(release, camera=replace(CAMERA, width=320))  # type: ignore[call-arg]


def test_bases_must_be_orthonormal() -> None:
    release = one_of_each_release()["subspaces"]
    assert isinstance(release, SubspaceRelease)
    for factor in (1.1, 0.0, 1e30):
        with pytest.raises(InvalidInput, match="orthonormal"):
            replace(release, bases=release.bases * np.float32(factor))


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, 1e9, math.inf, True, "1", None])
def test_epsilon_must_be_a_positive_number(epsilon: Any) -> None:
    with pytest.raises(InvalidInput, match="epsilon must be"):
        check_epsilon(epsilon)


def test_events_compose_over_units() -> None:
    event = PrivacyEvent("subset", 10.0, 1000, "one descriptor", ("positions",))
    assert event.picture_epsilon == 10_000
    assert event.is_private
    assert not PrivacyEvent("plain", math.inf, 3, "one descriptor", ()).is_private
    assert PrivacyEvent("plain", math.inf, 3, "one descriptor", ()).epsilon is None
    lifted = PrivacyEvent("lifting", None, 3, "one descriptor", ())
    assert lifted.picture_epsilon is None
    assert not lifted.is_private


def test_every_error_has_one_root() -> None:
    import sfumato.core.errors as errors

    kinds = [
        item
        for item in vars(errors).values()
        if isinstance(item, type) and item.__module__ == errors.__name__
    ]
    assert len(kinds) > 8
    assert all(issubclass(kind, SfumatoError) for kind in kinds)


def test_the_quaternion_of_a_pose_is_that_of_its_rotation() -> None:
    angles = np.random.default_rng(0).uniform(-np.pi, np.pi, (50, 3))
    turned = Rotation.from_rotvec([[0, 0, 0], [np.pi, 0, 0], [0, np.pi, 0], [0, 0, np.pi]])
    for one in (*Rotation.from_euler("xyz", angles), *turned):
        w, x, y, z = Pose(one.as_matrix(), np.zeros(3)).quaternion
        assert w >= 0
        assert np.allclose(Rotation.from_quat((x, y, z, w)).as_matrix(), one.as_matrix())


def test_poses_are_camera_from_world() -> None:
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    pose = Pose(turn, np.array([1.0, 2.0, 3.0]))
    assert np.allclose(pose.apply(pose.center[None]), 0)
    distance, degrees = pose.error_to(Pose(np.eye(3), -np.eye(3) @ pose.center))
    assert distance == pytest.approx(0, abs=1e-12)
    assert degrees == pytest.approx(90)
    for rotation in (2 * np.eye(3), -np.eye(3), np.full((3, 3), np.nan), np.eye(2)):
        with pytest.raises(InvalidInput):
            Pose(rotation, np.zeros(3))


@pytest.mark.parametrize("size", [1e200, 3e200, 1.5])
def test_a_matrix_too_large_for_a_rotation_is_refused_without_a_warning(size: float) -> None:
    for matrix in (np.full((3, 3), size), np.diag([size, -size, size]), np.eye(3) * size):
        with pytest.raises(InvalidInput, match="proper rotation"):
            Pose(matrix, np.zeros(3))
    mixed = np.array([[size, size, 0], [size, -size, 0], [0, 0, 1]])
    with pytest.raises(InvalidInput, match="proper rotation"):
        Pose(mixed, np.zeros(3))
