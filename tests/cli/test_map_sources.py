"""What `sfumato map build` and `map import` take: layouts, features files, hloc's outputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import datasets.layouts as written
from commands import sfumato, sfumato_json
from hloc_files import write_hloc_features
from server.mapping.worlds import point_world
from sfumato.cli.map_import import find_features, find_model
from sfumato.cli.map_sources import scene_of
from sfumato.cli.pictures import read_list
from sfumato.core.errors import InvalidInput
from sfumato.server.mapping import Map


@pytest.mark.parametrize("layout", ["nerf", "kapture", "hloc", "7scenes"])
def test_a_data_set_is_known_by_its_files_and_keeps_its_queries_out(
    layout: str, tmp_path: Path
) -> None:
    make = {
        "nerf": written.nerf,
        "kapture": written.kapture,
        "hloc": written.hloc,
        "7scenes": written.seven_scenes,
    }[layout]
    scene = scene_of(make(tmp_path / "set"), "auto", None)
    assert scene.poses is not None
    assert set(scene.poses) == set(scene.pictures) == set(scene.cameras or {})
    assert len(scene.pictures) == {"nerf": 7, "kapture": 5, "hloc": 5, "7scenes": 4}[layout]
    plain = scene_of(tmp_path / "set", "plain", None)
    assert plain.poses is None
    with pytest.raises(InvalidInput, match="--layout must be one of auto, plain"):
        scene_of(tmp_path / "set", "nuscenes", None)


def test_pictures_of_another_size_than_their_intrinsics_take_a_scale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = written.nerf(tmp_path / "set", size=(32, 24))
    with pytest.raises(InvalidInput, match=r"half the size 0\.5"):
        scene_of(scene, "auto", None)
    for scale in (0.5, None):
        found = scene_of(scene, "auto", None, scale)
        assert {(one.width, one.height) for one in (found.cameras or {}).values()} == {(32, 24)}
    for more in (["--camera-scale", "x"], ["--layout", "plain", "--camera-scale", "auto"]):
        assert sfumato("map", "build", scene, *more, "-o", tmp_path / "map") == 2
        assert "--camera-scale" in capsys.readouterr().err


def test_features_of_any_extractor_are_reconstructed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = point_world(num_images=5, num_points=300, noise=0.2)
    floats = {
        name: replace(item, descriptors=item.descriptors.astype(np.float32)[:, :80] / 255)
        for name, item in scene.features.items()
    }
    write_hloc_features(tmp_path / "f.h5", floats, as_half=False)
    build = ["map", "build", tmp_path / "f.h5", "-o", tmp_path / "map"]
    assert sfumato(*build) == 2
    assert "does not say which extractor" in capsys.readouterr().err
    assert sfumato(*build, "--extractor", "mine", "--strict") == 2
    assert "this is a file of features" in capsys.readouterr().err
    told = sfumato_json(" ".join(map(str, build[:2])), capsys, *build[2:], "--extractor", "mine")
    assert told["trust"]["registered"] == 5
    assert told["asked_with"]["photographs"] is False
    world = Map.load(tmp_path / "map")
    assert world.extractor == "mine"
    assert world.descriptors.shape[1] == 80


def test_hlocs_outputs_are_searched_for_one_model_and_one_features_file(tmp_path: Path) -> None:
    sfm = tmp_path / "outputs/sfm_x"
    for folder in (sfm, sfm / "models/0"):
        folder.mkdir(parents=True)
        (folder / "points3D.bin").touch()
    assert find_model(tmp_path / "outputs") == sfm
    assert find_model(sfm) == sfm
    other = tmp_path / "outputs/sfm_y"
    other.mkdir()
    (other / "points3D.txt").touch()
    with pytest.raises(InvalidInput, match="it holds 2: sfm_x, sfm_y"):
        find_model(tmp_path / "outputs")
    with pytest.raises(InvalidInput, match="it holds 0; give --features"):
        find_features(tmp_path / "outputs")
    features = point_world(num_images=2, num_points=5).features
    write_hloc_features(tmp_path / "outputs/feats.h5", features)
    assert find_features(tmp_path / "outputs") == tmp_path / "outputs/feats.h5"
    assert find_features(sfm) == tmp_path / "outputs/feats.h5"
    with pytest.raises(InvalidInput, match="no folder of a COLMAP model"):
        find_model(tmp_path / "absent")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "names no pictures"),
        ("a.jpg\na.jpg\n", "line 2 of"),
        ("a.jpg PINHOLE 64\n", "line 1 of"),
        ("# all\na.jpg PINHOLE 64 48 x y z w\n", "line 2 of"),
        ("a.jpg SPHERE 64 48 1 2 3\n", "camera model"),
    ],
)
def test_lists_of_pictures_are_refused_by_line_and_name_no_picture(
    text: str, part: str, tmp_path: Path
) -> None:
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(InvalidInput, match=part) as refused:
        read_list(tmp_path / "list.txt")
    assert "a.jpg" not in str(refused.value)
