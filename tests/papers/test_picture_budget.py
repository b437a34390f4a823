"""A fixed budget per picture: which splits are tried, chosen, judged and recommended."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commands import sfumato
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.datasets.scenes import Problem, Query
from sfumato_papers.harness.command import Report
from sfumato_papers.harness.outcomes import Kept
from sfumato_papers.ours.picture_budget import (
    JOURNAL,
    Outcome,
    Settings,
    Split,
    best_of,
    run_budget,
    shares,
)
from sfumato_papers.ours.picture_budget_table import advise, draw_plot, report_lines
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

ROOM = make_room(1500)
WORLD = replace(
    make_map(ROOM, MAPPING_POSES[:6]), image_names=tuple(f"room/{i}.png" for i in range(6))
)
TRUTH = pose_at(-1.2, 0.1, 0.2, turn_deg=3)
QUERY = Query("room/q.png", "room", ROOM.look(TRUTH, seed=40)[0], CAMERA, TRUTH)
PROBLEM = Problem("a room", WORLD, (QUERY,), ("room",))
SMALL = Settings(
    budgets=(1600,),
    epsilons=(8,),
    words=(64, 512),
    keep_by=("strength",),
    num_seeds=1,
    dictionary="tiny",
)


def run(path: Path, settings: Settings = SMALL) -> Kept[Outcome]:
    return run_budget(PROBLEM, DICTIONARY.with_levels((64,)), settings, path)


def test_few_strong_words_localize_where_many_weak_ones_do_not(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    file = run(path)
    head, outcomes = JOURNAL.read(path)
    assert {outcome.key for outcome in outcomes} == set(file.outcomes)
    # Two levels choose with one draw; the better of them and both baselines are judged.
    assert len(outcomes) == 5
    assert all(outcome.spent <= 1600 + 1e-9 for outcome in outcomes)
    (advice,) = advise(head, outcomes)
    assert advice["chosen_by"]["num_keypoints"] == 200
    shares_of = advice["judged"]["share"], advice["all_keypoints"]["share"]
    assert (*shares_of, advice["gain"]) == (1, 0, 1)
    assert not advice["intervals_apart"]  # one answer each proves nothing
    shown = Report(report_lines(head, outcomes, every=True)).text()
    for words in (
        "per descriptor",
        "N: not protected",
        "All splits",
        "send 200 keypoints",
        "within",
    ):
        assert words in shown
    before = path.read_text(encoding="utf-8")
    path.write_text(before[:-30], encoding="utf-8")
    run(path)
    assert len(JOURNAL.read(path)[1]) == 5
    with pytest.raises(Mismatch, match="another dictionary"):
        run(path, replace(SMALL, dictionary="other"))


def outcome(seed: int, query: str, localized: bool, **changes: Any) -> Outcome:
    split = Split(1000.0, 100, 10.0, "strength", 1024, 1)
    given: dict[str, Any] = {
        "split": replace(split, **changes),
        "seed": seed,
        "query": query,
        "num_keypoints": 100,
        "spent": 1000.0,
        "is_localized": localized,
        "is_wrong": False,
        "num_inliers": 20,
        "seconds": 0.1,
    }
    return Outcome(**given)


def test_draws_that_choose_do_not_judge(tmp_path: Path) -> None:
    names = [f"q{i}" for i in range(10)]
    lucky = [outcome(0, name, True) for name in names] + [outcome(1, q, False) for q in names]
    other = [outcome(0, name, False, num_words=4096) for name in names]
    base: dict[str, Any] = {"num_keypoints": None, "epsilon": None}
    baseline = [outcome(1, name, False, **base) for name in names]
    found = [*lucky, *other, *baseline]
    (best,) = best_of(shares(found, tuning=True)).values()
    assert (best["num_words"], best["share"]) == (1024, 1.0)
    (advice,) = advise({"queries": 10}, found)
    assert advice["judged"]["share"] == 0
    assert advice["gain"] == 0
    good = [*found, *(outcome(seed, name, True) for seed in (2, 3) for name in names)]
    (advice,) = advise({"queries": 10}, good)
    assert advice["gain"] == pytest.approx(2 / 3)
    assert advice["intervals_apart"]
    draw_plot([advice], tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes()[:4] == b"\x89PNG"


def test_splits_spend_the_budget_and_no_more() -> None:
    settings = Settings(budgets=(1000,), epsilons=(8, 12), words=(1024,), keep_by=("strength",))
    assert [(s.num_keypoints, s.epsilon) for s in settings.splits()] == [(125, 8), (83, 1000 / 83)]
    (baseline,) = settings.baselines()
    assert baseline.is_baseline
    with pytest.raises(InvalidInput, match="a pose needs 4 keypoints"):
        Settings(budgets=(10,)).splits()
    for wrong in (0, -5, float("inf"), float("nan")):
        with pytest.raises(InvalidInput, match="budget must be"):
            Settings(budgets=(wrong,))
    with pytest.raises(InvalidInput, match="keep-by must be one of"):
        Settings(keep_by=("luck",))


def test_the_command_prints_what_is_on_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "outcomes.jsonl")
    assert sfumato("experiment", "budget", "--evaluate", tmp_path, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["advice"][0]["gain"] == 1
    assert Path(shown["plot"]).exists()
    assert sfumato("experiment", "budget", "--evaluate", tmp_path) == 0
    assert "B = 1600 per picture" in capsys.readouterr().out
    assert sfumato("experiment", "budget") == 2
    assert "give --data" in capsys.readouterr().err
