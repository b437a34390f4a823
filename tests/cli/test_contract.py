"""One contract over every command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from sfumato.cli.app import main
from sfumato.cli.registry import app


def commands(group: Any, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            yield from commands(command, (*prefix, name))
        else:
            yield (*prefix, name), command


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_has_one_example(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert shown.count("Example:") == 1
    assert f"sfumato {' '.join(words)}" in " ".join(shown.split("Example:")[1].split())


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_machines_can_ask_for_json(words: tuple[str, ...]) -> None:
    options = {option for param in COMMANDS[words].params for option in param.opts}
    assert "--json" in options


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_unknown_options_end_with_one_sentence(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--no-such-option"])
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).with_name("sfumato")
    run = subprocess.run([command], capture_output=True, text=True, check=True)
    assert "Usage: sfumato" in run.stdout
