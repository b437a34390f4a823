"""The command line as the tests call it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sfumato.cli.app import main


def sfumato(*words: object) -> int:
    """Run one command in this process; its exit code."""
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


def sfumato_json(command: str, capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    """Run one command with --json; what it printed."""
    assert sfumato(*command.split(), *words, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert isinstance(result, dict)
    return result
