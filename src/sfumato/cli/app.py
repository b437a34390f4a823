"""The entry point: commands are registered here, errors become one sentence here."""

from __future__ import annotations

import sys

import click
import typer

from sfumato.core.errors import SfumatoError

app = typer.Typer(
    name="sfumato",
    help="Privacy toolkit for image features: protect, work with, attack and measure.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def root() -> None:
    """Privacy toolkit for image features: protect, work with, attack and measure."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with exit code 2 and one sentence."""
    try:
        code = app(args=arguments, standalone_mode=False)
    except click.UsageError as error:
        _fail(error.format_message())
    except SfumatoError as error:
        _fail(str(error))
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("sfumato: stopped\n")
        raise SystemExit(130) from None
    except BrokenPipeError:
        raise SystemExit(0) from None
    raise SystemExit(code if isinstance(code, int) else 0)


def _fail(message: str) -> None:
    sys.stderr.write(f"sfumato: {message}\n")
    raise SystemExit(2)
