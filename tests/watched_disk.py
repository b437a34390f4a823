"""Notes what reaches the disk, in which order."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

OPEN_FILES = Path("/proc/self/fd")


class Disk:
    """Notes what is synced and renamed, in order, with the size that was synced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[tuple[str, str, int]] = []
        self._sync, self._replace, self._rename = os.fsync, Path.replace, Path.rename
        monkeypatch.setattr(os, "fsync", self.fsync)
        monkeypatch.setattr(Path, "replace", lambda *names: self.move(self._replace, *names))
        monkeypatch.setattr(Path, "rename", lambda *names: self.move(self._rename, *names))

    def fsync(self, descriptor: int) -> None:
        name = str((OPEN_FILES / str(descriptor)).readlink())
        self.events.append(("sync", name, os.fstat(descriptor).st_size))
        self._sync(descriptor)

    def move(self, how: Any, old: Path, new: Path) -> Any:
        self.events.append(("rename", str(new), 0))
        return how(old, new)

    def place(self, what: str, name: str) -> int:
        found = [i for i, (kind, path, _) in enumerate(self.events) if (kind, path) == (what, name)]
        assert found, f"no {what} of {name}"
        return found[-1]
