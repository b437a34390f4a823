"""What every command shares: one JSON object or readable text, progress on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Table

from sfumato.core.progress import Progress, silent

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]


def emit_json(result: dict[str, Any]) -> None:
    """Print one JSON object; infinities become the text "inf", as JSON has none."""
    sys.stdout.write(json.dumps(_plain(result), ensure_ascii=False, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def emit_facts(title: str, facts: dict[str, Any]) -> None:
    """Print named values one to a line, the names aligned."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, str(value))
    console = Console(highlight=False)
    console.print(f"[bold]{title}[/bold]")
    console.print(table)


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on stderr where a person is watching, silence elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    with RichProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int) -> None:
            # "training: loss 0.31": what follows the colon may change, the bar stays the same.
            name = stage.partition(":")[0]
            if name not in tasks:
                tasks[name] = bar.add_task(stage, total=total)
            bar.update(tasks[name], description=stage, completed=done, total=total)

        yield report
