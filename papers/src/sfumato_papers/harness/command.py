"""The command of an experiment, made from its settings, a function that runs and one that tells."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from sfumato.cli.options import Running
from sfumato.cli.output import JsonFlag, emit_json, long_work
from sfumato.core.errors import InvalidInput
from sfumato_papers.harness.options import check_needed, parameter, parameters, read_settings
from sfumato_papers.harness.outcomes import plain, stored
from sfumato_papers.harness.table import Table
from sfumato_papers.harness.work import progress_shown_by


@dataclass(frozen=True)
class Report:
    """What is printed: tables and sentences for people, facts for machines."""

    lines: Sequence[str | Table]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def text(self, *, markdown: bool = False) -> str:
        found: list[str] = []
        for one in self.lines:
            if isinstance(one, str):
                found.append(one)
            else:
                found += one.markdown() if markdown else one.text()
        return "\n".join(found) + "\n"


Settings = TypeVar("Settings")
_HINTS = get_type_hints(Running, include_extras=True)


def make_command(
    settings: type[Settings],
    run: Callable[[Settings, Path], Any],
    report: Callable[[Path, Settings, Any], Report],
    output: str,
    *,
    file: str = "outcomes.jsonl",
    writes: str = "Folder for outcomes and the plot.",
    evaluates: str = "Print the table of these outcomes, a file or its folder; run nothing.",
) -> Callable[..., None]:
    """A function that typer makes a command of; its help is the docstring of the settings.

    run     makes the outcomes in a file (or folder) of this name in the folder of the output;
            what it returns is handed to the report
    report  reads them back; its last argument is None where nothing was run
    output  the folder by default, with {fields} of the settings in it
    """

    def command(**given: Any) -> None:
        wanted, kept = given.pop("output"), given.pop("evaluate")
        as_json, as_markdown = given.pop("as_json"), given.pop("markdown")
        if as_json and as_markdown:
            raise InvalidInput("--json and --markdown are two ways to print; give one.")
        running = Running(given.pop("on"), given.pop("workers"))
        chosen: Settings = read_settings(settings, given)
        ran = None
        if kept is not None and running != Running():
            raise InvalidInput(
                "--on and --workers are for running, and --evaluate runs nothing; leave them out."
            )
        if kept is None:
            check_needed(chosen)
            usual = wanted == Path(output)
            path = (Path(output.format(**vars(chosen))) if usual else wanted) / file
            with long_work() as bar, progress_shown_by(bar), running.started():
                ran = run(chosen, path) or ()
        else:
            path = _kept(kept, file)
        found = report(path, chosen, ran)
        if as_json:
            emit_json(plain(found.facts))
        else:
            sys.stdout.write(found.text(markdown=as_markdown))

    every = [
        *parameters(settings),
        parameter(
            "output", Annotated[Path, typer.Option("--output", "-o", help=writes)], Path(output)
        ),
        *(parameter(one.name, _HINTS[one.name], one.default) for one in fields(Running)),
        parameter("evaluate", Annotated[Path | None, typer.Option(help=evaluates)], None),
        parameter(
            "markdown", Annotated[bool, typer.Option("--markdown", help="Print Markdown.")], False
        ),
        parameter("as_json", JsonFlag, False),
    ]
    changed: Any = command
    changed.__doc__ = settings.__doc__
    changed.__signature__ = inspect.Signature(every)
    changed.__annotations__ = {one.name: one.annotation for one in every}
    return command


def _kept(given: Path, file: str) -> Path:
    """The outcomes themselves, or those in a folder."""
    inside = given / file
    return inside if stored(inside).exists() or (given.is_dir() and inside.suffix) else given
