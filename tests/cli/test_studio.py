"""`sfumato studio`: writes or serves, and says so."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from commands import sfumato


def test_writes_plain_files_and_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sfumato("studio", "-o", tmp_path / "site", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] > 10
    assert (tmp_path / "site" / "index.html").is_file()


def test_options_that_contradict_each_other_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("studio", "-o", tmp_path, "--open") == 2
    assert "leave --server and --open out" in capsys.readouterr().err


def test_serves_on_this_machine_alone_and_tells_where() -> None:
    command = [sys.executable, "-c", "from sfumato.cli.app import main; main()"]
    with subprocess.Popen(
        [*command, "studio", "--port", "0", "--json"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["url"].startswith("http://127.0.0.1:")
        with urllib.request.urlopen(told["url"]) as answer:
            assert b"<title>Studio" in answer.read()
        process.terminate()
