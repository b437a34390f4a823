"""`sfumato experiment localization` on small folders: scenes, and Aachen's layout."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from server.mapping.worlds import SMALL, render_views, write_scene
from sfumato.cli.app import main
from sfumato.core.errors import InvalidInput
from sfumato.datasets.aachen import open_aachen
from sfumato.datasets.scenes import open_scenes
from sfumato.server.mapping import Map
from sfumato_papers.ldp_feat.localization_predictions import read_predictions
from sfumato_papers.ldp_feat.localization_table import map_dictionary
from sfumato_papers.ldp_feat.poses import pose_numbers

POSES = render_views(7)[1]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scene(tmp_path_factory.mktemp("data") / "studio")


@pytest.fixture(scope="module")
def output(scene: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "run"
    options = ["--epsilon", "12", "--seeds", "1", "--words", "16384", "--iterations", "200"]
    with pytest.raises(SystemExit) as stopped:
        main(["experiment", "localization", "--data", str(scene), "-o", str(folder), *options])
    assert stopped.value.code == 0
    return folder


@pytest.fixture(scope="module")
def aachen(scene: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven photographs: five in the model, one query of the day, one of the night."""
    root = tmp_path_factory.mktemp("aachen")
    names = {f"view{i}.png": f"db/{i}.png" for i in (0, 2, 3, 4, 6)}
    names |= {"view1.png": "query/day/milestone/d1.png", "view5.png": "query/night/n5.png"}
    for source, target in names.items():
        place = root / "images_upright" / target
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(scene / "images" / source, place)
    (root / "queries").mkdir()
    camera = f"PINHOLE 320 240 {' '.join(str(value) for value in SMALL.params)}"
    for part, name in (("day", names["view1.png"]), ("night", names["view5.png"])):
        listed = root / "queries" / f"{part}_time_queries_with_intrinsics.txt"
        listed.write_text(f"{name} {camera}\n")
    model = root / "3D-models" / "aachen_v_1_1"
    model.mkdir(parents=True)
    (model / "cameras.txt").write_text(f"# cameras\n1 {camera}\n")
    lines = []
    for number in (0, 2, 3, 4, 6):
        pose = " ".join(map(repr, pose_numbers(POSES[f"view{number}.png"])))
        lines += [f"{number + 1} {pose} 1 db/{number}.png", "10 10 1 20 20 2"]
    (model / "images.txt").write_text("\n".join(lines) + "\n")
    track = "1 0 3 0 4 0"
    points = f"1 0 0 6 0 0 0 0.5 {track}\n2 1 0 6 0 0 0 0.5 {track}\n"
    (model / "points3D.txt").write_text(points)
    return root


def run_json(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    with pytest.raises(SystemExit) as stopped:
        main(["experiment", "localization", *arguments, "--json"])
    assert stopped.value.code == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


def test_every_fourth_photograph_is_a_query_and_not_in_the_map(scene: Path, output: Path) -> None:
    problem = open_scenes([scene], output)
    assert [query.name for query in problem.queries] == ["studio/view0.png", "studio/view4.png"]
    assert set(problem.world.image_names) == {f"studio/view{i}.png" for i in (1, 2, 3, 5, 6)}
    for query in problem.queries:
        assert query.truth is not None
        distance, degrees = query.truth.error_to(POSES[query.name.split("/")[1]])
        assert distance < 1e-5
        assert degrees < 1e-4


def test_a_scene_is_localized_and_printed_again_without_its_pictures(
    output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = run_json(["--evaluate", str(output / "predictions.jsonl"), "--all"], capsys)
    rows = {(row["setting"]["recipe"], row["setting"]["epsilon"]): row for row in shown["rows"]}
    assert set(rows) == {("raw", None)} | {
        (recipe, epsilon) for recipe in ("sfumato", "paper") for epsilon in ("inf", 12.0)
    }
    assert rows["raw", None]["within"][0]["share"] == 1
    assert rows["sfumato", 12.0]["within"][2]["share"] == 1
    assert rows["sfumato", 12.0]["wrong_poses"] == 0
    assert shown["problem"]["queries"] == 2
    with pytest.raises(SystemExit):
        main(["experiment", "localization", "--evaluate", str(output / "predictions.jsonl")])
    text = capsys.readouterr().out
    assert "studio: 5 images" in text
    assert "0.25m/2°" in text


def test_words_of_the_maps_own_images_say_so(output: Path) -> None:
    world = Map.load(output / "map")
    made = map_dictionary(world, output)
    assert made.manifest["built_from_map"] is True
    assert made.num_words == len(world.descriptors) // 8
    assert map_dictionary(world, output).fingerprint == made.fingerprint


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give --data"),
        (["--data", "x", "--pairs", "p", "--top", "3"], "give one"),
        (["--data", "x", "--epsilon", "ten"], "must be numbers"),
        (["--data", "x", "--words", "many"], "whole numbers"),
        (["--data", "x", "--recipe", "theirs"], "recipe must be one of"),
        (["--evaluate", "nowhere.jsonl"], "no file of predictions"),
    ],
)
def test_bad_requests_end_with_one_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["experiment", "localization", *arguments])
    assert stopped.value.code == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert len(shown.strip().splitlines()) == 1


