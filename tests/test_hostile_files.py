"""A few hundred mutated files, as `endurance/files.py` reads ten thousand; and what it notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from endurance import files
from endurance.rig import Findings


def test_mutated_files_are_read_or_refused_and_open_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert files.main(["--count", "500", "--seed", "20", "--batch", "500", "--no-strace"]) == 0
    out = capsys.readouterr().out
    assert "together:   500 files" in out
    assert "InvalidInput" in out


def test_an_opening_of_a_canary_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"secret")
    watch = files.Watch(tmp_path)
    assert not watch.touched()
    assert list(tmp_path.iterdir())  # a folder may be listed
    assert not watch.touched()
    (tmp_path / "key").read_bytes()
    assert watch.touched()
    assert not watch.touched()
    watch.close()


@pytest.mark.parametrize(
    ("outcome", "opened", "grown"),
    [
        ("RAISED KeyError: 'x'", [], 0),
        ("LEAKED", [], 0),
        ("read", ["/etc/hostname"], 0),
        ("InvalidInput", [], 1 << 30),
    ],
)
def test_what_breaks_a_promise_is_reported(
    tmp_path: Path, outcome: str, opened: list[str], grown: int
) -> None:
    findings = Findings()
    trial = files.Trial(tmp_path, findings, trace=False)
    sound = {"number": 1, "outcome": "DamagedFile", "opened": [], "grown": 0}
    trial._judge(sound, "h5")
    assert findings.close() == 0
    trial._judge({"number": 2, "outcome": outcome, "opened": opened, "grown": grown}, "h5")
    trial.close()
    assert findings.close() == 1


def test_a_process_that_ends_early_costs_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = Findings()
    trial = files.Trial(tmp_path, findings, trace=False)
    monkeypatch.setattr(trial, "_read", lambda _, left: (min(1, len(left)), "code -11"))
    trial.batch(range(4))
    trial.close()
    assert findings.close() == 1
    assert sum(counts["CRASHED"] for counts in trial.outcomes.values()) == 2
