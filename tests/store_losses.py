"""Stores in every state a test of losses begins with, and ways to lose a part of them."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from served import Serve
from sfumato.service.database import NAME
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.recovery import recover
from sfumato.service.storage import Store, StoredMap


def start(serve: Serve) -> set[str]:
    """What `sfumato serve` does before it answers; the maps it then has."""
    store = Store(serve.store)
    try:
        recover(store, Dictionaries((str(serve.world.words),)))
        return store.ids()
    finally:
        store.database.close()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of the maps, wherever in the store they lie."""
    return {
        f"{file.parent.name}/{file.name}": file.read_bytes()
        for part in ("maps", "aside", "quarantine")
        for file in (folder / part).rglob("*")
        if file.is_file()
    }


def rows_of(folder: Path) -> list[StoredMap]:
    store = Store(folder, read_only=True)
    try:
        return sorted(store.all(), key=lambda row: row.id)
    finally:
        store.database.close()


def store_with_maps(serve: Serve, count: int = 3) -> set[str]:
    """A store that was stopped in order."""
    served = serve()
    ids = {served.map_id(f"map {number}") for number in range(count)}
    served.service.store.database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    serve.close()
    return ids


def killed_store(serve: Serve, folder: Path, count: int = 3) -> set[str]:
    """A store as a killed service leaves it: the latest changes are in the log only."""
    served = serve()
    served.map_id("old")
    served.service.store.database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for number in range(count - 1):
        served.map_id(f"map {number}")
    ids = served.service.store.ids()
    shutil.copytree(serve.store, folder)
    serve.close()
    serve.store = folder
    return ids


def remove_database(store: Path) -> None:
    for file in store.glob(f"{NAME}*"):
        file.unlink()


def truncate_database(store: Path) -> None:
    (store / NAME).write_bytes(b"")


def forget_tables(store: Path) -> None:
    """A young database whose log was lost: a header, and nothing in it."""
    remove_database(store)
    with closing(sqlite3.connect(store / NAME)) as database:
        database.execute("PRAGMA journal_mode = WAL")
