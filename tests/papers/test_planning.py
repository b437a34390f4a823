"""The planning experiment: what was predicted stands beside what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import sfumato, sfumato_json
from server.mapping.worlds import write_scene
from sfumato.core.accounting import PrivateAnswer
from sfumato.privacy.plan import Choice, Plan
from sfumato.privacy.price import price_of
from sfumato.privacy.rehearsal import Setting
from sfumato_papers.ours import planning
from sfumato_papers.ours.planning import JOURNAL, Outcome
from sfumato_papers.ours.planning_table import rows

CHOSEN = Setting(0, 16_384, 1, 300)


def outcomes(way: str, epsilon: float, localized: int, of: int) -> list[Outcome]:
    return [
        Outcome(way, epsilon, f"{way}-{i}", 0, f"group-{i // 2}", i < localized) for i in range(of)
    ]


def test_rows_tell_price_shares_and_how_far_they_are_apart() -> None:
    made = [
        *outcomes("stretches", 8.0, 6, 10),
        *outcomes("stated", 8.0, 8, 10),
        *outcomes("measured", 8.0, 7, 10),
        *outcomes("measured", 7.0, 1, 10),
    ]
    first, second = rows(made, {"num_words": 16_384, "subset_size": 1, "max_keypoints": 1104})
    assert (first["epsilon"], first["measured"]) == (7.0, 0.1)
    assert "stretches_difference" not in first
    assert second["total"] == 8832
    assert round(second["picture"]) == 1832
    assert second["stretches_difference"] == pytest.approx(-0.1)
    assert second["stated_difference"] == pytest.approx(0.1)
    low, high = second["measured_interval_95"]
    assert low < 0.7 < high


def test_a_run_predicts_measures_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plans: list[dict[str, Any]] = []

    def chosen(*_: Any, **given: Any) -> Plan:
        plans.append(given)
        paid = price_of(PrivateAnswer(12.0, 16_384), 300)
        best = Choice(CHOSEN, 12.0, paid, 3, 3, (0.4, 1.0), 9.0, 0.1, is_fresh=True)
        return Plan(
            unit="picture", share=0.9, at_most=None, recommended=best, others=(), view_changes=(),
            question=given["question"], num_trials=50, seconds=1.0,
        )  # fmt: skip

    monkeypatch.setattr(planning, "plan", chosen)
    scene = write_scene(tmp_path / "wall", num_images=8)
    asked = ["--data", scene, "--queries", "step:4", "--trials", 3, "--draws", 1]
    asked += ["--around=-20,0", "-o", tmp_path / "out"]
    facts = sfumato_json("experiment planning", capsys, *asked)
    assert [row["epsilon"] for row in facts["rows"]] == [2.0, 12.0]  # never below the least
    worst, best = facts["rows"]
    assert best["measured"] > 0
    assert worst["measured"] == worst["stretches"] == 0
    assert best["measured_answers"] == 2
    assert best["stretches_answers"] == best["stated_answers"] == 3
    assert set(facts["views"]) == {"stretches", "stated", "measured"}
    path = tmp_path / "out" / "outcomes.jsonl"
    before = path.read_text(encoding="utf-8")
    head, made = JOURNAL.read(path)
    assert head["queries"] == 2
    names = {one.picture for one in made if one.way == "measured"}
    assert not names & {one.picture for one in made if one.way != "measured"}
    assert sfumato("experiment", "planning", *asked) == 0
    assert path.read_text(encoding="utf-8") == before
    assert len(plans) == 1
    text = capsys.readouterr().out
    assert "1 of 16,384 words each, ε = 12 per descriptor" in text
    assert "not protected" in text
    assert json.loads(before.splitlines()[1])["kind"] == "plan"


def test_a_run_that_stopped_before_its_plan_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = {"kind": "planning", "format": 1, "data": "room", "fingerprint": "a"}
    (tmp_path / "outcomes.jsonl").write_text(json.dumps(head) + "\n")
    assert sfumato("experiment", "planning", "--evaluate", tmp_path) == 2
    assert "holds no plan yet; run the experiment again" in capsys.readouterr().err
