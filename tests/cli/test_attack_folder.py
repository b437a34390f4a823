"""A folder of releases whose attack was stopped, killed or damaged: the same command goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import sfumato, sfumato_json
from recoveries import WORDS, worded
from sfumato.cli import attack_folder

NUMBER = 4


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    """Releases of one picture each, beside the words they were made with."""
    WORDS.save(tmp_path / "words")
    folder = tmp_path / "sent"
    folder.mkdir()
    for number in range(NUMBER):
        data = worded(epsilon=6.0, draw=number)[0].to_bytes()
        (folder / f"{number}.sfr").write_bytes(data)
    return folder


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The releases that are attacked, as they come."""
    attacked: list[str] = []
    attack: Callable[..., Any] = attack_folder.attack_file

    def attack_file(attacker: Any, kept: Path | None, path: Path) -> dict[str, Any]:
        attacked.append(path.name)
        if attacked == ["0.sfr", "1.sfr", "2.sfr"]:  # in the middle of the first run
            raise KeyboardInterrupt
        found: dict[str, Any] = attack(attacker, kept, path)
        return found

    monkeypatch.setattr(attack_folder, "attack_file", attack_file)
    return attacked


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_stopped_attack_goes_on_with_what_is_left(
    sent: Path, counted: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (sent, "--dictionary", tmp_path / "words", "-o", tmp_path / "found")
    assert sfumato("attack", "release", *words) == 130
    assert not (tmp_path / "found").exists()
    capsys.readouterr()
    assert sfumato("attack", "release", *words, "--json") == 0
    assert "2 of 4 releases were attacked before" in capsys.readouterr().err
    assert counted == ["0.sfr", "1.sfr", "2.sfr", "2.sfr", "3.sfr"]
    assert not (tmp_path / "found.partial").exists()
    whole = (*words[:-1], tmp_path / "whole")
    sfumato_json("attack release", capsys, *whole)
    assert contents(tmp_path / "found") == contents(tmp_path / "whole")
    assert len(contents(tmp_path / "found")) == NUMBER


@pytest.mark.parametrize("harm", ["row", "found", "release"])
def test_what_was_changed_or_damaged_meanwhile_is_attacked_again(
    harm: str, sent: Path, counted: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (sent, "--dictionary", tmp_path / "words", "-o", tmp_path / "found")
    assert sfumato("attack", "release", *words) == 130
    file = {
        "row": tmp_path / "found.partial" / "rows" / "1.json",
        "found": tmp_path / "found.partial" / "found" / "1.npz",
        "release": sent / "1.sfr",
    }[harm]
    other = worded(epsilon=6.0, draw=9)[0].to_bytes()
    file.write_bytes(other if harm == "release" else file.read_bytes()[:-1])
    capsys.readouterr()
    rows = sfumato_json("attack release", capsys, *words)["releases"]
    assert counted[3:] == ["1.sfr", "2.sfr", "3.sfr"]
    assert [row["name"] for row in rows] == [f"{number}.sfr" for number in range(NUMBER)]


def test_other_words_or_a_folder_of_ones_own_are_not_gone_on_with(
    sent: Path, counted: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (sent, "--dictionary", tmp_path / "words")
    assert sfumato("attack", "release", *words, "-o", tmp_path / "found") == 130
    assert sfumato("attack", "release", sent, "-o", tmp_path / "found") == 2
    assert "other settings or other words" in " ".join(capsys.readouterr().err.split())
    (tmp_path / "mine.partial").mkdir()
    (tmp_path / "mine.partial" / "diary.txt").write_text("mine")
    assert sfumato("attack", "release", *words, "-o", tmp_path / "mine") == 2
    assert "not an unfinished attack" in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / "mine.partial" / "diary.txt").read_text() == "mine"


SLOW = """
import time
import numpy as np
from pathlib import Path
from sfumato.adversary.recover.base import Recovered

def guess(release):
    with Path("calls").open("a") as calls:
        calls.write("x")
    if len(Path("calls").read_text()) == 3:
        time.sleep(600)
    return Recovered(np.ones((len(release), 128), np.float32) / 128**0.5, np.ones(len(release)))
"""


def test_a_killed_attack_goes_on_where_it_was(sent: Path, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    code = "from sfumato.cli.app import main; main()"
    command = [sys.executable, "-c", code, "attack", "release", str(sent), "-o", "found"]
    command += ["--attack", "slow:guess"]
    calls = tmp_path / "calls"
    with subprocess.Popen(command, cwd=tmp_path) as running:
        end = time.monotonic() + 300
        while not calls.exists() or len(calls.read_text()) < 3:
            assert running.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
    assert not (tmp_path / "found").exists()
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300, stdout=subprocess.DEVNULL)
    assert len(calls.read_text()) == NUMBER + 1
    assert len(contents(tmp_path / "found")) == NUMBER
