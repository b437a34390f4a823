"""How much a command says while it works, and where."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import sfumato
from sfumato.cli import output
from sfumato.cli.output import long_work, note, speak, speak_as_usual


@pytest.fixture(autouse=True)
def as_usual() -> Iterator[None]:
    yield
    speak_as_usual()


def work(seconds: float) -> None:
    with long_work() as progress:
        progress("matching pictures", 0, 40)
        progress("matching pictures", 12, 40)
        time.sleep(seconds)


def test_long_work_in_a_pipe_says_now_and_then_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "SECONDS_BETWEEN_LINES", 0.02)
    speak("map build", quiet=False, verbose=False)
    work(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert re.fullmatch(r"sfumato: map build: matching pictures, 12 of 40, \d s", lines[0])


def test_work_that_reports_nothing_is_still_said_to_be_alive(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "SECONDS_BETWEEN_LINES", 0.02)
    speak("plan", quiet=False, verbose=False)
    with long_work():
        time.sleep(0.5)
    assert re.match(r"sfumato: plan: \d s\n", capsys.readouterr().err)


def test_short_work_and_quiet_work_say_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    speak("plan", quiet=False, verbose=False)
    work(0.0)
    monkeypatch.setattr(output, "SECONDS_BETWEEN_LINES", 0.02)
    speak("plan", quiet=True, verbose=False)
    work(0.2)
    note("a remark")
    assert not capsys.readouterr().err


def test_verbose_work_names_its_stages_once(capsys: pytest.CaptureFixture[str]) -> None:
    speak("map build", quiet=False, verbose=True)
    work(0.0)
    assert capsys.readouterr().err == "sfumato: map build: matching pictures begins, 40 to do\n"


def test_a_command_logs_what_happens_and_no_name_of_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from PIL import Image

    from support import photograph

    (tmp_path / "secret-place").mkdir()
    Image.fromarray(photograph()[:96, :96]).save(tmp_path / "secret-place" / "secret-name.png")
    words = ("extract", tmp_path / "secret-place", "-o", tmp_path / "f.h5", "--quiet")
    assert sfumato(*words) == 0
    assert not capsys.readouterr().err
    again = ("-v", "extract", tmp_path / "secret-place", "-o", tmp_path / "g.h5")
    assert sfumato(*again) == 0
    told = capsys.readouterr().err
    assert "sfumato: extract: extracting begins, 1 to do" in told
    assert re.search(r"sfumato: extract: done after \d", told)
    assert "secret" not in told
    assert sfumato("extract", tmp_path / "none.png") == 2
    assert capsys.readouterr().err.count("\n") == 1  # the next command is as quiet as ever


def test_errors_are_printed_however_quiet_a_command_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("--quiet", "map", "info", tmp_path) == 2
    assert "not a stored map" in capsys.readouterr().err
    assert sys.stderr is not None
