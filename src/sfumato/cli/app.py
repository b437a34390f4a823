"""The entry point: commands are registered here, errors become one sentence here."""

from __future__ import annotations

import sys

import typer

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
from sfumato.core.errors import SfumatoError

app = typer.Typer(
    name="sfumato",
    help="Privacy toolkit for image features: protect, work with, attack and measure.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def root() -> None:
    """Privacy toolkit for image features: protect, work with, attack and measure."""


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


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with exit code 2 and one sentence."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(args=words or ["--help"], prog_name="sfumato", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        sys.stderr.write("sfumato: stopped\n")
        raise SystemExit(130) from None
    except (typer.TyperException, SfumatoError) as error:
        message = getattr(error, "format_message", None)
        _fail(message() if message else str(error))
    except BrokenPipeError:
        raise SystemExit(0) from None
    raise SystemExit(code if isinstance(code, int) else 0)


def _fail(message: str) -> None:
    sys.stderr.write(f"sfumato: {message}\n")
    raise SystemExit(2)
