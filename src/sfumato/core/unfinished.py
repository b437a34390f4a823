"""Long work that was stopped: what is done lies beside its output, and the same command goes on.

`<output>.partial/` names the settings it belongs to, and holds parts that are whole or not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from sfumato.core.errors import InvalidInput
from sfumato.core.locks import lock_folder
from sfumato.core.storage import TEMPORARY, write_file

_SETTINGS = "settings.sha256"


class Unfinished:
    """The unfinished work of one output, bound to its settings; one process at a time."""

    #: What is being made, what is done there, and what it is made of beside its settings.
    WORK: ClassVar[tuple[str, str, str]] = ("work", "working", "files")

    def __init__(self, output: Path, settings: Mapping[str, Any]) -> None:
        self.folder = output.with_name(f"{output.name}.partial")
        text = json.dumps(settings, sort_keys=True)
        self._digest = hashlib.sha256(text.encode()).hexdigest().encode()

    def __enter__(self) -> Self:
        work, doing, _ = self.WORK
        file = self.folder / _SETTINGS
        foreign = self.folder.exists() and not file.exists()
        if foreign and any(not e.name.startswith(TEMPORARY) for e in self.folder.iterdir()):
            raise InvalidInput(
                f"{self.folder} exists and is not an unfinished {work}; move it elsewhere."
            )
        self._lock = lock_folder(self.folder, doing)
        try:
            self._begin(file)
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def _begin(self, file: Path) -> None:
        work, _, material = self.WORK
        if not file.exists():
            write_file(file, self._digest)
        elif file.read_bytes() != self._digest:
            raise InvalidInput(
                f"{self.folder} belongs to a {work} with other settings or other {material}; "
                "repeat those settings, or remove that folder to start anew."
            )

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)

    def remove(self) -> None:
        shutil.rmtree(self.folder)
