"""`sfumato experiment` finds what is installed, and says what to do where nothing is."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from commands import sfumato
from sfumato.cli import experiment


def test_without_the_package_one_sentence_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(experiment, "find_experiments", dict)
    assert sfumato("experiment", "sfm") == 2
    shown = capsys.readouterr().err.strip()
    assert "pip install --editable papers" in shown
    assert len(shown.splitlines()) == 1
    assert sfumato("experiment", "--help") == 0
    assert "pip install --editable papers" in capsys.readouterr().out


def test_an_entry_point_is_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = EntryPoint("mine", "cli.test_experiment:mine", experiment.GROUP)
    monkeypatch.setattr(experiment, "find_experiments", lambda: {"mine": found})
    assert sfumato("experiment", "mine", "--count", 3) == 0
    assert capsys.readouterr().out == "3\n"
    assert sfumato("experiment", "other") == 2
    assert "No such command 'other'" in capsys.readouterr().err


def mine(count: int = 1) -> None:
    """A command of somebody else's package."""
    sys.stdout.write(f"{count}\n")


def test_other_commands_do_not_wait_for_experiments() -> None:
    code = "import sys, sfumato.cli.app; print('sfumato_papers' in sys.modules)"
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "False\n"


def test_frontier_is_short_for_its_experiment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = EntryPoint("frontier", "cli.test_experiment:mine", experiment.GROUP)
    monkeypatch.setattr(experiment, "find_experiments", lambda: {"frontier": found})
    assert sfumato("frontier", "--count", 2) == 0
    assert capsys.readouterr().out == "2\n"
    assert sfumato("--help") == 0
    assert "sfumato frontier, short for sfumato experiment frontier" in " ".join(
        capsys.readouterr().out.split()
    )
