"""The experiment of structure from motion: what is tried, written, judged and printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import sfumato, sfumato_json
from server.mapping.worlds import write_scene
from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.dictionary import Dictionary
from sfumato_papers.harness.command import Report
from sfumato_papers.ldp_feat.structure_from_motion import Setting, Settings, rule_words, settings_of
from sfumato_papers.ldp_feat.structure_from_motion_table import (
    camera_errors,
    fit_similarity,
    read_rows,
    report_lines,
)

LEVELS = (1024, 2048, 4096, 8192, 16384)


def test_the_rule_keeps_words_below_the_odds() -> None:
    assert [rule_words(LEVELS, epsilon, 1) for epsilon in (12, 10, 8, 6)] == [
        16384,
        4096,
        1024,
        1024,
    ]
    assert rule_words(LEVELS, 8, 4) == 2048


def test_settings_come_once_and_are_named_for_files() -> None:
    grid = Settings(dimensions=(2,), epsilons=(10.0,), max_keypoints=500)
    found = settings_of(grid, Dictionary.load("bsds-16k"))
    assert [one.slug for one in found] == ["raw-n500", "lifted-m2-n500", "words-e10-k4096-w1-n500"]
    with pytest.raises(InvalidInput, match="dimension"):
        Settings(dimensions=(1,))


def test_a_similarity_is_undone_exactly_and_a_mirror_is_not() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(7, 3))
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rotation *= np.linalg.det(rotation)
    targets = 2.5 * points @ rotation.T + (1, 2, 3)
    np.testing.assert_allclose(fit_similarity(points, targets), targets, atol=1e-12)
    mirrored = fit_similarity(points * (1, 1, -1), targets)
    assert np.abs(mirrored - targets).max() > 0.1
    assert camera_errors({"a": [1, 0, 0, 0, 0, 0, 0]}, {"a": [1, 0, 0, 0, 0, 0, 0]}) is None


def prediction(**changes: Any) -> dict[str, Any]:
    centers = {"a": (0.0, 0.0, 0.0), "b": (1.0, 0.0, 0.0), "c": (0.0, 1.0, 0.0)}
    poses = {name: [1.0, 0.0, 0.0, 0.0, *(-x for x in at)] for name, at in centers.items()}
    setting = Setting("words", epsilon=10.0, num_words=4096, subset_size=1)
    return {
        "format": 1,
        "scene": "court",
        "setting": setting.__dict__,
        "seed": 0,
        "images": ["a", "b", "c"],
        "truth": {name: [*pose[:4], *(3 * x for x in pose[4:])] for name, pose in poses.items()},
        "poses": poses,
        "mean_keypoints": 100.0,
        "tracks": [0, 0, 4, 3, 1],
        "long_tracks_by_matches": 2,
        "long_tracks_by_chance": 1,
        "mean_reprojection_error_px": 0.5,
        "seconds": 1.0,
        "reason": None,
        **changes,
    }


def test_predictions_are_judged_from_disk_alone(tmp_path: Path) -> None:
    good, failed = tmp_path / "good.json", tmp_path / "failed.json"
    good.write_text(json.dumps(prediction()))
    failed.write_text(json.dumps(prediction(poses={}, tracks=[0], reason="nothing overlaps")))
    row, lost = read_rows([good, failed])
    counts = [row[name] for name in ("registered", "images", "points", "long_tracks")]
    assert counts == [3, 3, 8, 4]
    assert row["mean_track_length"] == pytest.approx((4 * 2 + 3 * 3 + 4) / 8)
    assert row["max_camera_error"] == pytest.approx(0, abs=1e-9)  # three times larger: a similarity
    assert row["picture_epsilon"] == 1000.0
    assert [lost[name] for name in ("registered", "points", "max_camera_error")] == [0, 0, None]
    shown = Report(report_lines([row, lost])).text()
    for words in ("3/3", "0/3", "nothing overlaps", "3,078 points", "k·ε", "two-view tracks"):
        assert words in shown
    good.write_text("{")
    with pytest.raises(DamagedFile, match="not a whole file"):
        read_rows([good])
    good.write_text("{}")
    with pytest.raises(InvalidInput, match="not a prediction"):
        read_rows([good])


def test_a_scene_is_reconstructed_once_and_printed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = write_scene(tmp_path / "wall", num_images=3)
    words = ("experiment", "sfm", "--data", scene, "--dimension", "none", "--epsilon", "12")
    shown = sfumato_json("experiment", capsys, *words[1:], "--no-raw", "-o", tmp_path / "out")
    (row,) = shown["rows"]
    assert row["setting"]["num_words"] == 16384
    assert row["images"] == 3
    (file,) = map(Path, shown["predictions"])
    before = file.stat().st_mtime_ns
    assert sfumato(*words, "--no-raw", "-o", tmp_path / "out") == 0
    assert "court" not in capsys.readouterr().out
    assert file.stat().st_mtime_ns == before
    assert sfumato("experiment", "sfm", "--evaluate", file.parent) == 0
    assert "wall" in capsys.readouterr().out
    assert sfumato("experiment", "sfm", "--evaluate", tmp_path) == 2
    assert sfumato("experiment", "sfm") == 2
