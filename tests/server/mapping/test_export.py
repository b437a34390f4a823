"""COLMAP opens what a map is written as, and importing it gives the map back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pycolmap
import pytest

from server.mapping.worlds import BENT, point_world
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import Plain
from sfumato.features import list_feature_names
from sfumato.server.mapping import Map, build_map_from_features, import_map
from sfumato.server.mapping.assemble import reprojection_errors
from sfumato.server.mapping.database import export_matches
from sfumato.server.mapping.export import export_map
from sfumato.server.mapping.model_files import read_model
from sfumato.server.mapping.model_write import point_errors

ARRAYS = ("points", "translations", "keypoints", "descriptors", "feature_start", "camera_of_image",
          "point_of_feature")  # fmt: skip


@pytest.fixture(scope="module")
def world() -> Map:
    scene = point_world(num_images=4, num_points=120, camera=BENT, noise=0.3, clutter=5)
    return build_map_from_features(scene.features, cameras=BENT, poses=scene.poses)


@pytest.mark.parametrize("layout", ["colmap", "colmap-text"])
def test_colmap_opens_the_export_and_its_errors_are_ours(
    world: Map, tmp_path: Path, layout: str
) -> None:
    export_map(world, tmp_path / "out", layout)
    model = pycolmap.Reconstruction(tmp_path / "out")
    assert model.num_images() == world.num_images
    assert model.num_points3D() == len(world.points)
    theirs = []
    for image in range(world.num_images):
        found = model.images[image + 1]
        assert found.name == world.image_names[image]
        for point in found.points2D:
            if point.has_point3D():
                seen = found.project_point(model.points3D[point.point3D_id].xyz)
                assert seen is not None
                theirs.append(np.linalg.norm(np.asarray(seen) - point.xy))
    assert np.abs(np.array(theirs) - reprojection_errors(world)).max() < 1e-6
    stored = [model.points3D[number + 1].error for number in range(len(world.points))]
    assert np.allclose(stored, point_errors(world), atol=1e-9)


def test_hlocs_files_give_the_same_map_again(world: Map, tmp_path: Path) -> None:
    export_map(world, tmp_path / "out", "hloc")
    assert set(list_feature_names(tmp_path / "out/features.h5")) == set(world.image_names)
    again = import_map(tmp_path / "out/sfm", tmp_path / "out/features.h5")
    for name in ARRAYS:
        assert np.array_equal(getattr(again, name), getattr(world, name)), name
    assert np.abs(again.rotations - world.rotations).max() < 1e-15
    assert again.cameras == world.cameras
    assert again.image_names == world.image_names
    assert again.extractor == world.extractor
    # A third trip changes nothing any more: the quaternion's rounding happens once.
    export_map(again, tmp_path / "twice", "hloc")
    third = import_map(tmp_path / "twice/sfm", tmp_path / "twice/features.h5")
    assert np.abs(third.rotations - again.rotations).max() < 1e-15


def test_text_and_binary_say_the_same(world: Map, tmp_path: Path) -> None:
    for layout in ("colmap", "colmap-text"):
        export_map(world, tmp_path / layout, layout)
    one, other = (read_model(tmp_path / layout) for layout in ("colmap", "colmap-text"))
    assert one.cameras == other.cameras
    assert np.array_equal(one.points, other.points)
    for a, b in zip(one.images, other.images, strict=True):
        assert np.array_equal(a.xy, b.xy)
        assert np.array_equal(a.point_ids, b.point_ids)
        assert a.pose == b.pose


def test_a_model_with_rigs_is_read_as_images_with_poses(world: Map, tmp_path: Path) -> None:
    """COLMAP itself writes rigs.bin and frames.bin beside the export, with two cameras on a rig."""
    scene = pycolmap.SyntheticDatasetOptions()
    scene.num_rigs, scene.num_cameras_per_rig, scene.num_frames_per_rig = 1, 2, 3
    scene.num_points3D = 50
    model = pycolmap.synthesize_dataset(scene)
    (tmp_path / "rigs").mkdir()
    model.write_binary(tmp_path / "rigs")
    assert (tmp_path / "rigs/rigs.bin").is_file()
    read = read_model(tmp_path / "rigs")
    assert len(read.images) == 6
    truth = {image.name: image.cam_from_world() for image in model.images.values()}
    for image in read.images:
        assert np.allclose(image.pose.rotation, truth[image.name].rotation.matrix(), atol=1e-9)
        assert np.allclose(image.pose.translation, truth[image.name].translation, atol=1e-9)


def test_points_and_cameras_become_ply(world: Map, tmp_path: Path) -> None:
    export_map(world, tmp_path / "out", "ply", poses=[world.pose(0)])
    points = (tmp_path / "out/points.ply").read_bytes()
    head, body = points.split(b"end_header\n")
    assert f"element vertex {len(world.points)}\n".encode() in head
    rows = np.frombuffer(body, dtype=[("xyz", "<f8", 3), ("rgb", "u1", 3)])
    assert np.array_equal(rows["xyz"], world.points)
    cameras = (tmp_path / "out/cameras.ply").read_bytes()
    assert f"element vertex {5 * (world.num_images + 1)}\n".encode() in cameras
    assert f"element edge {8 * (world.num_images + 1)}\n".encode() in cameras


def test_nothing_is_written_over_and_unknown_formats_are_refused(
    world: Map, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="format must be one of"):
        export_map(world, tmp_path / "out", "e57")
    (tmp_path / "there").mkdir()
    with pytest.raises(InvalidInput, match="exists already"):
        export_map(world, tmp_path / "there")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there"]


def test_matches_of_releases_become_a_database_colmap_maps_from(tmp_path: Path) -> None:
    scene = point_world(num_images=4, num_points=150)
    camera = next(iter(scene.cameras.values()))
    releases = {
        name.removesuffix(".png"): Plain().release(item, rng=SeededRandom(1), camera=camera)
        for name, item in scene.features.items()
    }
    facts = export_matches(releases, tmp_path / "database.db")
    assert facts["matched_pairs"] == 6
    database = pycolmap.Database.open(tmp_path / "database.db")
    try:
        assert database.num_images() == 4
        assert database.num_matches() == facts["matches"]
        assert database.num_descriptors() == 0
        assert database.num_verified_image_pairs() == 6
    finally:
        database.close()
    (tmp_path / "models").mkdir()
    found = pycolmap.incremental_mapping(tmp_path / "database.db", tmp_path, tmp_path / "models")
    assert found[0].num_reg_images() == 4
    with pytest.raises(InvalidInput, match="exists already"):
        export_matches(releases, tmp_path / "database.db")
