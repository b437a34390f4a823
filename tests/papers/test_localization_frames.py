"""Several frames in the localization experiment: which, how odometry errs, and what they spend."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from queries import NESTED, PROBLEM, ROOM, WORLD
from sfumato.core.errors import InvalidInput
from sfumato.datasets.scenes import Problem, Query
from sfumato.server.motion import OdometryError, compose, inverse
from sfumato_papers.harness.command import Report
from sfumato_papers.ldp_feat.localization import run_localization
from sfumato_papers.ldp_feat.localization_frames import odometry_of, window
from sfumato_papers.ldp_feat.localization_predictions import read_predictions
from sfumato_papers.ldp_feat.localization_rows import choose_rows, evaluate, exact_epsilon
from sfumato_papers.ldp_feat.localization_settings import Settings
from sfumato_papers.ldp_feat.localization_table import report_lines
from synthetic import CAMERA, pose_at

NAMES = ["room/a0.png", "room/a1.png", "room/a2.png", "room/c0.png", "room/c1.png", "room/c2.png"]
POSES = [pose_at(-1.4 + 0.1 * i, 0.02 * i, 0.1, turn_deg=2 * i) for i in range(6)]
QUERIES = tuple(
    Query(name, "room", ROOM.look(pose, seed=70 + i)[0], CAMERA, pose)
    for i, (name, pose) in enumerate(zip(NAMES, POSES, strict=True))
)
MAP = replace(WORLD, image_names=tuple(f"room/b{i}.png" for i in range(6)), _indices={})
MOVING = Problem("a walk", MAP, QUERIES, ("room",))


def test_frames_follow_each_other_and_no_picture_of_the_map_lies_between() -> None:
    def names(query: int, count: int) -> list[str]:
        return [one.name[5:7] for one in window(MOVING, QUERIES[query], count)]

    assert names(2, 2) == ["a1", "a2"]
    assert names(0, 2) == ["a0", "a1"]  # the first of a block is asked with those after it
    assert names(4, 3) == ["c0", "c1", "c2"]
    assert names(5, 1) == ["c2"]
    with pytest.raises(InvalidInput, match="4 frames need"):
        window(MOVING, QUERIES[0], 4)


def test_the_error_of_odometry_adds_up_and_has_the_size_it_is_said_to_have() -> None:
    exact = odometry_of(POSES, OdometryError(0, 0), 0)
    step = compose(exact[5], inverse(exact[0]))
    assert step.error_to(compose(POSES[5], inverse(POSES[0])))[0] < 1e-9
    turns = []
    for seed in range(300):
        before, after = odometry_of(POSES[:2], OdometryError(0.02, 0.5), seed)
        made = compose(after, inverse(before))
        turns.append(made.error_to(compose(POSES[1], inverse(POSES[0])))[1])
    assert np.sqrt(np.mean(np.square(turns))) == pytest.approx(0.5, rel=0.1)


def test_frames_are_rows_that_say_what_they_spend(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    settings = Settings(
        recipes=("sfumato",), epsilons=(6.0,), words=(512,), num_seeds=1, frames=(1, 2)
    )
    run_localization(MOVING, {"tiny": NESTED}, settings, path)
    found = read_predictions(path)
    rows = choose_rows(evaluate(found), found)
    sent = {
        (row["setting"].num_frames, row["setting"].is_shared): row["mean_keypoints"]
        for row in rows
        if row["setting"].epsilon == 6.0
    }
    assert set(sent) == {(1, False), (2, False), (2, True)}
    assert sent[2, False] == pytest.approx(2 * sent[1, False], rel=0.02)
    assert sent[2, True] == pytest.approx(sent[1, False], rel=0.02)
    for row in rows:
        if row["setting"].num_frames == 2:
            assert row["within"][0]["share"] == 1
            assert row["epsilon_per_picture"] == pytest.approx(6 * row["mean_keypoints"])
    text = Report(report_lines(rows, found)).text()
    assert "sfumato, 2 frames share N" in text
    spent = {
        (row["setting"].num_frames, row["setting"].is_shared): exact_epsilon(row)
        for row in rows
        if row["setting"].epsilon == 6.0
    }
    one, each, shared = spent[1, False], spent[2, False], spent[2, True]
    assert one is not None
    assert each is not None
    assert shared is not None
    assert shared == pytest.approx(one, rel=0.03)
    assert 1.7 * one < each <= 2 * one
    assert f"{each:,.0f}" in text
    assert "2%/0.5°" in text


def test_frames_need_true_poses_and_no_other_help(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="several frames"):
        Settings(frames=(1, 3), has_gravity=True)
    secret = replace(PROBLEM, queries=tuple(replace(one, truth=None) for one in PROBLEM.queries))
    settings = Settings(recipes=("sfumato",), epsilons=(6.0,), words=(512,), frames=(2,))
    with pytest.raises(InvalidInput, match="true poses"):
        run_localization(secret, {"tiny": NESTED}, settings, tmp_path / "p.jsonl")
    assert not (tmp_path / "p.jsonl").exists()
