"""How many descriptors see a person: counted on small pictures with known boxes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from annotated import write_annotated
from commands import sfumato
from sfumato_papers.ours.objects import JOURNAL, head_boxes
from support import photograph


@pytest.fixture
def street(tmp_path: Path) -> Path:
    for number in range(2):
        picture = photograph()[60 * number : 60 * number + 200, :240]
        write_annotated(tmp_path / "street", f"p{number}", picture, [(61, 21, 120, 180)])
    return tmp_path / "street"


def test_a_cap_lowers_what_sees_a_person_and_the_advantage(
    street: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("experiment", "objects", "--data", street, "-o", tmp_path / "out", "--cap", "9,3")
    assert sfumato(*asked, "--epsilon", "4", "--words", "4096", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["cap"] for row in rows] == [None, 9, 3]
    for name in ("keypoints", "see_a_person", "see_a_face", "face_advantage", "picture_exact"):
        values = [row[name] for row in rows]
        assert values == sorted(values, reverse=True), name
    assert all(0 < row["face_advantage"] <= row["face_advantage_most"] < 1 for row in rows[1:])
    assert all(row["picture_exact"] < row["picture_epsilon"] for row in rows)
    _, outcomes = JOURNAL.read(tmp_path / "out" / "outcomes.jsonl")
    assert len(outcomes) == 6
    before = (tmp_path / "out" / "outcomes.jsonl").read_bytes()
    assert sfumato(*asked, "--epsilon", "4", "--words", "4096") == 0
    assert "not protected" in capsys.readouterr().out
    assert (tmp_path / "out" / "outcomes.jsonl").read_bytes() == before


def test_a_head_is_the_upper_eighth_of_a_person() -> None:
    (box,) = head_boxes(np.array([[10.0, 20.0, 50.0, 100.0]]))
    assert box.tolist() == [25, 20, 35, 30]
