"""Worlds of one map that get in each other's way are reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from server.mapping.worlds import PINHOLE, point_world, write_scene
from sfumato.server.mapping import Map, build_map_from_features, build_map_from_scenes, describe_map
from sfumato.server.mapping.overlap import image_groups, places_held_twice


def two_scenes(shift: float) -> Map:
    """Two places in one folder, each with poses in coordinates of its own."""
    parts = [point_world(num_images=3, num_points=150, seed=seed) for seed in (1, 2)]
    features, poses = {}, {}
    for name, part in zip("ab", parts, strict=True):
        for image, pose in part.poses.items():
            features[f"{name}{image}"] = part.features[image]
            away = np.array([shift if name == "b" else 0.0, 0.0, 0.0])
            poses[f"{name}{image}"] = replace(
                pose, translation=pose.translation - pose.rotation @ away
            )
    return build_map_from_features(features, cameras=PINHOLE, poses=poses)


def test_two_scenes_in_one_space_are_reported_in_one_sentence() -> None:
    world = two_scenes(0.0)
    assert [group.tolist() for group in image_groups(world)] == [[0, 1, 2], [3, 4, 5]]
    [sentence] = describe_map(world)["warnings"]
    assert "a00.png" in sentence
    assert "b00.png" in sentence
    assert "share no point and yet lie in one space" in sentence
    assert "\n" not in sentence


def test_scenes_apart_and_images_that_belong_together_are_not_reported() -> None:
    assert describe_map(two_scenes(50.0))["warnings"] == []
    scene = point_world(num_images=4)
    world = build_map_from_features(scene.features, cameras=PINHOLE, poses=scene.poses)
    assert len(image_groups(world)) == 1
    assert describe_map(world)["warnings"] == []


def test_one_place_in_two_folders_is_reported(tmp_path: Path) -> None:
    folders = [write_scene(tmp_path / name, num_images=4) for name in ("one", "two")]
    world = build_map_from_scenes(folders)
    [sentence] = describe_map(world)["warnings"]
    assert "images of two that were looked for in one are found there" in sentence
    other = point_world(num_images=4, seed=3)
    parts = {
        "here": build_map_from_features(other.features, cameras=PINHOLE, poses=other.poses),
        "there": two_scenes(50.0),
    }
    assert places_held_twice(parts) == []
