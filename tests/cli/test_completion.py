"""`sfumato completion`, and what a shell is told when it asks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from commands import sfumato, sfumato_json


def completed(line: str) -> str:
    """What bash is offered behind this line."""
    environment = {
        **os.environ,
        "_SFUMATO_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - (not line.endswith(" "))),
    }
    program = [sys.executable, "-c", "from sfumato.cli.app import main; main()"]
    run = subprocess.run(program, capture_output=True, text=True, check=False, env=environment)
    return run.stdout


def test_commands_groups_and_options_are_completed() -> None:
    assert completed("sfumato att").split() == ["attack"]
    assert completed("sfumato attack ").split() == ["photo", "release"]
    assert "--follow-plan" in completed("sfumato ask photo --fol")


def test_the_script_of_a_shell_is_printed_and_nothing_is_installed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert sfumato("completion", "bash") == 0
    script = capsys.readouterr().out
    assert "_SFUMATO_COMPLETE" in script
    assert sfumato_json("completion", capsys, "bash")["script"].strip() == script.strip()
    assert sfumato("completion", "tcsh") == 2
    assert "must be one of bash" in capsys.readouterr().err
