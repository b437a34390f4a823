"""COLMAP's models, whole or damaged, and the features they were made from."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pycolmap
import pytest

from server.mapping.worlds import BENT, point_world
from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch, SfumatoError
from sfumato.features import FeatureWriter
from sfumato.server.mapping import Map, build_map_from_features, import_map
from sfumato.server.mapping.model_files import read_model


@pytest.fixture(scope="module")
def world() -> Map:
    scene = point_world(num_images=3, num_points=80, camera=BENT, noise=0.2, clutter=5)
    return build_map_from_features(scene.features, cameras=BENT, poses=scene.poses)


def write_model(world: Map, folder: Path, *, text: bool = False) -> Path:
    """The map as COLMAP's own code writes it."""
    model = pycolmap.Reconstruction()
    for row, camera in enumerate(world.cameras):
        model.add_camera_with_trivial_rig(
            pycolmap.Camera(
                model=camera.model,
                width=camera.width,
                height=camera.height,
                params=list(camera.params),
                camera_id=row + 7,
            )
        )
    for row, name in enumerate(world.image_names):
        image = pycolmap.Image(
            name=name,
            keypoints=np.asarray(world.keypoints[world.features_of(row)], dtype=float) + 0.5,
            camera_id=int(world.camera_of_image[row]) + 7,
            image_id=row + 3,
        )
        pose = np.hstack([world.rotations[row], world.translations[row][:, None]])
        model.add_image_with_trivial_frame(image, pycolmap.Rigid3d(pose))
    for point, xyz in enumerate(world.points):
        track = pycolmap.Track()
        for feature in np.flatnonzero(world.point_of_feature == point):
            seen_by = int(world.image_of(np.array([feature]))[0])
            track.add_element(seen_by + 3, int(feature - world.feature_start[seen_by]))
        model.add_point3D(xyz, track)
    folder.mkdir()
    (model.write_text if text else model.write_binary)(folder)
    return folder


def write_features(world: Map, path: Path, *, extractor: str = "sift") -> Path:
    scene = point_world(num_images=3, num_points=80, camera=BENT, noise=0.2, clutter=5)
    with FeatureWriter(path, extractor=extractor) as writer:
        for name, features in scene.features.items():
            writer.add(name, replace(features, extractor=extractor))
    return path


@pytest.mark.parametrize("text", [False, True], ids=["binary", "text"])
def test_a_model_and_its_features_give_the_same_map(world: Map, tmp_path: Path, text: bool) -> None:
    model = write_model(world, tmp_path / "model", text=text)
    again = import_map(model, write_features(world, tmp_path / "f.h5"))
    assert again.image_names == world.image_names
    assert again.extractor == "sift"
    for name in ("keypoints", "descriptors", "feature_start", "camera_of_image"):
        assert np.array_equal(getattr(again, name), getattr(world, name))
    np.testing.assert_allclose(again.rotations, world.rotations, atol=1e-12)
    np.testing.assert_allclose(again.translations, world.translations, atol=1e-12)
    np.testing.assert_allclose(again.points, world.points, atol=1e-9)
    assert np.array_equal(again.point_of_feature, world.point_of_feature)
    assert [camera.model for camera in again.cameras] == ["OPENCV"]
    np.testing.assert_allclose(again.cameras[0].params, BENT.params)


def test_features_of_another_run_are_told_by_the_name_of_the_image(
    world: Map, tmp_path: Path
) -> None:
    model = write_model(world, tmp_path / "model")
    path = write_features(world, tmp_path / "f.h5")
    scene = point_world(num_images=3, num_points=80, camera=BENT, noise=0.2, clutter=5)
    first = scene.features["01.png"]
    shifted = replace(first, keypoints=np.clip(first.keypoints + 3, 0, 479))
    changed = {
        "fewer.h5": (first.take(np.arange(10)), r"01\.png has \d+ keypoints in the model and 10"),
        "moved.h5": (shifted, r"01\.png lie up to"),
        "larger.h5": (replace(first, image_size=(800, 600)), r"01\.png has 640×480"),
    }
    for name, (features, reason) in changed.items():
        with FeatureWriter(tmp_path / name, extractor="sift") as writer:
            for image, item in scene.features.items():
                writer.add(image, features if image == "01.png" else item)
        with pytest.raises(Mismatch, match=reason):
            import_map(model, tmp_path / name)
    with FeatureWriter(tmp_path / "absent.h5", extractor="sift") as writer:
        writer.add("00.png", scene.features["00.png"])
    with pytest.raises(Mismatch, match=r"2 of the model's 3 images, the first is 01\.png"):
        import_map(model, tmp_path / "absent.h5")
    with pytest.raises(Mismatch, match="holds sift features, rootsift"):
        import_map(model, path, extractor="rootsift")
    with pytest.raises(InvalidInput, match="no features file"):
        import_map(model, tmp_path / "none.h5")


