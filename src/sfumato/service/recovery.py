"""Start-up: what a crash left behind is put right before the first request.

Only what explains itself is erased: uploads that were never acknowledged, and deletes that were
decided. What nothing explains is moved to aside/, and where most of a store does not fit together
nothing is touched at all.

The first process holds the store's lock alone while it does this, and together with its workers
afterwards, so no second service can erase an upload that is under way.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from sfumato.core.errors import DamagedFile, InvalidInput, SfumatoError
from sfumato.core.locks import try_lock
from sfumato.core.storage import sync_directory
from sfumato.server.mapping.map import Map
from sfumato.service.checking import file_away
from sfumato.service.database import NAME
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.errors import ServiceError
from sfumato.service.keys import now
from sfumato.service.labels import (
    LABEL,
    StoredMap,
    acknowledge,
    is_arriving,
    read_label,
    write_label,
)
from sfumato.service.logs import describe_error, log
from sfumato.service.settings import Settings
from sfumato.service.storage import Store
from sfumato.service.survey import survey


class StoreLock:
    """Held alone by who recovers, shared by all who serve.

    The folder itself is locked: a file for that purpose looks stale, and would be removed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)

    def take_alone(self, *, patience: float = 10.0) -> None:
        """Wait a little: workers whose first process was killed need a moment to notice."""
        end = time.monotonic() + patience
        while not try_lock(self._folder):
            if time.monotonic() > end:
                raise InvalidInput(
                    "another sfumato serve uses this store; stop it, or start with --read-only."
                )
            time.sleep(0.1)

    def share(self) -> None:
        if not try_lock(self._folder, shared=True):
            raise InvalidInput("another sfumato serve has just taken this store; stop one of them.")

    def close(self) -> None:
        os.close(self._folder)


def recover(store: Store, dictionaries: Dictionaries, settings: Settings | None = None) -> None:
    """Finish what was cut, set aside what is damaged or unknown, check and file the rest."""
    store.database.check()
    found = survey(store.folder, store)
    found.refuse_a_loss(store.folder)
    for map_id in found.leaving - found.rows.keys():
        store.finish_leaving(map_id)
    for path in found.cut:
        if path.parent == store.maps:
            store.erase(path)
        else:
            _erase(path)
    for path in found.unknown:
        log(
            "moved aside what nothing explains; `sfumato store check` tells more",
            level=logging.ERROR,
            name=move_aside(store, path).name,
        )
    for row in found.damaged_rows:
        _mend_row(store, row, found.rows)
    for path in found.returned:
        if path.name in found.quarantined:
            _put_back_in_quarantine(store, path)
    for row in found.rows.values():
        _label(store, row)
        _check(store, row, lambda folder: _verify(folder, dictionaries, settings or Settings()))


def move_aside(store: Store, path: Path) -> Path:
    """Out of the way, under a name that is free; nothing is erased."""
    target = store.aside / path.name
    if target.exists() or target.is_symlink():
        target = store.aside / f"{path.name}-{secrets.token_hex(4)}"
    path.rename(target)
    sync_directory(path.parent)
    sync_directory(store.aside)
    return target


def _put_back_in_quarantine(store: Store, path: Path) -> None:
    """A map that was missing has come back; `sfumato store repair` takes it in again."""
    target = store.quarantine / path.name
    if target.exists():
        move_aside(store, path)
    else:
        path.rename(target)
    log("a missing map is back; run `sfumato store repair`", level=logging.WARNING, map=path.name)


def _mend_row(store: Store, row: StoredMap, rows: dict[str, StoredMap]) -> None:
    """What the metadata cannot tell any more, the map's label does; else it is quarantined."""
    try:
        label = read_label(store.folder_of(row.id))
        if (label.tenant, label.id) != (row.tenant, row.id):
            raise DamagedFile(f"its {LABEL} is another map's")
    except DamagedFile as error:
        _quarantine(store, row, DamagedFile(f"its row in {NAME} is damaged, and {error}"))
        return
    with store.database.write() as database:
        text = json.dumps(label.info)
        database.execute("UPDATE maps SET info = ? WHERE id = ?", (text, row.id))
    rows[row.id] = StoredMap(row.tenant, row.id, row.name, label.info)
    log("wrote a damaged row anew, from the map's label", level=logging.WARNING, map=row.id)


def _label(store: Store, row: StoredMap) -> None:
    """Whoever has a row has a label; those of version 1 get theirs here."""
    folder = store.folder_of(row.id)
    try:
        if is_arriving(folder):
            acknowledge(folder)
        elif folder.is_dir() and not _is_labelled(folder, row):
            write_label(folder, row)
    except OSError as error:
        log("a map could not be labelled", level=logging.ERROR, **describe_error(error))


def _is_labelled(folder: Path, row: StoredMap) -> bool:
    try:
        return read_label(folder) == row
    except DamagedFile:
        return False


def _verify(folder: Path, dictionaries: Dictionaries, settings: Settings) -> None:
    file_away(Map.load(folder), dictionaries, settings, again=False)


def _check(store: Store, row: StoredMap, verify: Callable[[Path], None]) -> None:
    folder = store.folder_of(row.id)
    try:
        verify(folder)
    except OSError as error:
        # A full disk is no reason to doubt a map: it is served without what could not be stored.
        log("a map could not be filed away", level=logging.ERROR, **describe_error(error))
    except (SfumatoError, ServiceError, ValueError, LookupError, TypeError) as error:
        _quarantine(store, row, error)


def _quarantine(store: Store, row: StoredMap, error: Exception) -> None:
    """Damaged maps leave the list and keep their files, so that the operator can look."""
    reason = str(error)
    info = json.dumps(row.info) if row.info else None  # nothing is known where the row was damaged
    if store.folder_of(row.id).exists():
        if (store.quarantine / row.id).exists():
            move_aside(store, store.quarantine / row.id)
        store.folder_of(row.id).rename(store.quarantine / row.id)
        sync_directory(store.maps)
        sync_directory(store.quarantine)
    with store.database.write() as database:
        database.execute("DELETE FROM maps WHERE id = ?", (row.id,))
        database.execute(
            "INSERT OR REPLACE INTO quarantined VALUES (?, ?, ?, ?, ?, ?)",
            (row.tenant, row.id, row.name, now(), reason, info),
        )
    log("quarantined a damaged map", level=logging.ERROR, map=row.id, tenant=row.tenant)


def _erase(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
