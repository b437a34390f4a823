"""`sfumato invert`: train, write and use the networks that paint pictures from descriptors."""

from __future__ import annotations

import typer

from sfumato.cli import invert_export, invert_frames, invert_picture, invert_train

app = typer.Typer(
    help="Train, export and use networks that paint a picture from what was sent of it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def root() -> None:
    """Train, export and use networks that paint a picture from what was sent of it."""


app.command("train")(invert_train.run)
app.command("frames")(invert_frames.run)
app.command("export")(invert_export.run)
app.command("picture")(invert_picture.run)