def test_hlocs_files_need_the_name_of_the_extractor(world: Map, tmp_path: Path) -> None:
    model = write_model(world, tmp_path / "model")
    path = tmp_path / "hloc.h5"
    with h5py.File(path, "w") as file:
        for row, name in enumerate(world.image_names):
            group = file.create_group(name)
            group["keypoints"] = world.keypoints[world.features_of(row)]
            group["descriptors"] = world.descriptors[world.features_of(row)].T
            group["image_size"] = np.array([640, 480])
    with pytest.raises(InvalidInput, match="does not say which extractor"):
        import_map(model, path)
    again = import_map(model, path, extractor="sift")
    assert np.array_equal(again.point_of_feature, world.point_of_feature)


@pytest.mark.parametrize("text", [False, True], ids=["binary", "text"])
def test_a_damaged_model_is_refused_and_never_hangs(world: Map, tmp_path: Path, text: bool) -> None:
    model = write_model(world, tmp_path / "model", text=text)
    rng = np.random.default_rng(0)
    for name in ("cameras", "images", "points3D"):
        path = model / (name + (".txt" if text else ".bin"))
        whole = path.read_bytes()
        body = whole.rindex(b"#") if text else 0
        for cut in rng.integers(body + 40 if text else 0, len(whole) - 30, 15):
            path.write_bytes(whole[:cut])
            if not text:
                with pytest.raises(DamagedFile):
                    read_model(model)
            else:  # a text file cut between two lines is shorter, but not wrong in itself
                try_to_read(model)
        for _ in range(30):
            flipped = bytearray(whole)
            flipped[rng.integers(0, len(whole))] ^= 1 << int(rng.integers(0, 8))
            path.write_bytes(flipped)
            try_to_read(model)
        path.write_bytes(whole)
    assert len(read_model(model).images) == 3


def try_to_read(model: Path) -> None:
    """Read, or refuse with one of our errors; anything else fails the test."""
    with suppress(SfumatoError):
        read_model(model)


def test_models_that_are_not_there_or_too_small_are_refused(world: Map, tmp_path: Path) -> None:
    features = write_features(world, tmp_path / "f.h5")
    with pytest.raises(InvalidInput, match="not a COLMAP model"):
        import_map(tmp_path, features)
    model = write_model(world, tmp_path / "model", text=True)
    lines = (model / "images.txt").read_text().splitlines()
    body = [line for line in lines if not line.startswith("#")]
    (model / "images.txt").write_text("\n".join(body[:2]) + "\n")
    with pytest.raises(InvalidInput, match="at least two images"):
        import_map(model, features)


def test_references_to_nothing_are_damage(world: Map, tmp_path: Path) -> None:
    model = write_model(world, tmp_path / "model", text=True)
    points = (model / "points3D.txt").read_text()
    (model / "points3D.txt").write_text("")
    with pytest.raises(DamagedFile, match="points that are not there"):
        read_model(model)
    (model / "points3D.txt").write_text(points)
    (model / "cameras.txt").write_text("9 PINHOLE 640 480 500 500 320 240\n")
    with pytest.raises(DamagedFile, match="a camera that is not there"):
        read_model(model)
    (model / "cameras.txt").write_text("7 FOV 640 480 500 500 320 240 1\n")
    with pytest.raises(DamagedFile, match="FOV is not understood"):
        read_model(model)
    (model / "cameras.txt").write_text("7 PINHOLE 640 480 nan 500 320 240\n")
    with pytest.raises(DamagedFile, match="camera parameter"):
        read_model(model)
