"""The tables of the metadata, and how those of an older version become today's.

Version 1: keys, maps, quarantined.
Version 2: keys expire; what was quarantined keeps all it needs to come back; `leaving` names maps
whose deletion is decided and whose files may still be there.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress

VERSION = 2
_STEPS = {
    0: """
CREATE TABLE keys (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, role TEXT NOT NULL, digest BLOB NOT NULL,
    created TEXT NOT NULL, revoked TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE maps (
    tenant TEXT NOT NULL, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, info TEXT NOT NULL,
    PRIMARY KEY (tenant, id), UNIQUE (tenant, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE quarantined (
    tenant TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, moment TEXT NOT NULL,
    reason TEXT NOT NULL, PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
""",
    1: """
ALTER TABLE keys ADD COLUMN expires TEXT;
ALTER TABLE quarantined ADD COLUMN info TEXT;
CREATE TABLE leaving (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
""",
}


def version_of(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def migrate(database: sqlite3.Connection) -> None:
    """Bring older tables to this version, all of it or nothing; several may try at once."""
    database.execute("BEGIN IMMEDIATE")
    try:
        for version in range(version_of(database), VERSION):
            for statement in _STEPS[version].split(";"):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {version + 1}")
        database.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite may have done so by itself
            database.execute("ROLLBACK")
        raise
