"""Thresholds in any unit, poses against the truth and raw's own, intervals, whole draws."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from queries import NESTED, PROBLEM, QUERIES, TRUTHS
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Pose
from sfumato_papers.harness.command import Report
from sfumato_papers.harness.table import clustered_wilson, wilson
from sfumato_papers.ldp_feat.localization import run_localization
from sfumato_papers.ldp_feat.localization_predictions import (
    Prediction,
    Predictions,
    Setting,
    describe_problem,
    read_predictions,
)
from sfumato_papers.ldp_feat.localization_rows import (
    Judgement,
    choose_rows,
    evaluate,
    whole_draws,
)
from sfumato_papers.ldp_feat.localization_settings import Settings
from sfumato_papers.ldp_feat.localization_table import report_lines
from sfumato_papers.ldp_feat.poses import Within, parse_thresholds, pose_numbers
from synthetic import pose_at

WORDS = Setting("sfumato", "tiny", 512, 1, 8.0)


def answered(pose: Pose | None, setting: Setting = WORDS, *, query: int = 0, seed: int = 0) -> Any:
    numbers = None if pose is None else tuple(pose_numbers(pose))
    return Prediction(setting, seed, QUERIES[query].name, 900, numbers, 20, 300, -9.0, 0.1, None)


def predictions(*answers: Prediction) -> Predictions:
    truth: dict[str, Pose | None] = {query.name: query.truth for query in QUERIES}
    facts = {"tiny": {"levels": [64, 512], "provenance": "t", "built_from_map": False}}
    return Predictions(describe_problem(PROBLEM), truth, facts, answers)


def shifted(pose: Pose, distance: float) -> Pose:
    return Pose(pose.rotation, pose.translation - pose.rotation @ np.array([distance, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("text", "distance", "degrees", "shown"),
    [
        ("0.05m/5deg", 0.05, 5, "0.05m/5°"),
        ("5cm/5°", 0.05, 5, "0.05m/5°"),
        (".25/2", 0.25, 2, "0.25/2°"),
        ("20mm/0.1rad", 0.02, 5.729578, "0.02m/5.72958°"),
        ("1e-3km/1", 1, 1, "1m/1°"),
    ],
)
def test_thresholds_are_given_in_any_unit(
    text: str, distance: float, degrees: float, shown: str
) -> None:
    within = Within.parse(text)
    assert (within.distance, within.degrees) == pytest.approx((distance, degrees))
    assert str(within) == shown
    assert parse_thresholds(f"{text}, 1m/2deg") == (within, Within(1, 2))


@pytest.mark.parametrize(
    "text",
    ["", "5", "5cm", "5cm/", "0m/5deg", "-1m/2deg", "5in/5deg", "5cm/5grad", "nan/1", "1/inf",
     "1e-400/1"],
)  # fmt: skip
def test_a_threshold_without_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_thresholds(text)


def test_draws_of_one_query_are_not_counted_as_so_many_queries() -> None:
    alike = [[True] * 5] * 5 + [[False] * 5] * 5
    assert clustered_wilson(alike) == pytest.approx(wilson(5, 10))
    one_each = [[i % 2 == 0] for i in range(20)]
    assert clustered_wilson(one_each) == pytest.approx(wilson(10, 20))
    rng = np.random.default_rng(0)
    independent = (rng.random((200, 5)) < 0.5).tolist()
    low, high = clustered_wilson(independent)
    least, most = wilson(int(np.sum(independent)), 1000)
    assert low == pytest.approx(least, abs=0.01)
    assert high == pytest.approx(most, abs=0.01)


def test_intervals_do_not_jump_when_the_last_failure_goes() -> None:
    almost = [[True] * 5] * 38 + [[True] * 4 + [False]]
    everything = [[True] * 5] * 39
    assert clustered_wilson(everything) == pytest.approx(wilson(39, 39))
    assert clustered_wilson(almost)[0] == pytest.approx(wilson(39, 39)[0], abs=0.01)


def test_a_pose_is_compared_with_the_truth_and_with_raws_own() -> None:
    off = [shifted(truth, 0.2) for truth in TRUTHS]
    raw = [answered(pose, Setting("raw"), query=i) for i, pose in enumerate(off)]
    ours = [answered(off[0]), answered(TRUTHS[1], query=1)]
    found = predictions(*raw, *ours)
    how = Judgement(parse_thresholds("5cm/5deg"), Within(0.15, 10))
    rows = {row["setting"].recipe: row for row in evaluate(found, how)}
    assert rows["raw"]["within"][0]["share"] == 0
    assert rows["raw"]["within_raw"][0]["share"] == 1
    assert rows["sfumato"]["within"][0]["share"] == 0.5
    assert rows["sfumato"]["within_raw"][0]["share"] == 0.5
    assert (rows["raw"]["wrong_poses"], rows["sfumato"]["wrong_poses"]) == (2, 1)
    text = Report(report_lines([*rows.values()], found, how, ("raw",))).text()
    assert "≤0.05m/5° of raw" in text
    assert "beyond 0.15m/10° of the truth" in text
    assert "3 of 4 answers, 4 of them poses" in text


def test_a_query_raw_did_not_find_counts_as_a_failure_against_raw() -> None:
    raw = [answered(None, Setting("raw")), answered(TRUTHS[1], Setting("raw"), query=1)]
    ours = [answered(TRUTHS[0]), answered(TRUTHS[1], query=1)]
    fewer = [answered(TRUTHS[0], replace(WORDS, max_keypoints=300))]
    rows = evaluate(predictions(*raw, *ours, *fewer))
    assert rows[1]["within_raw"][0]["share"] == 0.5
    assert rows[1]["within"][0]["share"] == 1
    assert rows[2]["within_raw"] is None  # raw was not asked with so few keypoints


def test_controls_are_all_counted_also_those_that_are_not_chosen() -> None:
    controls = [
        answered(
            TRUTHS[0] if words == 64 else None, replace(WORDS, num_words=words, is_control=True)
        )
        for words in (64, 512)
    ]
    found = predictions(*controls)
    shown = choose_rows(evaluate(found), found)
    text = Report(report_lines(shown, found)).text()
    assert "control: 2 answers" in text
    assert "1 poses returned" in text


def test_going_on_with_fewer_seeds_keeps_every_row(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    settings = Settings(epsilons=(8.0,), words=(512,), num_seeds=3, recipes=("sfumato",))
    run_localization(PROBLEM, {"tiny": NESTED}, settings, path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))  # stopped in the middle of the third draw
    before = rows_of(path)
    run_localization(PROBLEM, {"tiny": NESTED}, replace(settings, num_seeds=1), path)
    assert rows_of(path) == before
    assert [(epsilon, seeds, answers) for epsilon, seeds, answers in before] == [
        (None, 1, 2),
        (np.inf, 1, 2),
        (8.0, 2, 4),
    ]


def rows_of(path: Path) -> list[tuple[float | None, int, int]]:
    found = whole_draws(read_predictions(path))
    rows = choose_rows(evaluate(found), found)
    return [(row["setting"].epsilon, row["seeds"], row["answers"]) for row in rows]


def test_what_was_left_out_of_the_data_is_said() -> None:
    found = predictions(answered(TRUTHS[0]))
    found.problem.update({"skipped": {"their pose is not finite": 17}, "hold_out": "blocks:10/3"})
    text = Report(report_lines(evaluate(found), found)).text()
    assert "left out: 17 pictures, their pose is not finite." in text
    assert "2 queries (blocks:10/3)" in text


def test_pose_numbers_are_read_back() -> None:
    assert answered(pose_at(1, 2, 3)).answer.error_to(pose_at(1, 2, 3))[0] < 1e-12
