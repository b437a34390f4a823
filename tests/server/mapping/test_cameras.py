"""cameras.json is read with care; a rule of thumb fills in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sfumato.core.errors import InvalidInput
from sfumato.features.exif import read_focal_35mm
from sfumato.server.mapping import read_cameras_json
from sfumato.server.mapping.cameras import guess_camera

TURN = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def entry(**changes: Any) -> dict[str, Any]:
    full = {
        "width": 640,
        "height": 480,
        "K": [[500.0, 0, 319.5], [0, 510.0, 239.5], [0, 0, 1]],
        "R_cam_from_world": TURN,
        "t_cam_from_world": [1.0, 2.0, 3.0],
        **changes,
    }
    return {key: value for key, value in full.items() if value is not None}


def write(folder: Path, content: Any) -> Path:
    path = folder / "cameras.json"
    path.write_text(json.dumps(content))
    return path


def test_the_principal_point_moves_by_half_a_pixel(tmp_path: Path) -> None:
    scene = read_cameras_json(write(tmp_path, {"a.jpg": entry()}))
    assert scene.cameras["a.jpg"].params == (500.0, 510.0, 320.0, 240.0)
    assert scene.cameras["a.jpg"].model == "PINHOLE"
    assert scene.poses["a.jpg"].rotation.tolist() == TURN
    assert scene.poses["a.jpg"].translation.tolist() == [1.0, 2.0, 3.0]


def test_rounded_rotations_become_proper_ones(tmp_path: Path) -> None:
    angle = 0.3
    rotation = np.array(
        [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    path = write(tmp_path, {"a": entry(R_cam_from_world=rotation.round(5).tolist())})
    read = read_cameras_json(path).poses["a"].rotation
    assert np.abs(read @ read.T - np.eye(3)).max() < 1e-12
    assert np.abs(read - rotation).max() < 1e-5


def test_intrinsics_and_poses_may_be_left_out(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"a": entry(K=None), "b": entry(R_cam_from_world=None, t_cam_from_world=None)},
    )
    scene = read_cameras_json(path)
    assert set(scene.cameras) == {"b"}
    assert set(scene.poses) == {"a"}
    assert scene.names == ("a", "b")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"R_cam_from_world": [[2, 0, 0], [0, 2, 0], [0, 0, 2]]}, "proper rotation"),
        ({"R_cam_from_world": [[-1, 0, 0], [0, 1, 0], [0, 0, 1]]}, "proper rotation"),
        ({"R_cam_from_world": [[1, 0], [0, 1]]}, "shape"),
        ({"R_cam_from_world": [[float("nan")] * 3] * 3}, "finite"),
        ({"t_cam_from_world": [float("nan"), 0, 0]}, "finite"),
        ({"t_cam_from_world": [0, 0]}, "translation must have shape"),
        ({"t_cam_from_world": None}, "t_cam_from_world"),
        ({"K": [[500, 2, 320], [0, 500, 240], [0, 0, 1]]}, "skew"),
        ({"K": [[0, 0, 320], [0, 500, 240], [0, 0, 1]]}, "focal length"),
        ({"K": "none"}, "K must be an array"),
        ({"width": None}, "width"),
        ({"height": -3}, "height"),
    ],
)
def test_a_bad_entry_is_refused_by_name(
    changes: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    path = write(tmp_path, {"good.jpg": entry(), "bad.jpg": entry(**changes)})
    with pytest.raises(InvalidInput, match=reason) as refused:
        read_cameras_json(path)
    assert "bad.jpg" in str(refused.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"a": 3}', "\udcff"])
def test_what_is_no_cameras_file_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "cameras.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidInput, match="cameras"):
        read_cameras_json(path)
    with pytest.raises(InvalidInput, match="no cameras file"):
        read_cameras_json(tmp_path / "absent.json")


def test_without_knowledge_the_focal_length_is_a_rule_of_thumb() -> None:
    camera = guess_camera((640, 480))
    assert camera.params == (768.0, 320.0, 240.0, 0.0)
    assert camera.model == "SIMPLE_RADIAL"


def test_exif_gives_the_focal_length_in_35mm_terms(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0xA405] = 36
    picture = Image.new("RGB", (600, 400))
    picture.save(tmp_path / "a.jpg", exif=exif)
    picture.save(tmp_path / "b.jpg")
    (tmp_path / "c.jpg").write_text("no picture")
    assert read_focal_35mm(tmp_path / "a.jpg") == 36
    assert read_focal_35mm(tmp_path / "b.jpg") is None
    assert read_focal_35mm(tmp_path / "c.jpg") is None
    assert guess_camera((600, 400), 36).params[0] == pytest.approx(600)
