"""Where a person's files belong on this system: what is kept, and what is remembered about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from platformdirs import user_data_path, user_state_path

from sfumato.core.errors import InvalidInput

NAME = "sfumato"


def data_folder() -> Path:
    """The person's data: XDG_DATA_HOME where it is set, else where the system wants it."""
    return _folder(user_data_path, "XDG_DATA_HOME")


def state_folder() -> Path:
    """What programs remember between runs, apart from the data: XDG_STATE_HOME, or as above."""
    return _folder(user_state_path, "XDG_STATE_HOME")


def _folder(place: Callable[..., Path], variable: str) -> Path:
    try:
        path = place(NAME, appauthor=False)
    except RuntimeError:  # nobody knows where this account is at home
        path = Path("~")
    if not path.is_absolute() or "~" in path.parts:
        raise InvalidInput(
            f"this account has no home folder; set {variable} to the folder to use instead."
        )
    return path
