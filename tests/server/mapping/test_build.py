"""Maps from features and from pictures, with poses and without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from server.mapping.worlds import (
    BENT,
    PINHOLE,
    SMALL,
    features_at,
    look_at,
    point_world,
    render_views,
)
from sfumato.core.errors import InvalidInput, Mismatch, UnreadableImage
from sfumato.core.lens import project
from sfumato.core.types import Camera, Pose
from sfumato.server.mapping import Map, build_map, build_map_from_features, describe_map
from sfumato.server.mapping.assemble import reprojection_errors


@pytest.fixture(scope="module")
def views() -> tuple[dict[str, NDArray[np.uint8]], dict[str, Pose]]:
    return render_views()


def shape_error(world: Map, truth: dict[str, Pose]) -> float:
    """Spread of the distances between cameras over the true ones: 0 for the same shape."""
    found = np.array([world.pose(image).center for image in range(world.num_images)])
    true = np.array([truth[name].center for name in world.image_names])
    rows, columns = np.triu_indices(len(found), 1)
    ratio = np.linalg.norm(found[rows] - found[columns], axis=1)
    ratio /= np.linalg.norm(true[rows] - true[columns], axis=1)
    return float(ratio.std() / ratio.mean())


@pytest.mark.parametrize("camera", [PINHOLE, BENT], ids=lambda camera: camera.model)
def test_known_poses_give_the_true_points_and_stay_as_they_are(camera: Camera) -> None:
    scene = point_world(camera=camera, noise=0.3, clutter=150)
    world = build_map_from_features(scene.features, cameras=camera, poses=scene.poses)
    assert world.image_names == tuple(scene.features)
    assert world.cameras == (camera,)
    for image, name in enumerate(world.image_names):
        assert np.array_equal(world.rotations[image], scene.poses[name].rotation)
        assert np.array_equal(world.translations[image], scene.poses[name].translation)
    truth = np.concatenate(list(scene.truth.values()))
    rows = world.observations()
    right = truth[rows] >= 0
    assert right.mean() > 0.999
    away = world.points[world.point_of_feature[rows[right]]] - scene.points[truth[rows[right]]]
    assert np.median(np.linalg.norm(away, axis=1)) < 0.02
    figures = describe_map(world)
    assert figures["points"] > 270
    assert figures["observations"] == len(rows)
    assert figures["mean_reprojection_error_px"] < 0.5
    assert reprojection_errors(world).max() < 4.5
    assert world.facts["method"] == "known poses"


def test_features_alone_give_the_shape_of_the_world() -> None:
    scene = point_world(noise=0.3, num_images=6)
    world = build_map_from_features(scene.features, cameras=PINHOLE)
    assert world.image_names == tuple(scene.features)
    assert shape_error(world, scene.poses) < 0.02
    assert world.cameras == (PINHOLE,)  # given cameras are not refined
    assert world.facts["focal_lengths_from"] == {"given": 6, "exif": 0, "guess": 0}


def test_a_map_survives_its_folder(tmp_path: Path) -> None:
    scene = point_world(num_images=3)
    world = build_map_from_features(scene.features, cameras=scene.cameras, poses=scene.poses)
    world.save(tmp_path / "map")
    again = Map.load(tmp_path / "map")
    for name in ("points", "rotations", "keypoints", "descriptors", "point_of_feature"):
        assert np.array_equal(getattr(world, name), getattr(again, name))
    assert again.facts == world.facts
    assert again.image_names == world.image_names
    assert describe_map(again) == describe_map(world)


def test_pictures_with_poses_become_a_map(
    views: tuple[dict[str, NDArray[np.uint8]], dict[str, Pose]],
) -> None:
    pictures, poses = views
    world = build_map(list(pictures.items()), cameras=SMALL, poses=poses)
    figures = describe_map(world)
    assert figures["images"] == 7
    assert figures["points"] > 150
    assert figures["mean_track_length"] > 2.5
    assert figures["mean_reprojection_error_px"] < 1.0
    # The walls stand between 4 and 11 units before the cameras.
    assert ((world.points[:, 2] > 4) & (world.points[:, 2] < 11)).mean() > 0.95
    again = build_map(list(pictures.items()), cameras=SMALL, poses=poses)
    assert np.array_equal(world.points, again.points)


def test_pictures_alone_become_a_map(
    views: tuple[dict[str, NDArray[np.uint8]], dict[str, Pose]], tmp_path: Path
) -> None:
    pictures, poses = views
    for name, pixels in pictures.items():
        Image.fromarray(pixels).save(tmp_path / name)
    Image.fromarray(np.zeros((240, 320, 3), dtype=np.uint8)).save(tmp_path / "blank.png")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    world = build_map(tmp_path)
    assert world.image_names == tuple(pictures)
    assert shape_error(world, poses) < 0.1
    assert describe_map(world)["mean_reprojection_error_px"] < 1.0
    assert world.facts["unregistered"] == ["blank.png"]
    assert [name for name, _ in world.facts["unreadable"]] == ["broken.png"]
    assert world.facts["focal_lengths_from"] == {"given": 0, "exif": 0, "guess": 8}
    assert world.cameras[0].params[0] == pytest.approx(280, rel=0.25)
    with pytest.raises(UnreadableImage, match=r"broken\.png"):
        build_map(tmp_path, strict=True)


def test_held_out_images_stay_out_and_listed_pairs_are_the_only_ones(
    views: tuple[dict[str, NDArray[np.uint8]], dict[str, Pose]], tmp_path: Path
) -> None:
    pictures, poses = views
    (tmp_path / "pairs.txt").write_text(
        "view0.png view1.png\nview1.png view2.png\nview3.png view0.png\n"
    )
    world = build_map(
        list(pictures.items()),
        cameras=SMALL,
        poses=poses,
        pairs=tmp_path / "pairs.txt",
        hold_out=lambda name: name == "view3.png",
    )
    assert "view3.png" not in world.image_names
    assert world.facts["held_out"] == ["view3.png"]
    assert world.facts["pairs"] == 2
    seen = {int(image) for image in world.image_of(world.observations())}
    assert seen == {0, 1, 2}


def test_extraction_goes_on_where_it_stopped(
    views: tuple[dict[str, NDArray[np.uint8]], dict[str, Pose]], tmp_path: Path
) -> None:
    pictures, poses = views
    folder, work = tmp_path / "pictures", tmp_path / "work"
    folder.mkdir()
    for name, pixels in pictures.items():
        Image.fromarray(pixels).save(folder / name)
    known: dict[str, Any] = {"cameras": SMALL, "poses": poses, "work": work}

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "extracting" and done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_map(folder, **known, progress=stop)
    told: list[int] = []
    world = build_map(
        folder,
        **known,
        progress=lambda stage, done, total: told.append(total) if stage == "extracting" else None,
    )
    assert max(told) < len(pictures)
    fresh = build_map(folder, cameras=SMALL, poses=poses)
    assert np.array_equal(world.points, fresh.points)
    with pytest.raises(Mismatch, match="other pictures"):
        build_map(tmp_path, work=work, cameras=SMALL)


def test_bad_requests_are_one_clear_sentence() -> None:
    scene = point_world(num_images=3, num_points=60)
    features, cameras, poses = scene.features, scene.cameras, scene.poses
    one = {name: features[name] for name in list(features)[:1]}
    extra = {**poses, "absent.png": poses["00.png"]}
    fewer = {name: poses[name] for name in list(poses)[:2]}
    wrong_size = Camera("PINHOLE", 641, 480, PINHOLE.params)
    other = {**features, "00.png": replace(features["00.png"], extractor="rootsift")}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"features": one}, "at least two images that see the same points, got 1"),
        ({"features": {}}, "got 0"),
        ({"poses": extra, "cameras": cameras}, r"missing, the first is absent\.png"),
        ({"poses": fewer, "cameras": cameras}, r"needs a pose.*the first is 02\.png"),
        ({"poses": poses}, "every image needs a camera"),
        ({"poses": poses, "cameras": {"00.png": PINHOLE}}, r"camera, 2 of 3.*01\.png"),
        ({"cameras": {"other.png": PINHOLE}}, "cameras are given for 1 images that are missing"),
        ({"poses": poses, "cameras": wrong_size}, r"00\.png is for 641×480"),
        ({"features": other}, "one extractor"),
        ({"pairs": [("00.png", "nobody.png")]}, "nobody"),
        ({"seed": -1}, "seed"),
    ]
    for changes, reason in cases:
        with pytest.raises(InvalidInput, match=reason):
            build_map_from_features(**{"features": features, **changes})


def test_images_of_different_things_make_no_map() -> None:
    a = point_world(num_images=2, num_points=60, seed=1)
    b = point_world(num_images=2, num_points=60, seed=2)
    strangers = {"a.png": a.features["00.png"], "b.png": b.features["01.png"]}
    poses = {"a.png": a.poses["00.png"], "b.png": b.poses["01.png"]}
    with pytest.raises(InvalidInput, match=r"looks like another|triangulated"):
        build_map_from_features(strangers, cameras=PINHOLE, poses=poses)
    with pytest.raises(InvalidInput, match=r"looks like another|could be placed"):
        build_map_from_features(strangers, cameras=PINHOLE)


def test_pictures_from_one_place_make_no_map() -> None:
    scene = point_world(num_images=1)
    rng = np.random.default_rng(0)
    turned = {}
    for number in range(4):
        pose = look_at([0, 0, 0], [0.3 * number, 0.1 * number, 6])
        shown = pose.apply(scene.points)
        pixels = project(PINHOLE, shown)
        inside = (pixels >= 0).all(axis=1) & (pixels <= (639, 479)).all(axis=1)
        words = np.random.default_rng(9).integers(0, 120, (len(pixels), 128))[inside]
        noisy = np.clip(words + rng.integers(-3, 4, words.shape), 0, 255)
        turned[f"{number}.png"] = features_at(pixels[inside], noisy, PINHOLE)
    with pytest.raises(InvalidInput, match="pictures from different places"):
        build_map_from_features(turned, cameras=PINHOLE)


def test_wrong_poses_make_no_map() -> None:
    scene = point_world(num_images=2)
    away = {"00.png": look_at([0, 0, 0], [0, 0, -1]), "01.png": look_at([9, 5, 0], [9, 5, -1])}
    with pytest.raises(InvalidInput, match="matches fit the poses"):
        build_map_from_features(scene.features, cameras=PINHOLE, poses=away)


def test_names_of_images_must_differ(
    views: tuple[dict[str, NDArray[np.uint8]], dict[str, Pose]],
) -> None:
    pixels = views[0]["view0.png"]
    with pytest.raises(InvalidInput, match="2 images have 1 names"):
        build_map([("a", pixels), ("a", pixels)])
    with pytest.raises(InvalidInput, match="extractor must be one of"):
        build_map([("a", pixels), ("b", pixels)], extractor="surf")
