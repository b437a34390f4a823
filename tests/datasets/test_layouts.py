"""Every layout gives the same scene: pictures, cameras, poses, queries, and what was left out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import datasets.layouts as written
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Camera
from sfumato.datasets.layouts.choose import find_layout, read_layout
from sfumato.datasets.layouts.common import LayoutOptions, scaled
from sfumato.datasets.layouts.tum import CAMERAS
from sfumato.server.mapping.scenes import Scene

WRITERS: dict[str, Callable[[Path], Path]] = {
    "7scenes": written.seven_scenes,
    "12scenes": written.twelve_scenes,
    "cambridge": written.cambridge,
    "tum": written.tum,
    "nerf": written.nerf,
    "hloc": written.hloc,
    "kapture": written.kapture,
}
#: Which of the seven pictures are queries; None where the data set does not say.
QUERIES = {
    "7scenes": {3, 4, 5},
    "12scenes": {0, 1, 2},
    "cambridge": {5, 6},
    "tum": None,
    "nerf": None,
    "hloc": {5, 6},
    "kapture": {5, 6},
}
SKIPPED = {
    "7scenes": {"they have no pose": 1, "their pose is not finite or not a rotation": 1},
    "12scenes": {"their pose is not finite or not a rotation": 1},
    "cambridge": {},
    "tum": {"no pose was measured within 0.1 s": 1},
    "nerf": {"their poses have no picture": 1},
    "hloc": {},
    "kapture": {},
}


@pytest.fixture(params=list(WRITERS))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    return request.param, WRITERS[request.param](tmp_path / "freiburg1_kitchen")


def names_of(scene: Scene) -> list[str]:
    return list(scene.pictures)


def test_poses_cameras_and_queries_are_those_that_were_written(folder: tuple[str, Path]) -> None:
    layout, root = folder
    assert find_layout(root) == layout
    scene = read_layout(root)
    names = names_of(scene)
    assert len(names) == 7
    assert all((scene.images / name).is_file() for name in names)
    assert scene.cameras is not None
    assert scene.poses is not None
    for name, truth in zip(names, written.POSES, strict=True):
        if layout in ("hloc", "kapture") and name.endswith("/6.png"):
            assert name not in scene.poses  # nobody says where it was taken
            continue
        distance, degrees = scene.poses[name].error_to(truth)
        assert distance < 2e-5
        assert degrees < 1e-3
    wanted = QUERIES[layout]
    queries = None if wanted is None else {names[i] for i in wanted}
    assert scene.queries == queries
    assert dict(scene.skipped) == SKIPPED[layout]
    cameras = {
        "7scenes": Camera("SIMPLE_PINHOLE", 640, 480, (525.0, 320.0, 240.0)),
        "cambridge": Camera("SIMPLE_PINHOLE", 64, 48, (60.0, 32.0, 24.0)),
        "tum": CAMERAS["1"],
    }
    assert scene.cameras[names[-1]] == cameras.get(layout, written.CAMERA)


def test_the_intrinsics_may_be_given_for_every_layout(folder: tuple[str, Path]) -> None:
    scene = read_layout(folder[1], options=LayoutOptions(camera="SIMPLE_PINHOLE,70,31,23"))
    assert scene.cameras is not None
    assert {camera.params for camera in scene.cameras.values()} == {(70.0, 31.0, 23.0)}
    with pytest.raises(InvalidInput, match="MODEL,param"):
        read_layout(folder[1], options=LayoutOptions(camera="SIMPLE_PINHOLE,wide"))


def test_a_stride_thins_pictures_and_what_is_known_of_them(folder: tuple[str, Path]) -> None:
    whole, thin = read_layout(folder[1]), read_layout(folder[1], stride=3)
    assert names_of(thin) == names_of(whole)[::3]
    assert set(thin.cameras or {}) == set(thin.pictures)
    assert set(thin.poses or {}) <= set(thin.pictures)


#: A file that each layout cannot do without.
NEEDED = {
    "7scenes": "seq-02",
    "12scenes": "data",
    "cambridge": "reconstruction.nvm",
    "tum": "groundtruth.txt",
    "nerf": "transforms.json",
    "hloc": "sfm",
    "kapture": "query/sensors/sensors.txt",
}


def test_a_missing_part_is_named_in_one_sentence(folder: tuple[str, Path]) -> None:
    layout, root = folder
    part = root / NEEDED[layout]
    if part.is_dir():
        shutil.rmtree(part)
    else:
        part.unlink()
    with pytest.raises(
        InvalidInput, match=r"no (COLMAP|.*(seq-02|data|nvm|groundtruth|transforms|sensors))"
    ):
        read_layout(root, layout)


@pytest.mark.parametrize(
    ("layout", "file", "text"),
    [
        ("7scenes", "seq-01/frame-000000.pose.txt", "1 0 0\n"),
        ("7scenes", "seq-01/frame-000000.pose.txt", "one two\n"),
        ("7scenes", "TestSplit.txt", "kitchen\n"),
        ("12scenes", "info.txt", "m_colorWidth = 64\n"),
        ("12scenes", "split.txt", "sequence0\n"),
        ("cambridge", "dataset_test.txt", "a\nb\n\nseq1/frame00005.png 1 2 3\n"),
        ("cambridge", "reconstruction.nvm", "NVM_V3\n\n9\nx.jpg 1\n"),
        ("cambridge", "reconstruction.nvm", "PLY\n"),
        ("tum", "groundtruth.txt", "1.0 0 0 0 0 0 0 1\n2.0 0 0\n"),
        ("tum", "groundtruth.txt", "1.0 0 0 0 0 0 0 1\n"),
        ("tum", "rgb.txt", "soon rgb/1.png\n"),
        ("nerf", "transforms.json", "{"),
        ("nerf", "transforms.json", "[]"),
        ("nerf", "transforms.json", '{"frames": [{"file_path": "images/0000.jpg"}]}'),
        ("nerf", "transforms.json", '{"frames": [{"file_path": "/etc/x.jpg"}]}'),
        ("nerf", "transforms.json", '{"frames": [7]}'),
        ("hloc", "queries_with_intrinsics.txt", "query/5.png PINHOLE 64\n"),
        ("hloc", "query_poses.txt", "5.png 1 0 0 0\n"),
        ("kapture", "mapping/sensors/records_camera.txt", "0, cam0\n"),
        ("kapture", "mapping/sensors/records_camera.txt", "0, cam9, cam/0.png\n"),
        ("kapture", "mapping/sensors/records_camera.txt", "0, cam0, ../../../x.png\n"),
        ("kapture", "mapping/sensors/sensors.txt", "cam0, front, camera, PINHOLE, 64\n"),
        ("kapture", "mapping/sensors/trajectories.txt", "0, rig0, 1, 0, 0\n"),
        ("kapture", "mapping/sensors/trajectories.txt", "0\n"),
    ],
)
def test_a_damaged_file_is_refused_by_name(
    layout: str, file: str, text: str, tmp_path: Path
) -> None:
    root = WRITERS[layout](tmp_path / "freiburg1_kitchen")
    (root / file).write_text(text)
    with pytest.raises(InvalidInput, match=Path(file).name.replace(".", r"\.")):
        read_layout(root, layout)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    root = written.tum(tmp_path / "fr2_desk")
    (root / "rgb.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="UTF-8"):
        read_layout(root)


def test_a_scene_whose_poses_are_all_broken_says_how_many(tmp_path: Path) -> None:
    root = written.twelve_scenes(tmp_path / "kitchen")
    for path in (root / "data").glob("*.pose.txt"):
        path.write_text(written.NAN_POSE)
    with pytest.raises(InvalidInput, match="8 left out: their pose is not finite"):
        read_layout(root)


def test_a_matrix_that_scales_is_not_taken_for_a_rotation(tmp_path: Path) -> None:
    root = written.twelve_scenes(tmp_path / "kitchen")
    doubled = np.diag([2.0, 2.0, 2.0, 1.0])
    (root / "data" / "frame-000004.pose.txt").write_text(written.matrix_text(doubled))
    scene = read_layout(root)
    assert dict(scene.skipped) == {"their pose is not finite or not a rotation": 2}


def test_pictures_that_were_halved_need_halved_intrinsics(tmp_path: Path) -> None:
    root = written.nerf(tmp_path / "fox", (32, 24), k1=0.1, k2=-0.2)
    with pytest.raises(InvalidInput, match=r"32×24 pixels.*64×48"):
        read_layout(root)
    wanted = Camera("OPENCV", 32, 24, (30.0, 30.5, 16.25, 12.25, 0.1, -0.2, 0.0, 0.0))
    for scale in (0.5, None):
        scene = read_layout(root, options=LayoutOptions(camera_scale=scale))
        assert set((scene.cameras or {}).values()) == {wanted}
    with pytest.raises(InvalidInput, match="camera_scale"):
        LayoutOptions(camera_scale=0.0)


def test_nerfs_splits_angles_and_fisheye_lenses(tmp_path: Path) -> None:
    root = written.nerf(tmp_path / "lego")
    facts = json.loads((root / "transforms.json").read_text())
    (root / "transforms.json").unlink()
    frames = facts["frames"]
    angle = {"camera_angle_x": 2 * np.arctan(0.5)}
    (root / "transforms_train.json").write_text(json.dumps({**angle, "frames": frames[:5]}))
    (root / "transforms_test.json").write_text(json.dumps({**angle, "frames": frames[5:7]}))
    scene = read_layout(root)
    assert scene.queries == frozenset({"images/0005.jpg", "images/0006.jpg"})
    (camera,) = set((scene.cameras or {}).values())
    assert camera.model == "PINHOLE"
    assert camera.params == pytest.approx((64, 64, 32, 24))
    fisheye = written.nerf(tmp_path / "dome", camera_model="OPENCV_FISHEYE", k1=0.1, k4=0.01)
    (camera,) = set((read_layout(fisheye).cameras or {}).values())
    assert (camera.model, camera.params[4:]) == ("OPENCV_FISHEYE", (0.1, 0.0, 0.0, 0.01))
    with pytest.raises(InvalidInput, match="fisheye"):
        read_layout(written.nerf(tmp_path / "odd", k3=0.1))


def test_cambridges_radial_parameter_changes_its_sign(tmp_path: Path) -> None:
    scene = read_layout(written.cambridge(tmp_path / "ShopFacade"))
    first = (scene.cameras or {})["seq1/frame00000.png"]
    assert first == Camera("SIMPLE_RADIAL", 64, 48, (60.0, 32.0, 24.0, 0.05))
    halved = read_layout(tmp_path / "ShopFacade", options=LayoutOptions(camera_scale=0.5))
    assert (halved.cameras or {})["seq1/frame00001.png"].params == (30.0, 32.0, 24.0)
    with pytest.raises(InvalidInput, match="NVM does not say"):
        read_layout(tmp_path / "ShopFacade", options=LayoutOptions(camera_scale=None))


def test_a_sequence_of_tum_without_its_number_needs_a_camera(tmp_path: Path) -> None:
    root = written.tum(tmp_path / "desk")
    with pytest.raises(InvalidInput, match="which Kinect"):
        read_layout(root)


def test_two_models_that_disagree_are_refused(tmp_path: Path) -> None:
    root = written.hloc(tmp_path / "town")
    shutil.copytree(root / "sfm" / "model", root / "other")
    assert len(read_layout(root).pictures) == 7
    text = (root / "other" / "images.txt").read_text().replace("\n2 ", "\n9 ", 1)
    lines = text.splitlines()
    words = lines[0].split()
    words[5] = "0.75"
    (root / "other" / "images.txt").write_text("\n".join([" ".join(words), *lines[1:]]) + "\n")
    with pytest.raises(InvalidInput, match=r"db/0\.png differently"):
        read_layout(root)


def test_a_folder_of_no_known_layout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="none of the layouts"):
        read_layout(tmp_path)
    with pytest.raises(InvalidInput, match="no folder of pictures"):
        read_layout(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="layout must be"):
        read_layout(tmp_path, "scannet")


def test_scaling_leaves_the_lens_alone() -> None:
    camera = Camera("SIMPLE_RADIAL", 640, 480, (500.0, 320.0, 240.0, -0.1))
    assert scaled(camera, 0.25) == Camera("SIMPLE_RADIAL", 160, 120, (125.0, 80.0, 60.0, -0.1))
