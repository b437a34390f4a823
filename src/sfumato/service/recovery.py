"""Start-up: what a crash left behind is put right before the first request.

The first process holds the store's lock alone while it does this, and together with its workers
afterwards, so no second service can erase an upload that is under way.
"""

from __future__ import annotations

import fcntl
import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.storage import sync_directory
from sfumato.server.mapping.map import Map
from sfumato.service.checking import file_away
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.errors import ServiceError
from sfumato.service.keys import now
from sfumato.service.logs import describe_error, log
from sfumato.service.storage import Store, StoredMap


class StoreLock:
    """Held alone by who recovers, shared by all who serve."""

    def __init__(self, folder: Path) -> None:
        self._file: BinaryIO = (folder / "lock").open("ab")

    def take_alone(self, *, patience: float = 10.0) -> None:
        """Wait a little: workers whose first process was killed need a moment to notice."""
        end = time.monotonic() + patience
        while not self._try(fcntl.LOCK_EX):
            if time.monotonic() > end:
                raise InvalidInput(
                    "another sfumato serve uses this store; stop it, or start with --read-only."
                )
            time.sleep(0.1)

    def share(self) -> None:
        if not self._try(fcntl.LOCK_SH):
            raise InvalidInput("another sfumato serve has just taken this store; stop one of them.")

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        self._file.close()


def recover(store: Store, dictionaries: Dictionaries) -> None:
    """Erase what was never acknowledged, set aside what is damaged, check and file the rest."""
    for leftover in store.incoming.iterdir():
        _erase(leftover)
    rows = {row.id: row for row in store.all()}
    for folder in store.maps.iterdir():
        if folder.name not in rows:
            store.erase(folder)
            log("erased a map folder that was never acknowledged or already deleted")
    for row in rows.values():
        _check(store, row, lambda folder: _verify(folder, dictionaries))


def _verify(folder: Path, dictionaries: Dictionaries) -> None:
    file_away(Map.load(folder), dictionaries, again=False)


def _check(store: Store, row: StoredMap, verify: Callable[[Path], None]) -> None:
    folder = store.folder_of(row.id)
    try:
        verify(folder)
    except (SfumatoError, ServiceError, ValueError, LookupError, TypeError) as error:
        _quarantine(store, row, error)
    except OSError as error:
        # A full disk is no reason to doubt a map: it is served without what could not be stored.
        log("a map could not be filed away", level=logging.ERROR, **describe_error(error))


def _quarantine(store: Store, row: StoredMap, error: Exception) -> None:
    """Damaged maps leave the list and keep their files, so that the operator can look."""
    reason = str(error)
    if store.folder_of(row.id).exists():
        store.folder_of(row.id).rename(store.quarantine / row.id)
        sync_directory(store.maps)
        sync_directory(store.quarantine)
    with store.database.write() as database:
        database.execute("DELETE FROM maps WHERE id = ?", (row.id,))
        database.execute(
            "INSERT OR REPLACE INTO quarantined VALUES (?, ?, ?, ?, ?)",
            (row.tenant, row.id, row.name, now(), reason),
        )
    log("quarantined a damaged map", level=logging.ERROR, map=row.id, tenant=row.tenant)


def _erase(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
