"""Maps on disk and their rows: what was acknowledged stays, what was not is never seen.

An upload is unpacked under a temporary name, checked and filed there, labelled as arriving,
synced, renamed to its id, given its row, and only then labelled for good; that is what is
acknowledged. A delete turns the row into one that says `leaving`, then erases the folder. So
after a crash every folder explains itself: arriving without a row, or leaving, may be erased. What
nothing explains is kept.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidInput
from sfumato.core.storage import TEMPORARY, sync_directory
from sfumato.service.answers import MapInfo
from sfumato.service.database import MAPS, NAME, Database
from sfumato.service.errors import (
    ServiceError,
    disk_full,
    from_storage,
    map_damaged,
    no_such_map,
    read_only,
    unauthorized,
)
from sfumato.service.keys import Key, Keys, still_valid
from sfumato.service.labels import StoredMap, acknowledge, write_arriving

__all__ = ["Store", "StoredMap", "new_id"]


class Store:
    """The folder of a service: metadata.db, maps/, incoming/, quarantine/, aside/."""

    def __init__(self, folder: Path, *, read_only: bool = False, rebuild: bool = False) -> None:
        self.folder = Path(folder)
        self.read_only = read_only
        self.database = Database(self.folder, read_only=read_only, rebuild=rebuild)
        self.keys = Keys(self.database)
        self.maps = self.folder / MAPS
        self.incoming = self.folder / "incoming"
        self.quarantine = self.folder / "quarantine"
        self.aside = self.folder / "aside"
        if read_only:
            return
        if not rebuild and not self.maps.is_dir() and self.ids():
            # Not made anew: it may be a mount point, or a link to one.
            raise are_missing(self.folder, len(self.ids()), len(self.ids()))
        for part in (self.maps, self.incoming, self.quarantine, self.aside):
            part.mkdir(mode=0o700, exist_ok=True)

    def of_tenant(self, tenant: str) -> list[StoredMap]:
        rows = self.database.connection().execute(
            "SELECT tenant, id, name, info FROM maps WHERE tenant = ? ORDER BY name", (tenant,)
        )
        return _readable(rows)[0]

    def find(self, tenant: str, map_id: str) -> StoredMap:
        """The tenant's map; another tenant's takes the same lookup as none at all."""
        row = (
            self.database.connection()
            .execute(
                "SELECT tenant, id, name, info FROM maps WHERE tenant = ? AND id = ?",
                (tenant, map_id),
            )
            .fetchone()
        )
        if row is None:
            raise no_such_map()
        stored = stored_map(*row)
        if stored is None:
            raise map_damaged()
        return stored

    def all(self) -> list[StoredMap]:
        return self.rows()[0]

    def rows(self) -> tuple[list[StoredMap], list[StoredMap]]:
        """All maps, and apart from them those whose row was damaged: they have no info."""
        return _readable(
            self.database.connection().execute("SELECT tenant, id, name, info FROM maps")
        )

    def ids(self) -> set[str]:
        return {row[0] for row in self.database.connection().execute("SELECT id FROM maps")}

    def folder_of(self, map_id: str) -> Path:
        return self.maps / map_id

    def check_name_is_free(self, tenant: str, name: str, max_maps: int) -> None:
        """Say early what `commit` would say after the upload."""
        rows = self.database.connection().execute(
            "SELECT name FROM maps WHERE tenant = ?", (tenant,)
        )
        names = {row[0] for row in rows}
        if name in names:
            raise _taken(name)
        if len(names) >= max_maps:
            raise ServiceError(
                409, "too-many-maps", f"a tenant may have {max_maps} maps; delete one first."
            )

    def check_room(self, wanted: int, min_free: int) -> None:
        if shutil.disk_usage(self.incoming).free - wanted < min_free:
            raise disk_full()

    def why_not_writable(self, min_free: int) -> str | None:
        """Why changes would be refused, in one sentence; None: they would not."""
        if self.read_only:
            return "this server is read-only."
        if not os.access(self.incoming, os.W_OK):
            return "the store's folder cannot be written to."
        if shutil.disk_usage(self.incoming).free <= min_free:
            return f"the disk is full: no more than min_free_bytes = {min_free} are free."
        return None

    @contextmanager
    def draft(self) -> Iterator[Path]:
        """A folder to unpack an upload into; gone afterwards unless it was committed."""
        if self.read_only:
            raise read_only()
        path = self.incoming / f"{TEMPORARY}{secrets.token_hex(8)}"
        try:
            path.mkdir()
            yield path
        except OSError as error:
            raise from_storage(error) from error
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def commit(self, draft: Path, key: Key, map_id: str, name: str, info: dict[str, Any]) -> None:
        """Make a checked draft a map. When this returns, it survives a power cut.

        The key is looked at once more inside the transaction: one that was revoked meanwhile
        leaves nothing behind.
        """
        target = self.folder_of(map_id)
        stored = StoredMap(key.tenant, map_id, name, info)
        try:
            write_arriving(draft, stored)
            sync_tree(draft)
            draft.rename(target)
            sync_directory(self.maps)
            with self.database.write() as database:
                if not still_valid(database, key):
                    raise unauthorized()
                insert(database, stored)
        except sqlite3.IntegrityError:
            self.erase(target)
            raise _taken(name) from None
        except (OSError, sqlite3.Error) as error:
            self.erase(target)
            raise from_storage(error) from error
        except ServiceError:
            self.erase(target)
            raise
        try:
            acknowledge(target)
        except OSError as error:
            with suppress(ServiceError):
                self.remove(key.tenant, map_id)
            raise from_storage(error) from error

    def remove(self, tenant: str, map_id: str) -> None:
        """Decide the deletion in one transaction, then erase; also a quarantined map."""
        if self.read_only:
            self.find(tenant, map_id)
            raise read_only()
        try:
            with self.database.write() as database:
                gone = sum(
                    database.execute(
                        f"DELETE FROM {table} WHERE tenant = ? AND id = ?",  # noqa: S608
                        (tenant, map_id),
                    ).rowcount
                    for table in ("maps", "quarantined")
                )
                if not gone:
                    raise no_such_map()
                database.execute("INSERT OR IGNORE INTO leaving VALUES (?)", (map_id,))
            self.finish_leaving(map_id)
        except (OSError, sqlite3.Error) as error:
            raise from_storage(error) from error

    def leaving(self) -> set[str]:
        """Maps whose deletion was decided and is not known to be finished."""
        return {row[0] for row in self.database.connection().execute("SELECT id FROM leaving")}

    def finish_leaving(self, map_id: str) -> None:
        self.erase(self.folder_of(map_id))
        self.erase(self.quarantine / map_id)
        # The files are gone; a note that stays because the disk is full is cleared at start-up.
        with suppress(sqlite3.Error), self.database.write() as database:
            database.execute("DELETE FROM leaving WHERE id = ?", (map_id,))

    def erase(self, folder: Path) -> None:
        """Take a folder out of sight in one step, then delete its files."""
        aside = self.incoming / f"{TEMPORARY}{secrets.token_hex(8)}"
        try:
            folder.rename(aside)
        except FileNotFoundError:
            return
        sync_directory(folder.parent)
        shutil.rmtree(aside)
        sync_directory(self.incoming)


def new_id() -> str:
    """22 url-safe characters of which nothing can be guessed."""
    return secrets.token_urlsafe(16)


def stored_map(tenant: str, map_id: str, name: str, text: str) -> StoredMap | None:
    """A row of the metadata; None if its JSON is not what was written there."""
    try:
        info = json.loads(text)
        MapInfo(id=map_id, name=name, dictionaries=[], **info)
    except (ValueError, TypeError):  # pydantic's refusals are ValueErrors
        return None
    return StoredMap(tenant, map_id, name, info)


def _readable(rows: Iterable[tuple[str, str, str, str]]) -> tuple[list[StoredMap], list[StoredMap]]:
    whole, damaged = [], []
    for row in rows:
        stored = stored_map(*row)
        if stored is None:
            damaged.append(StoredMap(*row[:3], {}))
        else:
            whole.append(stored)
    return whole, damaged


def _taken(name: str) -> ServiceError:
    return ServiceError(
        409, "name-taken", f"there is a map named {name!r} already; choose another or delete it."
    )


def sync_tree(folder: Path) -> None:
    """Bring all files of a folder to the disk."""
    for parent, _, files in os.walk(folder):
        for name in files:
            with (Path(parent) / name).open("rb") as file:
                os.fsync(file.fileno())
        sync_directory(Path(parent))


def insert(database: sqlite3.Connection, stored: StoredMap) -> None:
    """A map's row, inside a transaction."""
    database.execute(
        "INSERT INTO maps VALUES (?, ?, ?, ?)",
        (stored.tenant, stored.id, stored.name, json.dumps(stored.info)),
    )


def are_missing(folder: Path, count: int, total: int) -> InvalidInput:
    return InvalidInput(
        f"most maps in {NAME} are missing from {folder / MAPS} ({count} of {total}), and nothing "
        "was changed; mount or restore them, or, if they are gone for good, run `sfumato store "
        f"repair {folder} --drop-missing`."
    )
