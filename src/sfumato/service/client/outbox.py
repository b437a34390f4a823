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
from sfumato.core.storage import TEMPORARY, sync_directory, write_file

SUFFIX = ".sfr"


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

    def check(self) -> None:
        """Refuse before anything is charged if nothing could be kept here."""
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise InvalidInput(
                f"the outbox {self.folder} cannot be written; nothing was charged or sent."
            )

    def put(self, data: bytes) -> Path:
        """Keep the bytes of one release; they are on the disk when this returns."""
        # The name says when it was drawn and what it holds, nothing about the picture.
        name = f"{time.time_ns():020d}-{hashlib.sha256(data).hexdigest()[:16]}{SUFFIX}"
        path = self.folder / name
        write_file(path, data)
        return path

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
