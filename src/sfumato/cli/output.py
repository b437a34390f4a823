"""What every command shares: one JSON object or readable text on stdout, the rest on stderr."""

from __future__ import annotations

import json
import logging
import math
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.text import json_visible, visible

if TYPE_CHECKING:  # rich is imported when something is printed, so that --help is fast
    from rich.console import Console
    from rich.table import Table

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
QuietFlag = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print results and errors, nothing else.")
]
VerboseFlag = Annotated[
    bool, typer.Option("--verbose", "-v", help="Log what happens, never what is in a picture.")
]

SECONDS_BETWEEN_LINES = 10.0  # of long work, where stderr is a file or a pipe


class _Voice(logging.Handler):
    """How much the running command says, and under which name."""

    command = ""
    quiet = False
    verbose = False

    def emit(self, record: logging.LogRecord) -> None:
        note(f"{self.command}: {record.getMessage()}")


_voice = _Voice()
_log = logging.getLogger("sfumato")


def speak(command: str, *, quiet: bool, verbose: bool) -> None:
    """Say as much as was asked for, before or behind the name of the command."""
    _voice.command = command
    _voice.quiet |= quiet
    _voice.verbose |= verbose
    if _voice.quiet and _voice.verbose:
        raise InvalidInput("--quiet and --verbose contradict each other; leave one of them out.")
    if verbose:
        _log.addHandler(_voice)
        _log.setLevel(logging.INFO)


def speak_as_usual() -> None:
    """Forget what an earlier command of this process was asked for."""
    _voice.command, _voice.quiet, _voice.verbose = "", False, False
    _log.removeHandler(_voice)
    _log.setLevel(logging.NOTSET)


def emit(as_json: bool, facts: dict[str, Any], title: str, shown: dict[str, Any]) -> None:
    """Facts as one JSON object, or what is shown of them to people."""
    if as_json:
        emit_json(facts)
    else:
        emit_facts(title, shown)


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
    table = make_table(show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, visible(str(value)))
    with printer() as console:
        console.print(visible(title), style="bold")
        console.print(table)


def make_table(**options: Any) -> Table:
    """A table without lines, as all commands print them."""
    from rich.table import Table

    return Table(**{"box": None, "pad_edge": False, "padding": (0, 2, 0, 0)} | options)


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
    """One line on stderr, unless the command is to be quiet."""
    if not _voice.quiet:
        complain(text)


def complain(text: str) -> None:
    """One line on stderr: why the command failed."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # nobody listens; what is done goes on
            sys.stderr.write(f"sfumato: {visible(text)}\n")


def show_traceback(error: BaseException) -> None:
    """With --verbose: where own code raised an error."""
    if _voice.verbose and sys.stderr is not None:
        with suppress(OSError, ValueError):
            traceback.print_exception(error)


@contextmanager
def printer() -> Iterator[Console]:
    """A console that takes every text as text, without markup; printed when it is left."""
    from rich.console import Console
    from rich.text import Text

    class Plainly(Console):
        """The one place where foreign text could become colours, links or moves of the cursor."""

        def render_str(self, text: str, **options: Any) -> Text:
            plain: dict[str, Any] = {**options, "markup": False, "emoji": False}
            return super().render_str(visible(text, keep="\n"), **plain)

    console = Plainly(highlight=False)
    with console.capture() as captured:
        yield console
    _write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


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
def long_work() -> Iterator[Progress]:
    """Show that long work is alive: a bar where a person watches, else a line now and then."""
    if _voice.quiet or sys.stderr is None:
        yield silent
        return
    with _bar() if sys.stderr.isatty() else _lines() as show:
        stages: set[str] = set()

        def report(stage: str, done: int, total: int) -> None:
            # "training: loss 0.31": what follows the colon may change, the stage stays the same.
            stage = visible(stage)
            name = stage.partition(":")[0]
            if _voice.verbose and name not in stages:
                note(f"{_voice.command}: {name} begins, {total:,} to do")
            stages.add(name)
            show(stage, done, total)

        yield report


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    with RichProgress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            name = stage.partition(":")[0]
            if name not in tasks:
                tasks[name] = bar.add_task(stage, total=total)
            bar.update(tasks[name], description=stage, completed=done, total=total)

        yield show


@contextmanager
def _lines() -> Iterator[Progress]:
    """A thread says how far the work is, also while the work itself reports nothing."""
    start, state, over = time.monotonic(), [""], threading.Event()

    def show(stage: str, done: int, total: int) -> None:
        state[0] = f"{stage}, {done:,} of {total:,}, "

    def tell() -> None:
        while not over.wait(SECONDS_BETWEEN_LINES):
            note(f"{_voice.command}: {state[0]}{time.monotonic() - start:.0f} s")

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield show
    finally:
        over.set()
        teller.join()
