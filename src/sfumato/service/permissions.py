"""A store is its owner's alone: folders 0700, files 0600."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OTHERS = 0o077


def is_open(path: Path) -> bool:
    """Whether the group or others may read, write or enter; a link is not followed."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:  # a temporary file of a service that runs
        return False
    return not stat.S_ISLNK(mode) and bool(mode & _OTHERS)


def close_to_others(folder: Path) -> None:
    """Take everybody else's rights away, from the folder itself first."""
    _close(folder)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            _close(Path(parent) / name)


def _close(path: Path) -> None:
    if is_open(path):
        with suppress(FileNotFoundError):
            path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~_OTHERS)


@contextmanager
def only_for_the_owner() -> Iterator[None]:
    """New files and folders of this process are nobody else's."""
    before = os.umask(_OTHERS)
    try:
        yield
    finally:
        os.umask(before)
