"""Print docs of every command, from the command line itself: markdown for the docs site.

Run by scripts/docs, which puts the output into the page docs/commands.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from sfumato.cli.registry import app


def walk(command: Any, path: tuple[str, ...] = ("sfumato",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command with the words that call it, groups before their commands."""
    yield path, command
    if hasattr(command, "list_commands"):
        context = command.context_class(command, info_name=path[-1])
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), (*path, name))


def describe(path: tuple[str, ...], command: Any) -> Iterator[str]:
    """Heading, what it does, its example as a block, its arguments and options as tables."""
    yield f"{'#' * len(path)} `{' '.join(path)}`\n"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        text = " ".join(paragraph.split())
        if text.startswith("Example: "):
            yield f"```bash\n{text.removeprefix('Example: ')}\n```\n"
        elif text:
            yield escape(text) + "\n"
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    for title, parameters in (("argument", arguments), ("option", options)):
        if parameters:
            yield f"| {title} | default | meaning |\n|---|---|---|"
            yield from (row(parameter) for parameter in parameters)
            yield ""


def row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = f"`{(parameter.metavar or parameter.name).upper()}`"
    else:
        name = ", ".join(f"`{word}`" for word in (*parameter.opts, *parameter.secondary_opts))
    value = parameter.default
    plain = isinstance(value, str | int | float | Path) and not isinstance(value, bool) and value != ""
    default = "required" if parameter.required else (f"`{value}`" if plain else "")
    return f"| {name} | {default} | {escape(getattr(parameter, 'help', None) or '')} |"


def escape(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


if __name__ == "__main__":
    for path, command in walk(typer.main.get_command(app)):
        if len(path) > 1:
            print("\n".join(describe(path, command)))