def test_a_map_of_other_pictures_is_refused(output: Path, tmp_path: Path) -> None:
    other = write_scene(tmp_path / "attic", num_images=3)
    with pytest.raises(InvalidInput, match="other pictures"):
        open_scenes([other], output)
    (other / "cameras.json").unlink()
    with pytest.raises(InvalidInput, match=r"put a cameras\.json with poses"):
        open_scenes([other], tmp_path / "out")


def test_aachen_is_mapped_localized_and_submitted(
    aachen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    arguments = ["--data", str(aachen), "-o", str(folder), "--recipe", "sfumato"]
    arguments += ["--epsilon", "12", "--seeds", "1", "--words", "16384"]
    shown = run_json(arguments, capsys)
    assert {row["within"] for row in shown["rows"]} == {None}
    assert all(row["poses_returned"] == 2 for row in shown["rows"])
    files = sorted((folder / "submissions").iterdir())
    assert [file.name for file in files] == [
        "Aachen_eval_raw_seed0.txt",
        "Aachen_eval_sfumato_open-64k_K16384_w1_eps-inf_seed0.txt",
        "Aachen_eval_sfumato_open-64k_K16384_w1_eps12_seed0.txt",
    ]
    lines = [line.split() for line in files[0].read_text().splitlines()]
    assert [line[0] for line in lines] == ["d1.png", "n5.png"]  # no folders
    for line, truth in zip(lines, ("view1.png", "view5.png"), strict=True):
        assert len(line) == 8
        numbers = np.array(line[1:], dtype=float)
        np.testing.assert_allclose(numbers, pose_numbers(POSES[truth]), atol=0.05)
    found = read_predictions(folder / "predictions.jsonl")
    assert set(found.truth.values()) == {None}


def test_aachens_given_features_bring_the_models_own_points(
    aachen: Path, scene: Path, tmp_path: Path
) -> None:
    work = tmp_path / "out"
    first = open_aachen(aachen, work)
    given = tmp_path / "given"
    shutil.copytree(aachen, given)
    shutil.copy(work / "features.h5", given / "features.h5")
    write_text_model(first.world, given / "3D-models" / "aachen_v_1_1")
    again = open_aachen(given, tmp_path / "again")
    assert again.world.facts["method"] == "COLMAP model"
    np.testing.assert_allclose(again.world.points, first.world.points, atol=1e-9)
    assert [len(query.features) for query in again.queries] == [
        len(query.features) for query in first.queries
    ]


def write_text_model(world: Map, folder: Path) -> None:
    lines = []
    for image, name in enumerate(world.image_names):
        rows = world.features_of(image)
        pose = " ".join(map(repr, pose_numbers(world.pose(image))))
        seen = zip(world.keypoints[rows] + 0.5, world.point_of_feature[rows], strict=True)
        points = " ".join(f"{x!r} {y!r} {point}" for (x, y), point in listed(seen))
        lines += [f"{image + 1} {pose} 1 {name}", points]
    (folder / "images.txt").write_text("\n".join(lines) + "\n")
    rows_of = [f"{i} {x!r} {y!r} {z!r} 0 0 0 0.5 1 0" for i, (x, y, z) in numbered(world.points)]
    (folder / "points3D.txt").write_text("\n".join(rows_of) + "\n")


def listed(seen: Any) -> list[tuple[list[float], int]]:
    return [([float(value) for value in xy], int(point)) for xy, point in seen]


def numbered(points: Any) -> list[tuple[int, list[float]]]:
    return list(enumerate(points.tolist()))
