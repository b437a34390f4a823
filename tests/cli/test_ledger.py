"""`sfumato ledger show`, and caps that are kept only with what they allowed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from commands import sfumato, sfumato_json
from sfumato.core.types import PrivacyEvent
from sfumato.device.ledger import Caps, Ledger


@pytest.fixture
def codes(tmp_path: Path) -> tuple[object, ...]:
    np.save(tmp_path / "codes.npy", np.zeros((3, 5), dtype=np.uint8))
    return ("classify", "protect", tmp_path / "codes.npy", "--values", 2, "--epsilon", 1)


def test_a_ledger_says_what_each_session_has_spent(
    tmp_path: Path, codes: tuple[object, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato(*codes, "-o", tmp_path / "a.sfr", "--session", "town", "--cap", 40) == 0
    Ledger.default(session="bare").charge(PrivacyEvent("plain", None, 7, "one descriptor", ()))
    capsys.readouterr()
    shown = sfumato_json("ledger show", capsys)
    rows = {row["session"]: row for row in shown["sessions"]}
    assert (rows["town"]["epsilon_spent"], rows["town"]["epsilon_remaining"]) == (15, 25)
    assert (rows["town"]["pictures"], rows["town"]["units"]) == (3, 15)
    assert rows["bare"]["without_guarantee"] == 1
    assert shown["not_protected"]
    assert sfumato("ledger", "show") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "session 'town' has spent ε = 15 on 3 pictures; 25 left" in text
    assert "session 'bare' holds 1 of 1 pictures sent without a guarantee" in text
    assert "not protected the positions of the keypoints" in text
    shown = sfumato_json("ledger show", capsys, "--session", "bare")
    assert [row["session"] for row in shown["sessions"]] == ["bare"]


def test_the_history_has_every_charge_with_its_time(
    tmp_path: Path, codes: tuple[object, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    before = time.time()
    assert sfumato(*codes, "-o", tmp_path / "a.sfr", "--session", "town") == 0
    Ledger.default(session="town").charge(PrivacyEvent("plain", None, 7, "one descriptor", ()))
    capsys.readouterr()
    (town,) = sfumato_json("ledger show", capsys, "--history")["sessions"]
    *coded, plain = town["charges"]
    assert [(one["epsilon"], one["units"], one["num_values"]) for one in coded] == [(1, 5, 2)] * 3
    assert (plain["mechanism"], plain["epsilon"], plain["units"]) == ("plain", None, 7)
    assert all(before <= one["time"] <= time.time() for one in town["charges"])
    spent = sum(one["epsilon"] * one["units"] for one in coded)
    assert spent == town["epsilon_spent"]
    assert sfumato("ledger", "show", "--history") == 2
    assert "--json" in capsys.readouterr().err


def test_looking_makes_neither_a_ledger_nor_a_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("ledger", "show") == 2
    assert "nothing was charged yet" in capsys.readouterr().err
    assert not Path(os.environ["XDG_DATA_HOME"]).exists()
    Ledger(tmp_path / "ledger", session="one")
    assert sfumato("ledger", "show", "--ledger", tmp_path / "ledger", "--session", "two") == 2
    assert "has no session 'two'" in capsys.readouterr().err
    assert sfumato("ledger", "show", "--ledger", tmp_path / "ledger", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["sessions"]
    assert [row["session"] for row in rows] == ["one"]


def test_a_refused_command_leaves_no_cap_behind(
    tmp_path: Path, codes: tuple[object, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato(*codes, "-o", tmp_path / "a.sfr", "--cap", 14) == 2
    assert "the cap per session is ε = 14" in capsys.readouterr().err
    assert Ledger.default().spent().caps == Caps()
    assert sfumato(*codes, "-o", tmp_path / "a.sfr", "--cap", 20) == 0
    assert Ledger.default().spent().caps == Caps(session=20)
    assert sfumato(*codes, "-o", tmp_path / "b.sfr", "--cap", 16) == 2
    assert Ledger.default().spent().caps == Caps(session=20)
    assert sfumato(*codes, "-o", tmp_path / "b.sfr", "--cap", 50) == 2
    assert "can be lowered but not raised" in capsys.readouterr().err
