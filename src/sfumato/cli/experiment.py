"""`sfumato experiment`: the tables of the papers, from a package of their own.

Each entry point of the group `sfumato.experiments` is a function that becomes a command. One is
loaded when it is asked for, so that other commands do not wait for it.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from sfumato.cli.command import LazyGroup, make_command
from sfumato.core.errors import Missing

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "sfumato.experiments"
INSTALL = "pip install --editable papers"


def find_experiments() -> dict[str, EntryPoint]:
    """The experiments that are installed, by name."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _first_line(entry: EntryPoint) -> str:
    """What the module of an experiment says it is; the module is read, not imported."""
    from importlib.util import find_spec

    spec = find_spec(entry.module)
    if spec is None or spec.origin is None:
        return ""
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").split("\n")[0]


class Experiments(LazyGroup):
    """A group whose commands are entry points."""

    def __init__(self) -> None:
        text = "Run the experiments of the papers, beside their figures."
        super().__init__(
            {}, help=f"{text}\n\nThey are the package sfumato-papers: {INSTALL}.", short_help=text
        )

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(find_experiments())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        installed = find_experiments()
        if not installed:
            raise Missing(
                f"the experiments are a package of their own, which is not installed; in a copy of "
                f"the repository, run `{INSTALL}`."
            )
        if cmd_name not in installed:
            return None
        if self._only_listed:
            return TyperCommand(cmd_name, short_help=_first_line(installed[cmd_name]))
        return make_command(cmd_name, installed[cmd_name].load())
