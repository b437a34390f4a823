"""Recipes, predictions on disk, and tables that say what the predictions say."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from queries import NESTED, PROBLEM, QUERIES, TRUTHS
from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.types import Pose
from sfumato_papers.harness.command import Report
from sfumato_papers.harness.table import wilson
from sfumato_papers.ldp_feat.localization import run_localization, settings_of
from sfumato_papers.ldp_feat.localization_predictions import (
    Prediction,
    Predictions,
    Setting,
    describe_problem,
    open_predictions,
    read_predictions,
)
from sfumato_papers.ldp_feat.localization_rows import choose_rows, evaluate
from sfumato_papers.ldp_feat.localization_settings import Settings
from sfumato_papers.ldp_feat.localization_table import report_lines
from sfumato_papers.ldp_feat.poses import judge, pose_numbers
from synthetic import pose_at

SMALL = Settings(epsilons=(8.0,), words=(512,), num_seeds=2, iterations=500)


def predict(path: Path, settings: Settings = SMALL) -> Path:
    run_localization(PROBLEM, {"tiny": NESTED}, settings, path)
    return path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return predict(tmp_path_factory.mktemp("run") / "predictions.jsonl")


def test_both_recipes_are_asked_the_same_and_raw_and_quantised_come_along() -> None:
    chosen = replace(SMALL, words=("auto", 64), subset_sizes=(1, 2), matching=("nearest",))
    settings = settings_of(chosen, {"tiny": NESTED}, has_control=True)
    assert len(set(settings)) == len(settings)
    assert sum(setting.recipe == "raw" and not setting.is_control for setting in settings) == 1
    ours, paper = (
        {
            (setting.num_words, setting.subset_size, setting.epsilon)
            for setting in settings
            if setting.recipe == recipe and not setting.is_control
        }
        for recipe in ("sfumato", "paper")
    )
    assert ours == paper
    assert (64, 1, np.inf) in ours
    assert (64, 2, np.inf) not in ours
    assert {setting.matching for setting in settings if setting.recipe == "paper"} == {"nearest"}
    assert not any(setting.is_control for setting in settings if setting.recipe == "paper")
    assert not any(s.is_control for s in settings_of(chosen, {"tiny": NESTED}, has_control=False))


@pytest.mark.parametrize(
    "wrong",
    [
        {"recipes": ("theirs",)},
        {"matching": ("fuzzy",)},
        {"epsilons": (0.0,)},
        {"words": (1,)},
        {"subset_sizes": (0,)},
        {"num_seeds": 0},
        {"max_keypoints": 3},
    ],
)
def test_a_grid_without_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        replace(SMALL, **wrong)


def test_thresholds_are_inclusive_and_both_must_hold() -> None:
    truth = pose_at(0, 0, 0)
    assert judge(pose_at(0.25, 0, 0), truth) == ((True, True, True), False)
    assert judge(pose_at(0.26, 0, 0), truth) == ((False, True, True), False)
    assert judge(pose_at(0, 0, 0, turn_deg=4), truth) == ((False, True, True), False)
    assert judge(pose_at(0.5, 0, 0, turn_deg=9), truth) == ((False, False, True), False)
    assert judge(pose_at(4, 0, 0, turn_deg=9), truth) == ((False, False, True), True)
    assert judge(pose_at(0, 0, 0, turn_deg=11), truth) == ((False, False, False), True)
    assert judge(pose_at(6, 0, 0), truth) == ((False, False, False), True)
    assert judge(None, truth) == ((False, False, False), False)


def test_intervals_are_wilsons() -> None:
    assert wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-3)
    assert wilson(10, 10) == pytest.approx((0.7225, 1), abs=1e-3)
    assert wilson(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-3)


def test_a_run_writes_every_answer_once_and_poses_survive_the_file(done: Path) -> None:
    found = read_predictions(done)
    settings = settings_of(SMALL, {"tiny": NESTED}, has_control=False)
    keys = {prediction.key for prediction in found.predictions}
    assert len(keys) == len(found.predictions)
    assert {setting for setting, _, _ in keys} == set(settings)
    for prediction in found.predictions:
        assert prediction.seed in ((0, 1) if prediction.setting.epsilon == 8.0 else (0,))
    np.testing.assert_allclose(found.truth["room/q0.png"].rotation, TRUTHS[0].rotation, atol=1e-12)  # type: ignore[union-attr]
    assert found.dictionaries["tiny"]["levels"] == [64, 512]


def test_a_stopped_run_goes_on_and_gives_the_same(done: Path, tmp_path: Path) -> None:
    lines = done.read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(lines[:6]) + lines[6][:40])  # killed in the middle of a line
    predict(cut)
    again, whole = read_predictions(cut), read_predictions(done)
    assert cut.read_bytes().startswith(b"".join(lines[:6]))
    unhurried = [replace(prediction, seconds=0.0) for prediction in whole.predictions]
    assert [replace(prediction, seconds=0.0) for prediction in again.predictions] == unhurried
    size = cut.stat().st_size
    predict(cut)
    assert cut.stat().st_size == size


def test_predictions_of_two_problems_are_not_mixed(done: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(done.read_bytes())
    with pytest.raises(Mismatch, match="another map"):
        open_predictions(copy, replace(PROBLEM, queries=QUERIES[:1]), {})
    with pytest.raises(Mismatch, match="another dictionary"):
        open_predictions(copy, PROBLEM, {"tiny": NESTED.at(64)})


def test_damaged_predictions_are_told_by_line(done: Path, tmp_path: Path) -> None:
    lines = done.read_text().splitlines()
    bad = tmp_path / "bad.jsonl"
    bad.write_text("\n".join([*lines[:3], lines[3][:50]]))
    with pytest.raises(DamagedFile, match="line 4"):
        read_predictions(bad)
    bad.write_text("\n".join([*lines[:3], '{"kind": "prediction"}']))
    with pytest.raises(DamagedFile, match="line 4"):
        read_predictions(bad)
    bad.write_text(lines[3])
    with pytest.raises(InvalidInput, match="first line"):
        read_predictions(bad)
    with pytest.raises(InvalidInput, match="no file"):
        read_predictions(tmp_path / "none.jsonl")


def test_the_tables_figures_are_those_of_the_predictions(done: Path) -> None:
    found = read_predictions(done)
    rows = evaluate(found)
    for row in rows:
        own = [entry for entry in found.predictions if entry.setting == row["setting"]]
        assert row["answers"] == len(own)
        assert row["poses_returned"] == sum(entry.pose is not None for entry in own)
        assert row["median_matches"] == np.median([entry.num_matches for entry in own])
        good = 0
        for entry in own:
            truth = found.truth[entry.query]
            if entry.answer is not None and truth is not None:
                distance, degrees = entry.answer.error_to(truth)
                good += distance <= 0.25 and degrees <= 2
        assert row["within"][0]["share"] == good / len(own)
        if row["setting"].epsilon == 8.0:
            assert row["epsilon_per_picture"] == 8 * row["mean_keypoints"]
    ours = next(row for row in rows if row["setting"].recipe == "sfumato" and row["seeds"] == 2)
    assert [one["share"] for one in ours["within"]] == [1, 1, 1]
    text = Report(report_lines(rows, found)).text()
    assert "100 [34–100]" in text  # two queries, whatever the number of draws
    assert "not for sending" in text


def test_the_best_is_chosen_for_the_paper_and_the_rule_for_ours(done: Path) -> None:
    found = read_predictions(done)
    rows = evaluate(found)
    paper = next(row for row in rows if row["setting"].recipe == "paper" and row["seeds"] == 2)
    none, all_of_them = ([{"share": share}] * 3 for share in (0, 1))
    smaller = replace(paper["setting"], num_words=64)
    worse = {**paper, "setting": smaller, "within": none, "wrong_poses": 4}
    best = {**paper, "within": all_of_them, "wrong_poses": 0}
    shown = choose_rows([worse, best], found)
    assert [(row["setting"].num_words, row["chosen"]) for row in shown] == [(512, "best of 2")]
    ours = next(row for row in rows if row["setting"].recipe == "sfumato" and row["seeds"] == 2)
    assert [row["chosen"] for row in choose_rows([ours], found)] == ["rule"]


def test_in_the_control_every_pose_is_wrong() -> None:
    setting = Setting("sfumato", is_control=True)
    pose = tuple(pose_numbers(TRUTHS[0]))
    answer = Prediction(setting, 0, "room/q0.png", 9, pose, 20, 30, -9.0, 0.1, None)
    found = read_like([answer])
    assert evaluate(found)[0]["wrong_poses"] == 1
    assert "1 poses returned" in Report(report_lines(evaluate(found), found)).text()


def read_like(answers: list[Prediction]) -> Predictions:
    truth: dict[str, Pose | None] = {query.name: query.truth for query in QUERIES}
    return Predictions(describe_problem(PROBLEM), truth, {}, tuple(answers))


def test_a_list_of_pairs_replaces_retrieval(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("room/q0.png room/2.png\nroom/q0.png room/0.png\nroom/other.png room/1.png\n")
    path = predict(tmp_path / "p.jsonl", replace(SMALL, pairs=pairs, num_seeds=1, epsilons=(8.0,)))
    for entry in read_predictions(path).predictions:
        assert (entry.pose is None) == (entry.query == "room/q1.png")


def test_lifted_queries_are_a_row_without_epsilon(tmp_path: Path) -> None:
    settings = replace(SMALL, recipes=("sfumato",), num_seeds=1, dimensions=(2,), epsilons=())
    found = read_predictions(predict(tmp_path / "p.jsonl", settings))
    rows = {row["setting"].recipe: row for row in choose_rows(evaluate(found), found)}
    lifted = rows["lifted"]
    assert (lifted["setting"].strategy, lifted["setting"].dimension) == ("sub-hybrid", 2)
    assert lifted["epsilon_per_picture"] is None
    assert lifted["within"][0]["share"] == 1
    shown = Report(report_lines([*rows.values()], found)).text()
    assert "lifted sub-hybrid, m = 2" in shown
    assert "no guarantee exists" in shown


class OwnQuantize:
    """Somebody's own mechanism: the nearest word, without noise."""

    def __init__(self, dictionary: sf.Dictionary) -> None:
        self._inner = sf.Quantize(dictionary)

    def event(self, features: sf.Features) -> sf.PrivacyEvent:
        return self._inner.event(features)

    def release(self, features: sf.Features, *, rng: Any, camera: Any = None) -> sf.Release:
        return self._inner.release(features, rng=rng, camera=camera)


def test_a_mechanism_of_one_s_own_is_a_row_beside_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mine", sys.modules[__name__])
    settings = replace(
        SMALL, recipes=("sfumato",), num_seeds=1, mechanisms=("mine:OwnQuantize",), epsilons=()
    )
    found = read_predictions(predict(tmp_path / "p.jsonl", settings))
    rows = {row["setting"].recipe: row for row in choose_rows(evaluate(found), found)}
    assert rows["own"]["epsilon_per_picture"] is None
    assert rows["own"]["within"][0]["share"] == 1
    assert "own mine:OwnQuantize" in Report(report_lines([*rows.values()], found)).text()
    with pytest.raises(InvalidInput, match="no such name"):
        predict(tmp_path / "q.jsonl", replace(settings, mechanisms=("mine:Nothing",)))
