"""`sfumato experiment`: the tables of the papers, from a package of their own.

Each entry point of the group `sfumato.experiments` is a function that typer makes a command of.
One is loaded when it is asked for, so that other commands do not wait for it.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from sfumato.core.errors import Missing

GROUP = "sfumato.experiments"
INSTALL = "pip install --editable papers"


def find_experiments() -> dict[str, EntryPoint]:
    """The experiments that are installed, by name."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


class Experiments(TyperGroup):
    """A group whose commands are entry points."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(find_experiments())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = find_experiments()
        if not found:
            raise Missing(
                f"the experiments are a package of their own, which is not installed; in a copy of "
                f"the repository, run `{INSTALL}`."
            )
        if cmd_name not in found:
            return None
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(cmd_name)(found[cmd_name].load())
        return typer.main.get_command(alone)


app = typer.Typer(
    cls=Experiments,
    help=f"""Run the experiments of the papers, theirs and ours side by side.

    They are the package sfumato-papers: {INSTALL}.""",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def root() -> None:
    """Run the experiments of the papers, theirs and ours side by side."""
