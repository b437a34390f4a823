"""`sfumato map` as a person or a script meets it."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from commands import sfumato, sfumato_json
from server.mapping.worlds import write_scene
from sfumato.dictionary import Dictionary
from sfumato.features import extract_folder
from sfumato.server.mapping import Map

run = partial(sfumato, "map")
run_json = partial(sfumato_json, "map")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scene(tmp_path_factory.mktemp("scenes") / "wall", num_images=4)


def test_scenes_become_a_map_and_info_says_what_it_holds(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other [1]"
    shutil.copytree(scene, other)
    built = run_json(capsys, "build", scene, other, "-o", tmp_path / "map")
    assert built["images"] == 8
    assert built["points"] > 100
    assert built["observations"] >= 2 * built["points"]
    assert built["word_indices"] == []
    assert not (tmp_path / "map.partial").exists()
    again = run_json(capsys, "info", tmp_path / "map")
    assert again == built
    assert again["bytes"] == sum(file.stat().st_size for file in (tmp_path / "map").iterdir())
    assert Map.load(tmp_path / "map").image_names[-1] == "other [1]/view3.png"
    assert run("info", tmp_path / "map") == 0
    shown = capsys.readouterr().out
    for word in ("observations", "track length", "reprojection", "known poses", "sift", "none yet"):
        assert word in shown


def test_a_place_in_two_folders_is_told(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(scene, tmp_path / "again")
    assert run("build", scene, tmp_path / "again", "-o", tmp_path / "map") == 0
    assert "warning: " in (told := capsys.readouterr().err)
    assert "the map holds that place twice" in told
    assert len(run_json(capsys, "info", tmp_path / "map")["warnings"]) == 1


def test_a_map_is_filed_under_a_dictionary_by_its_maker(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_json(capsys, "build", scene, "-o", tmp_path / "map")
    filed = run_json(capsys, "index", tmp_path / "map", "--dictionary", "bsds-16k")
    assert Dictionary.load("bsds-16k").fingerprint in filed["word_indices"]
    assert run_json(capsys, "info", tmp_path / "map")["word_indices"] == filed["word_indices"]


def test_a_plain_folder_is_reconstructed_and_what_is_left_out_is_told(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "photos"
    shutil.copytree(scene / "images", folder)
    Image.fromarray(np.zeros((240, 320, 3), dtype=np.uint8)).save(folder / "blank\x1b.png")
    (folder / "broken.png").write_bytes(b"words")
    assert run("build", folder, "-o", tmp_path / "map") == 0
    captured = capsys.readouterr()
    assert "structure from motion" in captured.out
    assert "left out broken.png: this is not a picture" in captured.err
    assert r"1 images could not be placed: blank\x1b.png" in captured.err
    assert Map.load(tmp_path / "map").image_names == tuple(f"view{row}.png" for row in range(4))
    assert run("build", folder, "-o", tmp_path / "strict", "--strict") == 2
    assert not (tmp_path / "strict").exists()


def test_cameras_and_pairs_can_be_given_apart(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("view0.png view1.png\nview1.png view2.png\n")
    words = ("--cameras", scene / "cameras.json", "--pairs", pairs, "--max-keypoints", 300)
    built = run_json(capsys, "build", scene / "images", *words, "-o", tmp_path / "map")
    assert built["facts"]["method"] == "known poses"
    assert built["facts"]["pairs"] == 2
    assert built["features"] <= 1200


def test_a_model_is_imported_with_its_features(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    features, model = tmp_path / "f.h5", tmp_path / "model"
    extract_folder(scene / "images", features)
    run_json(capsys, "build", scene, "-o", tmp_path / "map")
    world = Map.load(tmp_path / "map")
    write_text_model(world, model)
    taken = run_json(capsys, "import", model, "--features", features, "-o", tmp_path / "again")
    assert (taken["images"], taken["points"]) == (world.num_images, len(world.points))
    assert np.array_equal(Map.load(tmp_path / "again").point_of_feature, world.point_of_feature)


def write_text_model(world: Map, folder: Path) -> None:
    """The map as a COLMAP model, by the description of the format."""
    folder.mkdir()
    camera = world.cameras[0]
    params = " ".join(map(repr, camera.params))
    (folder / "cameras.txt").write_text(
        f"1 {camera.model} {camera.width} {camera.height} {params}\n"
    )
    lines = []
    for image, name in enumerate(world.image_names):
        rows = world.features_of(image)
        w, x, y, z = quaternion(world.rotations[image])
        tx, ty, tz = world.translations[image]
        lines.append(f"{image + 1} {w} {x} {y} {z} {tx} {ty} {tz} 1 {name.split('/')[-1]}")
        triples = zip(world.keypoints[rows] + 0.5, world.point_of_feature[rows], strict=True)
        lines.append(" ".join(f"{u} {v} {point}" for (u, v), point in triples))
    (folder / "images.txt").write_text("# images\n" + "\n".join(lines) + "\n")
    points = [f"{row} {x} {y} {z} 0 0 0 0.5" for row, (x, y, z) in enumerate(world.points)]
    (folder / "points3D.txt").write_text("\n".join(points) + "\n")


def quaternion(rotation: Any) -> tuple[float, ...]:
    """w, x, y, z of a rotation by less than half a turn."""
    w = float(np.sqrt(1 + np.trace(rotation))) / 2
    across = rotation - rotation.T
    return (w, across[2, 1] / (4 * w), across[0, 2] / (4 * w), across[1, 0] / (4 * w))


def test_bad_input_ends_with_one_sentence(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = tmp_path / "one"
    (tmp_path / "empty").mkdir()
    one.mkdir()
    shutil.copy(scene / "images" / "view0.png", one)
    map_, taken = tmp_path / "map", tmp_path / "taken"
    taken.mkdir()
    for words, reason in (
        (("build", one, "-o", map_), "at least two images"),
        (("build", tmp_path / "empty", "-o", map_), "no picture"),
        (("build", tmp_path / "absent", "-o", map_), "no folder"),
        (("build", scene, "-o", taken), "exists already"),
        (("build", scene, "-o", map_, "--extractor", "surf"), "one of sift"),
        (("build", scene, one, "-o", map_, "--pairs", one), "belong to one folder"),
        (("build", scene, scene, "-o", map_), "different names"),
        (("build", scene, "-o", map_, "--cameras", one / "no.json"), "no cameras file"),
        (("build", scene, "-o", map_, "--seed", -1), "seed"),
        (("import", one, "--features", one / "f.h5", "-o", map_), "holds no COLMAP model"),
        (("info", tmp_path / "absent"), "manifest"),
        (("info", taken), "manifest"),
        (("index", taken, "--dictionary", "bsds-16k"), "manifest"),
        (("build", "-o", map_), "give folders of pictures"),
    ):
        assert run(*words) == 2, words
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("sfumato: ")
        assert captured.err.count("\n") == 1
        assert reason in captured.err
    assert not map_.exists()


def test_a_map_is_told_which_way_is_up(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built = run_json(capsys, "build", scene, "-o", tmp_path / "map", "--up", "0,0,2")
    assert built["up"] == [0, 0, 1]
    assert Map.load(tmp_path / "map").up == (0, 0, 1)
    assert run("info", tmp_path / "map") == 0
    assert "up 0, 0, 1" in " ".join(capsys.readouterr().out.split())
    for bad in ("0,0,0", "up", "0,1", "0,nan,1"):
        assert run("build", scene, "-o", tmp_path / "no", "--up", bad) == 2
        assert "--up must be" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
    assert run_json(capsys, "build", scene, "-o", tmp_path / "plain")["up"] is None
