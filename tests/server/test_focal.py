"""Wrong intrinsics do not give a confident wrong pose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput
from sfumato.core.lens import check_possible, focal_lengths, with_focal
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Camera, Localization, Pose
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.server import accuracy
from sfumato.server.accuracy import off_center_warning
from sfumato.server.focal import FocalCheck
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map
from sfumato.server.pose import Estimate
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, Room, make_map, make_room, pose_at

ROOM = make_room()
WORLD = make_map(ROOM, MAPPING_POSES)
POSE = pose_at(0.7, 0.1, 0.8, turn_deg=5, roll_deg=4)


def asked(camera: Camera, room: Room = ROOM, world: Map = WORLD) -> Localization:
    features, _ = room.look(POSE, seed=1)
    mechanism = SubsetMechanism(8.0, 1, DICTIONARY)
    release = mechanism.release(features, rng=SeededRandom(0), camera=camera)
    return localize(release, world, dictionary=DICTIONARY)


@pytest.mark.parametrize("factor", [0.65, 0.9, 1.05, 1.5])
def test_a_wrong_focal_length_is_found_said_and_replaced(factor: float) -> None:
    found = asked(with_focal(CAMERA, factor))
    assert found.pose is not None
    assert found.camera is not None
    assert focal_lengths(found.camera)[0] == pytest.approx(480, rel=0.01)
    assert found.warning is not None
    assert f"{480 * factor:.5g} pixels" in found.warning
    assert "±" in found.warning
    assert found.pose.error_to(POSE)[0] < 0.1


def test_the_right_focal_length_is_left_as_it_is() -> None:
    found = asked(CAMERA)
    assert found.localized
    assert found.camera is None
    assert found.warning is None


def test_a_picture_of_one_wall_says_that_it_cannot_tell_the_focal_length() -> None:
    points = np.array(ROOM.points)
    points[:, 2] = 6.0
    flat = replace(ROOM, points=points)
    straight = [pose_at(x, y, 0.0) for x in (-2, 0, 2) for y in (-0.3, 0.3)]
    features, _ = flat.look(pose_at(0.5, 0.0, 0.0), seed=1)
    release = SubsetMechanism(8.0, 1, DICTIONARY).release(
        features, rng=SeededRandom(0), camera=with_focal(CAMERA, 1.3)
    )
    found = localize(release, make_map(flat, straight), dictionary=DICTIONARY)
    assert found.warning is not None
    assert "does not tell whether the focal length" in found.warning


def test_where_another_focal_length_fits_as_well_the_expected_error_covers_both_poses() -> None:
    found = asked(CAMERA)
    assert found.pose is not None
    away = Pose(found.pose.rotation, found.pose.translation + np.array([0.0, 0.0, 1.5]))

    def both(estimate: Estimate, *_: object) -> FocalCheck:
        return FocalCheck(estimate, None, "two fit", other=away)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accuracy, "check_focal", both)
        unsure = asked(CAMERA)
    assert unsure.warning == "two fit"
    assert found.error is not None
    assert unsure.error is not None
    assert found.error.position < 0.1
    assert unsure.error.position >= 1.5


def test_a_principal_point_far_from_the_middle_is_said() -> None:
    found = asked(replace(CAMERA, params=(480.0, 480.0, 220.0, 240.0)))
    assert found.pose is None or found.warning is not None
    assert off_center_warning(CAMERA) is None
    moved = off_center_warning(replace(CAMERA, params=(480.0, 480.0, 220.0, 240.0)))
    assert moved is not None
    assert "cut from a larger one" in moved


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ((480.0, 480.0, 900.0, 240.0), "principal point"),
        ((480.0, 480.0, 320.0, -40.0), "principal point"),
        ((20.0, 20.0, 320.0, 240.0), "focal length"),
        ((1e5, 1e5, 320.0, 240.0), "focal length"),
        ((480.0, 1500.0, 320.0, 240.0), "alike"),
    ],
)
def test_impossible_cameras_are_refused_in_one_sentence(
    params: tuple[float, ...], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence) as told:
        asked(replace(CAMERA, params=params))
    assert str(told.value).count(". ") == 0


def test_cameras_that_exist_are_not_refused() -> None:
    for camera in (
        Camera("OPENCV_FISHEYE", 1000, 1000, (320.0, 320.0, 500.0, 500.0, 0.1, 0.0, 0.0, 0.0)),
        Camera("SIMPLE_PINHOLE", 6000, 4000, (100_000.0, 3000.0, 2000.0)),  # 600 mm
        Camera("SIMPLE_PINHOLE", 640, 480, (500.0, 10.0, 470.0)),  # cut out of a larger picture
    ):
        check_possible(camera)
    with pytest.raises(InvalidInput, match="distortion"):
        check_possible(Camera("SIMPLE_RADIAL", 640, 480, (500.0, 320.0, 240.0, 2e3)))
