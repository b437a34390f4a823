"""One contract over every command."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from commands import sfumato
from sfumato.cli.command import LazyGroup
from sfumato.cli.experiment import Experiments
from sfumato.cli.registry import COMMANDS as TREE
from sfumato.cli.registry import make_root

Words = tuple[str, ...]
METAVARS = {"IMAGE", "RELEASE", "MAP", "DICTIONARY", "FOLDER", "FILE", "SOURCE", "STORE", "BACKUP",
            "MODEL", "RUN", "WEIGHTS", "ID", "SHELL", "PUBLIC", "FACE", "ENROLLED"}  # fmt: skip


def commands(group: Any, prefix: Words = ()) -> Iterator[tuple[Words, Any]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            yield from commands(command, (*prefix, name))
        else:
            yield (*prefix, name), command


def functions(entries: Any, prefix: Words = ()) -> Iterator[tuple[Words, Any]]:
    for name, entry in entries.items():
        if isinstance(entry, LazyGroup):
            yield from functions(entry.entries, (*prefix, name))
        else:
            module, _, function = entry[0].partition(":")
            yield (*prefix, name), getattr(import_module(f"sfumato.cli.{module}"), function)


COMMANDS = dict(commands(make_root()))
OWN = dict(functions(TREE))  # those of this package, without the experiments
EVERY = pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
EVERY_OWN = pytest.mark.parametrize("words", OWN, ids=" ".join)


def test_every_command_is_looked_at() -> None:
    experiments = set(dict(commands(Experiments(), ("experiment",))))
    assert set(OWN) == set(COMMANDS) - experiments
    assert len(OWN) > 30


@EVERY
def test_help_has_one_example(words: Words, capsys: pytest.CaptureFixture[str]) -> None:
    assert sfumato(*words, "--help") == 0
    shown = capsys.readouterr().out
    assert shown.count("Example:") == 1
    assert f"sfumato {' '.join(words)}" in " ".join(shown.split("Example:")[1].split())


@EVERY
def test_machines_can_ask_for_json_and_people_for_more_or_less(words: Words) -> None:
    options = {option for param in COMMANDS[words].params for option in param.opts}
    assert {"--json", "--quiet", "--verbose"} <= options


@EVERY
def test_unknown_options_end_with_one_sentence(
    words: Words, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato(*words, "--no-such-option") == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


@EVERY_OWN
def test_every_default_is_shown_in_the_help(
    words: Words, capsys: pytest.CaptureFixture[str]
) -> None:
    sfumato(*words, "--help")
    shown = "".join(capsys.readouterr().out.split())
    for param in COMMANDS[words].params:
        if param.param_type_name == "option" and param.default not in (None, False):
            assert param.show_default, param.name
            default = "perceptual" if param.default is True else str(param.default)
            assert "".join(f"[default:{default}]".split()) in shown, param.name


@EVERY
def test_arguments_are_written_alike(words: Words, capsys: pytest.CaptureFixture[str]) -> None:
    sfumato(*words, "--help")
    shown = capsys.readouterr().out
    for param in COMMANDS[words].params:
        if param.param_type_name == "argument":
            usage = param.metavar if param.required else f"[{param.metavar}]"
            usage += "..." if param.nargs != 1 else ""
            assert shown.split("\n\n")[0].endswith(usage) or f" {usage} " in shown
            assert f"\n  {param.metavar}  " in shown


@EVERY_OWN
def test_arguments_are_named_alike(words: Words) -> None:
    arguments = [one for one in COMMANDS[words].params if one.param_type_name == "argument"]
    assert {one.metavar for one in arguments} <= METAVARS
    for one in COMMANDS[words].params:
        if (
            one.param_type_name == "option"
            and "path" in str(one.type_descriptor.annotation).lower()
        ):
            assert one.metavar, one.name


def rules(words: Words) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = COMMANDS[words].callback.rules
    return found


@EVERY_OWN
def test_every_option_is_used_by_its_command(words: Words) -> None:
    """What is not refused applies: the function, or the group of options, reads it."""
    function = OWN[words]
    hints = get_type_hints(function)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for name in inspect.signature(function).parameters:
        assert name in names, name
        kind = hints[name]
        if is_dataclass(kind):
            source = Path(inspect.getsourcefile(kind)).read_text(encoding="utf-8")  # type: ignore[arg-type]
            for field in fields(kind):
                assert f".{field.name}" in source, field.name


CASES = [
    (words, option, needed)
    for words in OWN
    for options, needed in rules(words)
    for option in options.split()
]


@pytest.mark.parametrize(("words", "option", "needed"), CASES, ids=lambda one: str(one))
def test_an_option_that_does_not_apply_is_refused_by_its_name(
    words: Words, option: str, needed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With everything a command requires, the option, and nothing of what it needs."""
    params = {flag: param for param in COMMANDS[words].params for flag in param.opts}
    others = needed.removeprefix("not ").split()
    for other in others:
        assert other.partition("=")[0] in params  # a table names options that exist
    given: list[str] = []
    for param in COMMANDS[words].params:
        if param.required and option not in param.opts:
            flag = [param.opts[-1]] if param.param_type_name == "option" else []
            given += [*flag, a_value(param)]
    given += typed(params[option], option)
    if needed.startswith("not "):
        other, valued, values = others[0].partition("=")
        if not valued:
            given += typed(params[other], other)
        elif str(params[other].default) not in values.split(","):
            given += [other, values.split(",")[0]]
        sentence = f"{option} does not apply with {other}"
    else:
        sentence = f"{option} applies only with"
        if others == ["--perceptual"]:
            given.append("--no-perceptual")
        elif "=" in needed and params[others[0].partition("=")[0]].default in needed:
            given += [others[0].partition("=")[0], "something-else"]
    assert sfumato(*words, *given) == 2
    told = capsys.readouterr().err
    assert sentence in told or f"{option} does not apply with" in told
    assert len(told.strip().splitlines()) == 1


def typed(param: Any, flag: str) -> list[str]:
    return [flag] if param.is_flag else [flag, a_value(param)]


def a_value(param: Any) -> str:
    kind = str(param.type_descriptor.annotation)
    return "1" if "int" in kind or "float" in kind else "x"


def test_quiet_and_verbose_may_stand_before_or_behind_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in (("--quiet", "-v", "audit"), ("-q", "audit", "--verbose"), ("audit", "-qv")):
        assert sfumato(*words) == 2
        assert "--quiet and --verbose contradict" in capsys.readouterr().err


def test_help_is_light() -> None:
    """Neither the command alone nor its help imports what other commands work with."""
    code = (
        "import sys\nfrom sfumato.cli.app import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('numpy', 'rich', 'cv2', 'scipy') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.endswith("[]\n")


def test_the_command_alone_says_what_to_do_first() -> None:
    command = Path(sys.executable).with_name("sfumato")
    run = subprocess.run([command], capture_output=True, text=True, check=True)
    assert "Usage: sfumato" in run.stdout
    assert "First: sfumato demo" in run.stdout
