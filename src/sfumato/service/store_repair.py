"""`sfumato store repair`: take maps in again, bring back what was set aside.

A plan is made first and shown; applying it holds the store alone. Nothing is erased: folders are
moved, and rows are dropped only when the operator asked for that.
"""

from __future__ import annotations

import re
import secrets
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.core.errors import DamagedFile
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import sync_directory
from sfumato.service.database import MAPS, NAME
from sfumato.service.keys import now
from sfumato.service.labels import StoredMap, write_label
from sfumato.service.permissions import only_for_the_owner
from sfumato.service.recovery import StoreLock, move_aside
from sfumato.service.storage import Store, insert
from sfumato.service.store_check import adoptable, list_folder, open_read_only, why_damaged
from sfumato.service.survey import Survey

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAX_NAME = 64


@dataclass(frozen=True)
class Adoption:
    """A folder that becomes a map again, under a name that is free."""

    folder: Path
    stored: StoredMap


@dataclass
class Plan:
    """What a repair would do, and what it would leave."""

    new_database: bool = False
    adopt: list[Adoption] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)  # ids of rows without any folder
    left: list[str] = field(default_factory=list)  # sentences

    def sentences(self) -> list[str]:
        made = [f"make a new {NAME}; all keys are lost: make new ones"] * self.new_database
        made += [
            f"adopt {adoption.folder.parent.name}/{adoption.folder.name} as "
            f"{adoption.stored.name!r} of {adoption.stored.tenant}"
            for adoption in self.adopt
        ]
        return made + [f"forget the missing map {map_id}" for map_id in self.drop]


def plan_repair(folder: Path, *, drop_missing: bool, progress: Progress = silent) -> Plan:
    """Look, and decide; nothing is changed."""
    opened = open_read_only(folder)
    try:
        found = opened.survey()
    finally:
        opened.close()
    plan = Plan(new_database=opened.trouble is not None)
    names = {(row.tenant, row.name): row.id for row in found.rows.values()}
    ids = set(found.rows) - {row.id for row in found.missing}
    candidates = _candidates(folder, found)
    for done, path in enumerate(candidates):
        progress("checking folders", done, len(candidates))
        place = f"{path.parent.name}/{path.name}"
        try:
            stored = _stored(path, found)
            if stored.id in ids:
                raise DamagedFile(f"there is a map {stored.id} already")
        except DamagedFile as error:
            plan.left.append(f"{place} stays where it is: {error}.")
            continue
        name = _free_name(stored, names)
        ids.add(stored.id)
        names[stored.tenant, name] = stored.id
        plan.adopt.append(Adoption(path, StoredMap(stored.tenant, stored.id, name, stored.info)))
    gone = [row.id for row in found.missing if row.id not in ids]
    gone += [
        map_id
        for map_id in (*found.quarantined, *(row.id for row in found.damaged_rows))
        if map_id not in ids
        and not any((folder / part / map_id).exists() for part in (MAPS, "quarantine"))
    ]
    if drop_missing:
        plan.drop = gone
    else:
        plan.left += [
            f"the map {map_id} is missing and stays known; --drop-missing forgets it."
            for map_id in gone
        ]
    return plan


def _candidates(folder: Path, found: Survey) -> list[Path]:
    """Folders that no row knows of, wherever they lie; those that may be erased are none."""
    known = {row.id for row in found.rows.values()} | found.leaving
    quarantined = [path for path in list_folder(folder / "quarantine") if path.name not in known]
    return [*found.unknown, *found.returned, *list_folder(folder / "aside"), *quarantined]


def _stored(path: Path, found: Survey) -> StoredMap:
    entry = found.quarantined.get(path.name)
    if entry is not None and entry.stored is not None and why_damaged(path) is None:
        return entry.stored
    stored = adoptable(path)
    if not _ID.fullmatch(stored.id):
        raise DamagedFile("its label names no map's id")
    return stored


def _free_name(stored: StoredMap, names: dict[tuple[str, str], str]) -> str:
    if names.get((stored.tenant, stored.name), stored.id) == stored.id:
        return stored.name
    end = f"-{stored.id}"
    return stored.name[: _MAX_NAME - len(end)] + end


def repair(folder: Path, *, drop_missing: bool, progress: Progress = silent) -> Plan:
    """Do what `plan_repair` plans; no service may run on the store meanwhile."""
    open_read_only(folder).close()  # a folder that is no store is refused before it gets a lock
    with only_for_the_owner(), closing(StoreLock(folder)) as lock:
        lock.take_alone(patience=1.0)
        plan = plan_repair(folder, drop_missing=drop_missing, progress=progress)
        if plan.new_database:
            _set_database_aside(folder)
        store = Store(folder, rebuild=True)
        try:
            for adoption in plan.adopt:
                _adopt(store, adoption)
            with store.database.write() as database:
                for map_id in plan.drop:
                    _forget(database, map_id)
        finally:
            store.database.close()
    return plan


def _set_database_aside(folder: Path) -> None:
    """Not even a broken database is erased: its keys and rows may be read by other tools."""
    aside = folder / "lost" / f"{now().replace(':', '')}-{secrets.token_hex(4)}"
    for file in sorted(folder.glob(f"{NAME}*")):
        if file.stat().st_size:
            aside.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.rename(aside / file.name)
        else:
            file.unlink()
    sync_directory(folder)


def _adopt(store: Store, adoption: Adoption) -> None:
    target = store.folder_of(adoption.stored.id)
    if adoption.folder != target:
        if target.exists():
            move_aside(store, target)
        adoption.folder.rename(target)
        sync_directory(adoption.folder.parent)
        sync_directory(store.maps)
    write_label(target, adoption.stored)
    with store.database.write() as database:
        _forget(database, adoption.stored.id)
        insert(database, adoption.stored)


def _forget(database: sqlite3.Connection, map_id: str) -> None:
    for table in ("maps", "quarantined", "leaving"):
        database.execute(f"DELETE FROM {table} WHERE id = ?", (map_id,))  # noqa: S608
