"""Releases that wait for a server: charged once, drawn once, sent when there is a network.

Each is one file in the wire format, written whole or not at all, and removed only after an
answer. Killed in between, the same bytes are sent again, which tells a server nothing new.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from sfumato.core.errors import InvalidInput
from sfumato.core.storage import TEMPORARY, NewFile, sync_directory

SUFFIX = ".sfr"


def release_name(data: bytes) -> str:
    """Says when a release was drawn and what it holds, nothing about the picture."""
    return f"{time.time_ns():020d}-{hashlib.sha256(data).hexdigest()[:16]}{SUFFIX}"


class Outbox:
    """A folder of waiting releases, oldest first. Safe for several programs at once."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"the outbox {self.folder} cannot be made ({error.strerror}); choose another "
                "folder."
            ) from None

    def new_file(self) -> NewFile:
        """The file of the next release, made before it is charged; named when it is drawn."""
        try:
            return NewFile(self.folder / "next")
        except InvalidInput as error:
            raise InvalidInput(
                f"the outbox {self.folder} cannot be used: {error} Nothing was charged or sent."
            ) from None

    def waiting(self) -> list[Path]:
        """The files that were not answered yet, in the order they were made."""
        try:
            files = sorted(self.folder.iterdir())
        except OSError as error:
            raise InvalidInput(
                f"the outbox {self.folder} cannot be read: {error.strerror}."
            ) from None
        return [
            file for file in files if file.suffix == SUFFIX and not file.name.startswith(TEMPORARY)
        ]

    def holds(self, path: Path) -> bool:
        return path.parent == self.folder

    def remove(self, path: Path) -> None:
        """Forget a release that was answered; one that cannot be removed is only sent again."""
        with suppress(OSError):
            path.unlink(missing_ok=True)
            sync_directory(self.folder)
