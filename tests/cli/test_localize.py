"""`sfumato localize` on a world with known truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from commands import sfumato
from sfumato.core.lens import project
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import KeypointRelease
from sfumato.core.types import Pose
from sfumato.core.wire import decode
from sfumato.device.mechanisms import Plain, SubsetMechanism
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.up import with_up
from support import one_of_each_release
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

ROOM = make_room(1500)
QUERY = pose_at(0.7, 0.1, 0.8, turn_deg=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("localize")
    make_map(ROOM, MAPPING_POSES[:8]).save(path / "map")
    DICTIONARY.save(path / "words")
    features, _ = ROOM.look(QUERY, seed=0)
    mechanism = SubsetMechanism(7.0, 1, DICTIONARY)
    for name, camera in (("query.sfr", CAMERA), ("bare.sfr", None)):
        release = mechanism.release(features, rng=SeededRandom(0), camera=camera)
        (path / name).write_bytes(release.to_bytes())
    return path


def test_a_release_is_localized(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["localize", folder / "query.sfr", "--map", folder / "map"]
    common += ["--dictionary", folder / "words"]
    assert sfumato(*common, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert np.allclose(shown["center"], QUERY.center, atol=0.05)
    assert shown["log10_chance"] < -4
    assert 0 < shown["expected_error"]["position"] < 0.1
    assert np.shape(shown["expected_error"]["covariance"]) == (6, 6)
    assert shown["warning"] is None
    assert sfumato(*common) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "localized" in text
    stated = f"{shown['expected_error']['position']:.3g} in the map's unit"
    assert f"expected error {stated}" in text
    assert "warning" not in text
    numbers = text.split("cam_from_world quaternion ")[1].split(" (w x y z)")[0].split()
    w, x, y, z = map(float, numbers)
    rotation = Rotation.from_quat((x, y, z, w)).as_matrix()
    assert np.allclose(rotation, shown["cam_from_world"]["rotation"], atol=1e-5)
    assert "translation " + " ".join(
        f"{value:.3f}" for value in shown["cam_from_world"]["translation"]
    ) in text  # fmt: skip


def test_inliers_are_named_with_the_points_they_saw(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["localize", folder / "query.sfr", "--map", folder / "map"]
    asked += ["--dictionary", folder / "words", "--inliers"]
    assert sfumato(*asked, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    rows, points = (np.array(shown["inliers"][name]) for name in ("keypoints", "points"))
    assert len(np.unique(rows)) == shown["num_inliers"]
    release = decode((folder / "query.sfr").read_bytes())
    assert isinstance(release, KeypointRelease)
    pose = Pose(**{k: np.array(v) for k, v in shown["cam_from_world"].items()})
    off = project(CAMERA, pose.apply(points)) - release.keypoints[rows]
    assert np.linalg.norm(off, axis=1).max() < 12  # pixels
    assert sfumato(*asked) == 2
    assert "--json" in capsys.readouterr().err


def test_a_map_in_shards_answers_the_same(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["localize", folder / "query.sfr", "--dictionary", folder / "words", "--json"]
    assert sfumato(*asked, "--map", folder / "map") == 0
    whole = json.loads(capsys.readouterr().out)
    Map.load(folder / "map").save(tmp_path / "map")
    assert sfumato("map", "index", tmp_path / "map", "--dictionary", folder / "words") == 0
    capsys.readouterr()
    cut = ["map", "shard", tmp_path / "map", "-o", tmp_path / "shards", "--json"]
    assert sfumato(*cut, "--shards", 3) == 0
    made = json.loads(capsys.readouterr().out)
    assert (len(made["images"]), sum(made["images"])) == (3, 8)
    assert sfumato(*asked, "--map", tmp_path / "shards") == 0
    assert json.loads(capsys.readouterr().out) == whole
    assert sfumato(*cut, "--shards", 3) == 2  # it exists
    assert sfumato(*cut[:-2], tmp_path / "more", "--shards", 9) == 2
    assert "shards must be between 1 and 8" in capsys.readouterr().err
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("q a.png\n")
    assert sfumato(*asked, "--map", tmp_path / "shards", "--pairs", pairs, "--query", "q") == 2


def test_a_raw_release_is_localized_without_a_dictionary(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    features, _ = ROOM.look(QUERY, seed=0)
    raw = Plain().release(features, rng=SeededRandom(0), camera=CAMERA)
    (folder / "raw.sfr").write_bytes(raw.to_bytes())
    asked = ["localize", folder / "raw.sfr", "--map", folder / "map"]
    assert sfumato(*asked, "--json") == 0
    assert np.allclose(json.loads(capsys.readouterr().out)["center"], QUERY.center, atol=0.05)
    assert sfumato(*asked, "--dictionary", folder / "words") == 2
    assert "this release has plain" in capsys.readouterr().err


def test_releases_of_a_moving_device_are_asked_together(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    poses = [pose_at(0.5, 0.1, 0.7, turn_deg=3), pose_at(0.6, 0.1, 0.75, turn_deg=4), QUERY]
    mechanism, lines, paths = SubsetMechanism(5.0, 1, DICTIONARY), [], []
    for i, pose in enumerate(poses):
        release = mechanism.release(
            ROOM.look(pose, seed=30 + i)[0], rng=SeededRandom(i), camera=CAMERA
        )
        paths.append(tmp_path / f"{i}.sfr")
        paths[-1].write_bytes(release.to_bytes())
        numbers = " ".join(map(str, (*pose.quaternion, *pose.translation)))
        lines.append(f"{i}.sfr {numbers}\n")
    motion = tmp_path / "motion.txt"
    motion.write_text("".join(lines))
    asked = ["localize", paths[2], "--before", paths[0], "--before", paths[1]]
    asked += ["--map", folder / "map", "--dictionary", folder / "words"]
    assert sfumato(*asked, "--motion", motion, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert np.allclose(shown["center"], QUERY.center, atol=0.05)
    assert shown["frames"] == 3
    assert sfumato(*asked, "--before", paths[2], "--motion", motion) == 2
    assert "one given twice is no new evidence" in capsys.readouterr().err
    assert sfumato(*asked) == 2
    assert "--before needs --motion" in capsys.readouterr().err
    motion.write_text("".join(lines[:2]))
    assert sfumato(*asked, "--motion", motion) == 2
    assert "2.sfr" in capsys.readouterr().err
    motion.write_text("".join([*lines, lines[0]]))
    assert sfumato(*asked, "--motion", motion) == 2
    assert "line 4 of" in capsys.readouterr().err
    motion.write_text("".join([*lines[:2], f"{paths[2].name} 1 0 0 0 1e300 0 0\n"]))
    assert sfumato(*asked, "--motion", motion) == 2
    assert "none beyond" in capsys.readouterr().err
    motion.write_text("".join(lines))
    assert sfumato(*asked, "--motion", motion, "--odometry", "little") == 2
    assert "2%/0.5deg" in capsys.readouterr().err
    assert sfumato("localize", paths[2], "--map", folder / "map", "--motion", motion) == 2
    assert "--motion applies only with --before" in capsys.readouterr().err


def test_a_camera_can_be_given(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["localize", folder / "bare.sfr", "--map", folder / "map"]
    common += ["--dictionary", folder / "words"]
    assert sfumato(*common) == 2
    assert "intrinsics" in capsys.readouterr().err
    assert sfumato(*common, "--camera", "PINHOLE,480,480,320,240") == 0


def test_a_wrong_camera_is_told_or_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["localize", folder / "bare.sfr", "--map", folder / "map"]
    common += ["--dictionary", folder / "words", "--camera"]
    assert sfumato(*common, "PINHOLE,600,600,320,240", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert "given as 600 pixels" in shown["warning"]
    assert shown["camera"]["params"][0] == pytest.approx(480, rel=0.02)
    assert np.allclose(shown["center"], QUERY.center, atol=0.1)
    assert sfumato(*common, "PINHOLE,480,480,2000,240") == 2
    assert "principal point" in capsys.readouterr().err


def test_a_pairs_file_replaces_retrieval(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("q.jpg view-4.png\nq.jpg view-5.png\nother.jpg view-0.png\n")
    common = ["localize", folder / "query.sfr", "--map", folder / "map", "--pairs", pairs]
    common += ["--dictionary", folder / "words"]
    assert sfumato(*common, "--query", "q.jpg") == 0
    assert sfumato(*common) == 2
    assert "--query" in capsys.readouterr().err
    assert sfumato(*common, "--query", "none.jpg") == 2
    assert "lists no image" in capsys.readouterr().err
    pairs.write_text("q.jpg nowhere.png\n")
    assert sfumato(*common, "--query", "q.jpg") == 2
    assert "not in the map" in capsys.readouterr().err


def test_what_is_not_localized_ends_with_exit_code_one(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    features, _ = make_room(1500, seed=8).look(QUERY, seed=0)
    stranger = SubsetMechanism(7.0, 1, DICTIONARY).release(
        features, rng=SeededRandom(0), camera=CAMERA
    )
    (tmp_path / "q.sfr").write_bytes(stranger.to_bytes())
    common = ["localize", tmp_path / "q.sfr", "--map", folder / "map"]
    assert sfumato(*common, "--dictionary", folder / "words") == 1
    assert "not localized" in capsys.readouterr().out


def test_bad_files_are_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("localize", tmp_path / "no.sfr", "--map", folder / "map") == 2
    assert "cannot be read" in capsys.readouterr().err
    (tmp_path / "x.sfr").write_bytes(b"not a release")
    assert sfumato("localize", tmp_path / "x.sfr", "--map", folder / "map") == 2
    assert "at least 104 bytes" in capsys.readouterr().err
    (tmp_path / "codes.sfr").write_bytes(one_of_each_release()["codes"].to_bytes())
    assert sfumato("localize", tmp_path / "codes.sfr", "--map", folder / "map") == 2
    assert "no keypoints" in capsys.readouterr().err
    assert sfumato("localize", folder / "query.sfr", "--map", tmp_path) == 2
    assert "not a stored map" in capsys.readouterr().err


def test_gravity_helps_where_the_map_knows_which_way_is_up(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_up(Map.load(folder / "map"), (0, -1, 0)).save(tmp_path / "map")
    asked = ["localize", folder / "query.sfr", "--dictionary", folder / "words"]
    upright = [*asked, "--map", tmp_path / "map"]
    assert sfumato(*upright, "--gravity", "0.01,9.8,-0.1", "--gravity-error", 1.5, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert np.allclose(shown["center"], QUERY.center, atol=0.05)
    assert sfumato(*upright, "--gravity", "1,0,0") == 1  # the camera did not lie on its side
    capsys.readouterr()
    for wrong, sentence in (
        (("--gravity", "0,0,0"), "not all zero"),
        (("--gravity", "0,nan,0"), "got NaN"),
        (("--gravity", "0,inf,0"), "finite"),
        (("--gravity", "0,1"), "--gravity must be 3 numbers"),
        (("--gravity", "0,1,0", "--gravity-error", 0), "from 0.1 to 20 degrees, got 0;"),
        (("--gravity", "0,1,0", "--gravity-error", 90), "from 0.1 to 20 degrees, got 90;"),
        (("--gravity-error", 2), "--gravity-error applies only with --gravity"),
        (("--gravity", "0,1,0", "--before", "a.sfr"), "does not apply with --gravity"),
    ):
        assert sfumato(*upright, *wrong) == 2, wrong
        error = capsys.readouterr().err
        assert sentence in error
        assert len(error.strip().splitlines()) == 1
    assert sfumato(*asked, "--map", folder / "map", "--gravity", "0,1,0") == 2
    assert "knows which way is up" in capsys.readouterr().err
