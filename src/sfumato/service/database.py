"""The metadata: one SQLite file in WAL mode, safe across threads and processes.

A row that is committed is on the disk. Every thread has its own connection, made anew in a
process that was forked.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.core.errors import DamagedFile, InvalidInput

NAME = "metadata.db"
VERSION = 1
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, role TEXT NOT NULL, digest BLOB NOT NULL,
    created TEXT NOT NULL, revoked TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS maps (
    tenant TEXT NOT NULL, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, info TEXT NOT NULL,
    PRIMARY KEY (tenant, id), UNIQUE (tenant, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS quarantined (
    tenant TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, moment TEXT NOT NULL,
    reason TEXT NOT NULL, PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = {VERSION};
COMMIT;
"""


class Database:
    """Connections to one metadata file."""

    def __init__(self, folder: Path, *, read_only: bool = False, timeout: float = 10.0) -> None:
        self.path = Path(folder) / NAME
        self.read_only = read_only
        self._timeout = timeout
        self._local = threading.local()
        if read_only and not self.path.is_file():
            raise InvalidInput(f"{folder} is not a store: it has no {NAME}.")
        try:
            if not read_only:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self.connection().executescript(_SCHEMA)
            version = self.connection().execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise DamagedFile(
                f"{self.path} cannot be used ({error}); restore it from a copy, or check that its "
                "folder can be written."
            ) from None
        except OSError as error:
            raise InvalidInput(f"{folder} cannot be used as a store: {error.strerror}.") from None
        if version != VERSION:
            raise InvalidInput(
                f"{self.path} has version {version}, this sfumato reads {VERSION}; update the "
                "older side."
            )

    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        known = getattr(self._local, "connection", None)
        if known is not None and self._local.made == self._identity():
            assert isinstance(known, sqlite3.Connection)
            return known
        # A snapshot on a read-only disk has no shared memory beside it: it cannot change under
        # the reader, only be exchanged as a whole, which the identity notices.
        options = "mode=rw" if not self.read_only else "immutable=1"
        if not self.path.exists() and not self.read_only:
            options = "mode=rwc"
        database = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{options}",
            uri=True,
            timeout=self._timeout,
            isolation_level=None,
        )
        if not self.read_only:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
        self._local.connection, self._local.made = database, self._identity()
        return database

    def _identity(self) -> tuple[int, ...]:
        if not self.read_only:
            return (os.getpid(),)
        found = self.path.stat()
        return os.getpid(), found.st_ino, found.st_mtime_ns, found.st_size

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One immediate transaction, on the disk when the block has ended."""
        database = self.connection()
        database.execute("BEGIN IMMEDIATE")
        try:
            yield database
            database.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close this thread's connection; the last one of all folds the log into the file."""
        known = getattr(self._local, "connection", None)
        if known is not None:
            known.close()
            self._local.connection = None
