"""What every command shares: one JSON object or readable text, progress on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.text import json_visible, visible

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]


def emit_json(result: dict[str, Any]) -> None:
    """Print one JSON object; infinities become the text "inf", as JSON has none."""
    text = json.dumps(_plain(result), ensure_ascii=False, allow_nan=False)
    _write(json_visible(text) + "\n")


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
        table.add_row(name, visible(str(value)))
    with printer() as console:
        console.print(visible(title), style="bold")
        console.print(table)


def emit_lines(lines: Iterable[str]) -> None:
    """Print lines as they are, whatever the width of the terminal."""
    _write("".join(f"{visible(line)}\n" for text in lines for line in text.split("\n")))


def begin_output(as_json: bool, line: str) -> None:
    """Print the first thing before something is charged: a full or closed output is told now.

    A JSON object may have a blank before it, which says nothing.
    """
    if as_json:
        _write(" ")
    else:
        emit_lines([line])


def note(text: str) -> None:
    """One line on stderr."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # nobody listens; what is done goes on
            sys.stderr.write(f"sfumato: {visible(text)}\n")


@contextmanager
def printer() -> Iterator[Console]:
    """A console that takes every text as text, without markup; printed when it is left."""
    console = _Plainly(highlight=False)
    with console.capture() as captured:
        yield console
    _write(captured.get())


class _Plainly(Console):
    """The one place where foreign text could become colours, links or moves of the cursor."""

    def render_str(self, text: str, **options: Any) -> Text:
        plain: dict[str, Any] = {**options, "markup": False, "emoji": False}
        return super().render_str(visible(text, keep="\n"), **plain)


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, ValueError) as error:  # a stream that was closed here raises ValueError
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(
            f"the output cannot be written ({reason}); what was to be shown is lost."
        ) from None


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on stderr where a person is watching, silence elsewhere."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield silent
        return
    with RichProgress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int) -> None:
            # "training: loss 0.31": what follows the colon may change, the bar stays the same.
            stage = visible(stage)
            name = stage.partition(":")[0]
            if name not in tasks:
                tasks[name] = bar.add_task(stage, total=total)
            bar.update(tasks[name], description=stage, completed=done, total=total)

        yield report
