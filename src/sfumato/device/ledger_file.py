"""The file behind a ledger: made whole, of a known format, one synced transaction at a time.

Format 2 gives every ledger an identity and counts its entries, which `witness` compares with
what it remembers. Format 3 adds what exact composition needs: how many values an answer was drawn
from, and a cap on the exact total. Older ledgers are brought up to date when they are opened; their
charges count as those of the worst mechanism with the same ε. A newer one is refused before
anything is written.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sfumato.core.errors import LedgerError
from sfumato.core.storage import TEMPORARY, sync_directory
from sfumato.device.witness import refuse_lost, watched

FORMAT = 3
RESTORE = "nothing was released. Restore it from a copy, or treat its budget as spent."
_LEDGER = "CREATE TABLE ledger (identity TEXT, count INTEGER NOT NULL, checksum TEXT) STRICT"
_SESSIONS = """
CREATE TABLE sessions (
    name TEXT PRIMARY KEY, cap_descriptor INTEGER, cap_picture INTEGER, cap_session INTEGER,
    cap_exact INTEGER, pictures INTEGER NOT NULL, units INTEGER NOT NULL, spent INTEGER NOT NULL,
    unprotected INTEGER NOT NULL, answers INTEGER NOT NULL, checksum TEXT NOT NULL
) STRICT, WITHOUT ROWID
"""
_SCHEMA = f"""
{_SESSIONS};
CREATE TABLE charges (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL, time REAL NOT NULL, mechanism TEXT NOT NULL,
    epsilon INTEGER NOT NULL, units INTEGER NOT NULL, unprotected INTEGER NOT NULL,
    num_values INTEGER, subset_size INTEGER NOT NULL DEFAULT 1
) STRICT;
{_LEDGER};
PRAGMA user_version = {FORMAT};
"""


def checksum(name: str, values: tuple[int | None, ...]) -> str:
    return hashlib.sha256(repr((name, tuple(values))).encode()).hexdigest()


def answer_mark(epsilon: int, units: int, num_values: int | None, subset_size: int) -> int:
    """Summed over the charges of a session: a kind of answer that was changed is noticed."""
    return zlib.crc32(repr((epsilon, units, num_values, subset_size)).encode())


def write_session(database: sqlite3.Connection, name: str, values: tuple[int | None, ...]) -> None:
    """One session: its caps, its totals, and a checksum over both."""
    database.execute(
        "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (name, *values, checksum(name, values)),
    )


class LedgerFile:
    """One ledger file; every use of it is one transaction on a connection of its own."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.path = path
        self._timeout = timeout
        self._create()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One immediate transaction; on the disk when this ends, or nothing of it."""
        try:
            if not self.path.stat().st_size:
                raise LedgerError(f"{self.path} is damaged: it is empty; {RESTORE}")
            uri = f"{self.path.absolute().as_uri()}?mode=rw"
            with closing(
                sqlite3.connect(uri, uri=True, timeout=self._timeout, isolation_level=None)
            ) as database:
                database.create_function("answer_mark", 4, answer_mark, deterministic=True)
                database.execute("PRAGMA synchronous = FULL")
                database.execute("PRAGMA fullfsync = ON")  # macOS: to the disk, not to its cache
                if _format(database) != FORMAT:
                    with _locked(database):
                        self._check_format(database)
                        database.execute("COMMIT")
                with _locked(database):
                    identity, count = self._identity(database)
                    with watched(self.path, identity, count) as watch:
                        before = database.total_changes
                        yield database
                        if database.total_changes != before:
                            count += 1
                            _write_count(database, identity, count)
                        database.execute("COMMIT")
                        watch.remember(count)
        except (sqlite3.Error, OSError, OverflowError, UnicodeError) as error:
            raise LedgerError(
                f"the ledger {self.path} cannot be used ({_short(error)}); nothing was released. "
                "Check that it is a ledger, that it can be written, that its disk has room, and "
                "that no other program holds it."
            ) from None

    def _check_format(self, database: sqlite3.Connection) -> None:
        """Refuse a newer format before anything is written; bring an older one up to date."""
        version = _format(database)
        if version > FORMAT:
            raise LedgerError(
                f"{self.path} has format {version}, this version of sfumato knows formats up to "
                f"{FORMAT}; use the newer sfumato that wrote it. Nothing was released."
            )
        if version < 1:
            raise LedgerError(f"{self.path} is not a ledger; nothing was released.")
        if version == 1:
            count = database.execute("SELECT count(*) FROM charges").fetchone()[0]
            database.execute(_LEDGER)
            _write_identity(database, count)
        if version < FORMAT:
            self._add_answers(database)
            database.execute(f"PRAGMA user_version = {FORMAT}")

    def _add_answers(self, database: sqlite3.Connection) -> None:
        """Format 2 to 3. The old checksums are checked before new ones are written."""
        rows = database.execute("SELECT * FROM sessions").fetchall()
        if any(written != checksum(name, tuple(values)) for name, *values, written in rows):
            raise LedgerError(f"{self.path} is damaged: a checksum does not match; {RESTORE}")
        database.execute("DROP TABLE sessions")
        database.execute(_SESSIONS)
        for name, *values, _ in rows:
            marks = sum(
                answer_mark(epsilon, units, None, 1)
                for epsilon, units in database.execute(
                    "SELECT epsilon, units FROM charges WHERE session = ?", (name,)
                )
            )
            write_session(database, name, (*values[:3], None, *values[3:], marks))
        database.execute("ALTER TABLE charges ADD COLUMN num_values INTEGER")
        database.execute("ALTER TABLE charges ADD COLUMN subset_size INTEGER NOT NULL DEFAULT 1")

    def _identity(self, database: sqlite3.Connection) -> tuple[str, int]:
        """Who this ledger is, and how many entries it has."""
        rows = database.execute("SELECT * FROM ledger").fetchall()
        for identity, count, written in rows[:1]:
            if len(rows) == 1 and written == checksum(identity, (count,)):
                return identity, count
        raise LedgerError(f"{self.path} is damaged: a checksum does not match; {RESTORE}")

    def _create(self) -> None:
        """Make the file whole under another name first: an empty ledger file is never ours."""
        draft = self.path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
        try:
            if self.path.exists():
                return
            refuse_lost(self.path)
            with closing(sqlite3.connect(draft)) as database:
                database.execute("PRAGMA journal_mode = WAL")
                database.executescript(_SCHEMA)
                _write_identity(database, 0)
                database.commit()
            with suppress(FileExistsError):  # another process was first; its file is as good
                os.link(draft, self.path)
            sync_directory(self.path.parent)
        except (sqlite3.Error, OSError) as error:
            raise LedgerError(
                f"the ledger {self.path} cannot be made ({_short(error)}); give a path in a "
                "folder that exists, can be written and has room. Nothing was released."
            ) from None
        finally:
            with suppress(OSError):
                for leftover in self.path.parent.glob(f"{draft.name}*"):
                    leftover.unlink(missing_ok=True)


def session_names(path: Path) -> list[str]:
    """The sessions of an existing ledger; none is made."""
    with LedgerFile(path, timeout=60.0).transaction() as database:
        rows = database.execute("SELECT name FROM sessions ORDER BY name").fetchall()
    return [name for (name,) in rows]


def charges_of(path: Path, session: str) -> list[dict[str, Any]]:
    """Every charge of a session, oldest first: seconds since 1970, and what was counted.

    epsilon  per descriptor; None where the release had no guarantee
    """
    names = ("time", "mechanism", "epsilon", "units", "num_values", "subset_size")
    with LedgerFile(path, timeout=60.0).transaction() as database:
        rows = database.execute(
            "SELECT time, mechanism, CASE WHEN unprotected OR NOT epsilon THEN NULL ELSE "
            "epsilon / 1e9 END, units, num_values, subset_size FROM charges WHERE session = ? "
            "ORDER BY id",
            (session,),
        ).fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]


def _format(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def _locked(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if database.in_transaction:  # a full disk has undone it already
            database.execute("ROLLBACK")
        raise


def _write_identity(database: sqlite3.Connection, count: int) -> None:
    identity = secrets.token_hex(16)
    values = (identity, count, checksum(identity, (count,)))
    database.execute("INSERT INTO ledger VALUES (?, ?, ?)", values)


def _write_count(database: sqlite3.Connection, identity: str, count: int) -> None:
    values = (count, checksum(identity, (count,)))
    database.execute("UPDATE ledger SET count = ?, checksum = ?", values)


def _short(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
