"""A map says when its images do not fit the focal lengths they came with."""

from __future__ import annotations

import re

import pytest

from server.mapping.worlds import BENT, PINHOLE, point_world
from sfumato.core.errors import InvalidInput
from sfumato.core.lens import focal_lengths, with_focal
from sfumato.core.types import Camera
from sfumato.server.mapping import build_map_from_features, describe_map
from sfumato.server.mapping.focal import fitting_cameras


@pytest.mark.parametrize("camera", [PINHOLE, BENT], ids=lambda camera: camera.model)
@pytest.mark.parametrize("factor", [0.8, 1.0, 1.11])
def test_known_poses_show_which_focal_length_the_images_have(camera: Camera, factor: float) -> None:
    scene = point_world(camera=camera, noise=0.3, clutter=100)
    given = with_focal(camera, factor)
    world = build_map_from_features(scene.features, cameras=given, poses=scene.poses)
    true = focal_lengths(camera)[0]
    assert focal_lengths(world.cameras[0])[0] == pytest.approx(true, rel=0.01)
    warnings = describe_map(world)["warnings"]
    if factor == 1:
        assert world.cameras == (camera,)
        assert warnings == []
    else:
        [sentence] = warnings
        fitted, deviation = re.findall(r"length of ([\d.]+) ± ([\d.]+) pixels", sentence)[0]
        assert abs(float(fitted) - true) < 3 * float(deviation) + 1
        assert f"given were {true * factor:.5g}" in sentence
        assert "\n" not in sentence


@pytest.mark.parametrize("factor", [1.0, 1.2])
def test_unknown_poses_show_it_too(factor: float) -> None:
    scene = point_world(num_images=8, noise=0.3)
    world = build_map_from_features(scene.features, cameras=with_focal(PINHOLE, factor))
    warnings = describe_map(world)["warnings"]
    if factor == 1:
        assert world.cameras == (PINHOLE,)
        assert warnings == []
    else:
        assert focal_lengths(world.cameras[0])[0] == pytest.approx(PINHOLE.params[0], rel=0.05)
        assert "the images fit a focal length" in warnings[0]


def test_too_few_matches_tell_nothing() -> None:
    scene = point_world(num_images=2, num_points=60)
    cameras = [with_focal(PINHOLE, 1.3)] * 2
    found = fitting_cameras(list(scene.features.values()), cameras, list(scene.poses.values()), {})
    assert found == (cameras, [])


def test_an_impossible_camera_makes_no_map() -> None:
    scene = point_world(num_images=3)
    outside = Camera("PINHOLE", PINHOLE.width, PINHOLE.height, (500.0, 500.0, 5000.0, 240.0))
    with pytest.raises(InvalidInput, match=r"principal point of the camera of 00\.png"):
        build_map_from_features(scene.features, cameras=outside, poses=scene.poses)
