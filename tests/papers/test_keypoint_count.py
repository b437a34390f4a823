"""Fewer keypoints: which pairs are asked about, what is counted, and what the table says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import sfumato, sfumato_json
from server.mapping.worlds import point_world, write_scene
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.server.mapping import Map
from sfumato_papers.harness.command import Report
from sfumato_papers.reverse.keypoint_count import JOURNAL, Outcome, Setting, Settings
from sfumato_papers.reverse.keypoint_count_matching import Counts, Side, as_vectors, compare
from sfumato_papers.reverse.keypoint_count_pictures import Rebuilt, fit_picture, read_privacy
from sfumato_papers.reverse.keypoint_count_table import draw_plot, losses, report_lines, summarise
from sfumato_papers.reverse.posed_pairs import choose_pairs, scene_folders
from synthetic import MAPPING_POSES, make_map, make_room

HEAD = {"scenes": ["a"], "images": 3, "points": 900, "pairs": 2, "possible_pairs": 3, "controls": 1}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scene(tmp_path_factory.mktemp("scenes") / "wall", num_images=3)


def test_matches_are_counted_against_the_known_lines_for_every_corner_of_the_table() -> None:
    world = point_world(num_images=2, num_points=200, clutter=40)
    names = sorted(world.features)
    first, second = (
        Side(item, as_vectors(item), world.cameras[name], world.poses[name])
        for name in names
        for item in [world.features[name]]
    )
    seen = [set(world.truth[name][:60]) - {-1} for name in names]
    found = compare(first, second, (60, 500), has_ransac=True)
    assert found[60].num_right == len(seen[0] & seen[1])
    assert found[500].num_right > 5 * 20
    assert (found[500].num_ransac or 0) >= found[500].num_right - 3
    whole = compare(first, second, (60,), whole_second=True, has_ransac=False)[60]
    everything = set(world.truth[names[1]]) - {-1}
    assert len(seen[0] & everything) <= whole.num_right <= len(seen[0] & everything) + 3
    assert whole.num_ransac is None
    nobody = first.features.take(np.arange(0))
    nothing = Side(nobody, as_vectors(nobody), first.camera, first.pose)
    assert compare(nothing, second, (60,))[60] == Counts(0, 0, 0, 0)


def room_map(names: tuple[str, ...]) -> Map:
    return replace(make_map(make_room(600), MAPPING_POSES[: len(names)]), image_names=names)


def test_pairs_are_chosen_by_the_map_and_controls_across_scenes() -> None:
    world = room_map(("a/0.png", "a/1.png", "a/2.png", "b/0.png"))
    pairs, possible = choose_pairs(world, 20)
    assert possible == 3
    inside = [pair for pair in pairs if not pair.is_control]
    assert all(pair.covisible >= 20 for pair in inside)
    assert {(pair.first, pair.second) for pair in pairs if pair.is_control} == {
        (0, 3),
        (1, 3),
        (2, 3),
    }
    with pytest.raises(InvalidInput, match="no two pictures share 100000 points"):
        choose_pairs(world, 100_000)


def outcome(count: int, right: int, *, covisible: int = 500, **changes: Any) -> Outcome:
    given: dict[str, Any] = {
        "setting": Setting("sift", "strength", "both", count),
        "first": "a/0.png",
        "second": f"a/{covisible}.png",
        "covisible": covisible,
        "is_control": False,
        "counts": Counts(100, right, right // 2, None),
        "num_shared": right,
        **changes,
    }
    return Outcome(**given)


def test_recall_loss_and_chance_are_read_from_outcomes_alone(tmp_path: Path) -> None:
    found = [
        outcome(1000, 90),
        outcome(1000, 40, covisible=900),
        outcome(200, 19),
        outcome(200, 20, covisible=900),
        outcome(200, 3, covisible=0, is_control=True),
    ]
    ssim = [Rebuilt("sift", "strength", 200, name, 180, value) for name, value in
            (("x", 0.4), ("y", 0.6))]  # fmt: skip
    many, few = summarise(found, ssim)
    assert (many["recall"], few["recall"]) == ([1.0, 1.0, 1.0], [0.5, 0.5, 1.0])
    assert (few["controls"], few["bound"], many["recall_with_ratio_test"]) == (0.0, 0.5, 1.0)
    assert many["one_minus_ssim"] is None
    assert few["one_minus_ssim"].mean == pytest.approx(0.5)
    (loss,) = losses([many, few])
    assert "100.0 → 50.0 (+50.0 lost)" in loss
    assert "100.0 → 100.0 (+0.0 lost)" in loss
    shown = Report(report_lines(HEAD, [many, few], {"freak": "there is no network."})).text()
    for words in ("0.500", "no matcher", "freak: no 1 − SSIM. there is no network.", "2 of 3"):
        assert words in shown
    assert "ε" not in shown
    part = summarise([*found, outcome(100, 9)], ssim)
    assert "1 settings are not finished" in Report(report_lines(HEAD, part)).text()
    draw_plot([many, few], tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes()[:4] == b"\x89PNG"


def test_the_command_counts_once_and_prints_again(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--extractor", "sift", "--keypoints", "200,40", "--protocol", "both,query")
    command = ("fewer", "--data", scene.parent, *options, "-o", tmp_path / "out")
    shown = sfumato_json("experiment", capsys, *command)
    assert shown["pairs"] == 3
    rows = {(r["keep_by"], r["protocol"], r["num_keypoints"]): r for r in shown["rows"]}
    assert len(rows) == 8
    for key, row in rows.items():
        assert row["pairs"][0] == 3
        assert row["recall"][0] <= rows[key[0], key[1], 200]["recall"][0]
    file = tmp_path / "out" / "outcomes.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:5]) + lines[5][:40], encoding="utf-8")
    again = sfumato_json("experiment", capsys, *command)
    assert again["rows"] == shown["rows"]
    stable = ("--extractor", "sift", "--keypoints", "40", "--keep-by", "stable")
    more = sfumato_json("experiment", capsys, *command[:3], *stable, "-o", tmp_path / "out")
    assert len(more["rows"]) == 9
    assert sfumato("experiment", "fewer", "--evaluate", tmp_path / "out") == 0
    assert "Both pictures keep N" in capsys.readouterr().out
    with pytest.raises(Mismatch, match="other pairs"):
        JOURNAL.begin(file, {}, "outcomes of other pairs")


def test_bad_requests_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sfumato("experiment", "fewer") == 2
    assert "give --data" in capsys.readouterr().err
    with pytest.raises(InvalidInput, match="needs weights"):
        Settings(extractors=("hardnet",))
    with pytest.raises(InvalidInput, match="protocol must be one of both, query"):
        Settings(protocols=("neither",))
    with pytest.raises(InvalidInput, match="keep-by must be one of"):
        Settings(keep_by=("luck",))
    with pytest.raises(InvalidInput, match="pool must be at least 1000"):
        Settings(pool=10)
    with pytest.raises(InvalidInput, match="at least one scene"):
        scene_folders([])
    path = tmp_path / "other.jsonl"
    path.write_text(json.dumps({"kind": "else"}) + "\n")
    with pytest.raises(InvalidInput, match="not a file of the fewer-keypoints"):
        JOURNAL.read(path)
    with pytest.raises(InvalidInput, match="not a file of reconstructions"):
        read_privacy(path)
    assert read_privacy(tmp_path / "none.jsonl") == ()


def test_large_pictures_are_made_smaller_before_they_are_rebuilt() -> None:
    assert fit_picture(np.zeros((600, 1024, 3), np.uint8)).shape == (300, 512, 3)
    small = np.zeros((20, 30, 3), np.uint8)
    assert fit_picture(small) is small
