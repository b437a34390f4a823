"""One process at a time: a lock that the system drops when the process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

from sfumato.core.errors import InvalidInput
from sfumato.core.storage import TEMPORARY


def try_lock(file: int, *, shared: bool = False) -> bool:
    """Lock an open file or folder, alone or with others; False where somebody else has it."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(file: int) -> None:
    """Lock an open file alone; waits until nobody else has it."""
    fcntl.flock(file, fcntl.LOCK_EX)


def lock_folder(folder: Path, work: str) -> int:
    """Make a folder, lock it and clear what a killed process left; os.close lets go of it.

    work  what is done there, for whoever comes second: "building"
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY)
    try:
        if not try_lock(lock):
            raise InvalidInput(f"another process is {work} in {folder}; wait for it or stop it.")
        for leftover in folder.glob(f"{TEMPORARY}*"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()
    except BaseException:
        os.close(lock)
        raise
    return lock
