"""Scene folders, and several worlds in one map."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from server.mapping.worlds import PINHOLE, point_world, write_scene
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.server.mapping import (
    Map,
    build_map_from_features,
    build_map_from_scenes,
    join_maps,
    moved,
    read_scene,
)
from sfumato.server.mapping.assemble import reprojection_errors


def small_map(seed: int) -> Map:
    scene = point_world(num_images=3, num_points=80, noise=0.2, seed=seed)
    return build_map_from_features(scene.features, cameras=PINHOLE, poses=scene.poses)


def test_joined_worlds_lie_far_apart_and_see_what_they_saw() -> None:
    parts = {"east": small_map(1), "west": small_map(2)}
    world = join_maps(parts)
    east = len(parts["east"].points)
    assert world.image_names[0] == "east/00.png"
    assert world.image_names[3] == "west/00.png"
    assert len(world.points) == east + len(parts["west"].points)
    assert world.points[east:, 0].min() - world.points[:east, 0].max() >= 1000
    np.testing.assert_allclose(
        reprojection_errors(world),
        np.concatenate([reprojection_errors(part) for part in parts.values()]),
        atol=1e-6,
    )
    assert len(world.cameras) == 1  # the same camera took both
    # A pose of a scene, held out or not, is brought into the joined world by its offset.
    offset = world.facts["scenes"][1]["offset"]
    there = moved(parts["west"].pose(2), offset)
    assert np.allclose(there.translation, world.pose(5).translation)
    assert np.allclose(there.center, parts["west"].pose(2).center + offset)


def test_maps_of_two_extractors_are_not_joined() -> None:
    first = small_map(1)
    second = replace(first, extractor="rootsift")
    with pytest.raises(Mismatch, match="rootsift, sift"):
        join_maps({"a": first, "b": second})


def test_scenes_become_one_map_without_what_is_held_out(tmp_path: Path) -> None:
    folders = [write_scene(tmp_path / name, num_images=4) for name in ("one", "two")]
    world = build_map_from_scenes(folders, hold_out=lambda name: name == "two/view1.png")
    assert len(world.image_names) == 7
    assert "one/view1.png" in world.image_names
    assert "two/view1.png" not in world.image_names
    one, two = world.facts["scenes"]
    assert (one["name"], two["name"]) == ("one", "two")
    assert two["held_out"] == ["view1.png"]
    assert two["offset"][0] >= 1000
    assert reprojection_errors(world).mean() < 1.0


def test_a_scene_that_does_not_fit_its_cameras_is_refused(tmp_path: Path) -> None:
    folder = write_scene(tmp_path / "scene", num_images=3)
    content = json.loads((folder / "cameras.json").read_text())
    (folder / "images" / "view2.png").unlink()
    with pytest.raises(InvalidInput, match=r"images that are missing, the first is view2\.png"):
        build_map_from_scenes([folder])
    del content["view2.png"]
    del content["view1.png"]["K"]
    (folder / "cameras.json").write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match=r"needs a camera, 1 of 2.*view1\.png"):
        build_map_from_scenes([folder])
    del content["view1.png"]
    (folder / "cameras.json").write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match=r"needs a pose, 1 of 2.*view1\.png"):
        build_map_from_scenes([folder])


def test_folders_are_read_as_they_are(tmp_path: Path) -> None:
    scene = read_scene(write_scene(tmp_path / "scene", num_images=2, with_poses=False))
    assert (scene.name, scene.images) == ("scene", tmp_path / "scene" / "images")
    assert scene.cameras is None
    assert scene.poses is None
    assert read_scene(scene.images).images == scene.images
    with pytest.raises(InvalidInput, match="no folder"):
        read_scene(tmp_path / "absent")
    with pytest.raises(InvalidInput, match="different names"):
        build_map_from_scenes([tmp_path / "scene", tmp_path / "scene"])
    with pytest.raises(InvalidInput, match="at least one folder"):
        build_map_from_scenes([])
