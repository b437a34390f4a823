"""Where a person's files belong on this system: what is kept, and what is remembered about it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sfumato.core.errors import InvalidInput

NAME = "sfumato"


def data_folder() -> Path:
    """The person's data: XDG_DATA_HOME where it is set, else where the system wants it."""
    return _folder("XDG_DATA_HOME", linux=".local/share", elsewhere="data")


def state_folder() -> Path:
    """What programs remember between runs, apart from the data: XDG_STATE_HOME, or as above."""
    return _folder("XDG_STATE_HOME", linux=".local/state", elsewhere="state")


def _folder(variable: str, *, linux: str, elsewhere: str) -> Path:
    chosen = Path(os.environ.get(variable, ""))
    if chosen.is_absolute():  # the XDG specification says to ignore relative ones
        return chosen / NAME
    try:
        if sys.platform == "win32":
            local = os.environ.get("LOCALAPPDATA")
            base = Path(local) if local else Path.home() / "AppData" / "Local"
            return base / NAME / elsewhere
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support" / NAME / elsewhere
        return Path.home() / linux / NAME
    except RuntimeError:
        raise InvalidInput(
            f"this account has no home folder; set {variable} to the folder to use instead."
        ) from None
