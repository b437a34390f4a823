"""Stated errors beside true ones, on a small scene."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.mapping.worlds import write_scene
from sfumato_papers.ours.accuracy import JOURNAL, Outcome, Settings, run_accuracy
from sfumato_papers.ours.accuracy_table import report, rows


def test_stated_and_true_errors_come_side_by_side(tmp_path: Path) -> None:
    scene = write_scene(tmp_path / "scene", num_images=7)
    settings = Settings(data=(scene,), epsilons=(12.0,), factors=(1.4,), num_seeds=1)
    path = tmp_path / "out" / "outcomes.jsonl"
    run_accuracy(settings, path)
    _, outcomes = JOURNAL.read(path)
    assert len(outcomes) == 2 * 2 * 2  # queries, raw and ε = 12, right and wrong
    before = path.read_bytes()
    run_accuracy(settings, path)
    assert path.read_bytes() == before
    told = report(path, settings, None)
    assert "not protected" in str(told.lines)
    assert (tmp_path / "out" / "accuracy.png").stat().st_size > 1000
    found = told.facts["rows"]
    assert {row["factor"] for row in found} <= {1.0, 1.4}
    assert any(row["localized"] for row in found)
    assert all(row["silent"] == 0 for row in found)


def test_an_answer_is_inside_or_silently_wrong() -> None:
    near, far = (
        Outcome("a", 8.0, 1.0, 0, f"{error}", True, 30, error, 0.1, (1.0, 0, 0), (1.0, 0, 0), 1.0)
        for error in (1.0, 9.0)
    )
    assert near.radius("position") == pytest.approx(1.645, rel=0.01)
    assert near.is_inside("position")
    assert not near.is_inside("position", 0.5)
    [row] = rows([near, far])
    assert row["position"]["share"] == 0.5
    assert row["rotation"]["share"] == 1
    assert row["silent"] == 1
