"""Commands are registered here, and errors become one sentence here."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from sfumato import __version__
from sfumato.cli import (
    attack,
    audit,
    classify,
    demo,
    dictionary,
    experiment,
    extract,
    invert,
    keys,
    localize,
    plan,
    protect,
    serve,
    store,
)
from sfumato.cli import map as maps
from sfumato.cli.numbers import check_numbers
from sfumato.cli.output import emit_lines, note
from sfumato.core.errors import MissingExtra, SfumatoError
from sfumato.core.extras import public_name

app = typer.Typer(
    name="sfumato",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        emit_lines([f"sfumato {__version__}"])
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Privacy toolkit for image features: protect, work with, attack and measure.

    First: sfumato demo. Then: sfumato protect PHOTO --explain --epsilon 8
    """


app.command("demo")(demo.run)
app.command("extract")(extract.run)
app.add_typer(dictionary.app, name="dictionary")
app.add_typer(maps.app, name="map")
app.command("protect")(protect.run)
app.command("localize")(localize.run)
app.command("attack")(attack.run)
app.add_typer(invert.app, name="invert")
app.add_typer(classify.app, name="classify")
app.command("serve")(serve.run)
app.add_typer(store.app, name="store")
app.add_typer(keys.app, name="keys")
app.command("plan")(plan.run)
app.command("audit")(audit.run)
app.add_typer(experiment.app, name="experiment")


_LOST = "the output cannot be written ({}); what was to be shown is lost."


def run_command(words: list[str]) -> int:
    """Run one command; its exit code."""
    output = sys.stdout
    try:
        command = typer.main.get_command(app)
        check_numbers(command, words)
        code = command(args=words or ["--help"], prog_name="sfumato", standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:
        code = 130
    except SystemExit:
        if sys.stdout is output:
            raise
        # typer noticed that nobody reads any more; it would say nothing and replaces the output
        sys.stdout = output
        return _refused(_LOST.format("Broken pipe"))
    except MissingExtra as error:
        return _refused(str(public_name(error, f"sfumato {words[0]}")))
    except (typer.TyperException, SfumatoError) as error:
        message = getattr(error, "format_message", None)
        if message and type(error).__name__ == "NoArgsIsHelpError":  # a group without its command
            emit_lines([message()])
            return 0
        return _refused(message() if message else str(error))
    except OSError as error:
        return _refused(_about(error))
    except MemoryError:
        return _refused("there is not enough memory for this; give it smaller input.")
    if code == 130:
        note("stopped")
    return code if isinstance(code, int) else 0


def _refused(sentence: str) -> int:
    note(" ".join(sentence.split("\n")))
    try:
        sys.stdout.flush()
    except (OSError, ValueError):  # what Python still holds for a lost output goes nowhere
        with suppress(OSError, ValueError):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)
    return 2


def _about(error: OSError) -> str:
    """What the system refused: a disk that is full, a file that may not be written."""
    reason = error.strerror or str(error)
    if error.filename is None and error.errno in (errno.EPIPE, errno.ENOSPC, errno.EBADF):
        return _LOST.format(reason)
    where = "" if error.filename is None else f" ({os.fsdecode(error.filename)})"
    return f"the system refused: {reason}{where}; choose another place, or make room."
