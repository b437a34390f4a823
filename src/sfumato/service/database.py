"""The metadata: one SQLite file in WAL mode, safe across threads and processes.

A row that is committed is on the disk. Every thread has its own connection, made anew in a
process that was forked. The version is looked at before anything is written.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.core.errors import DamagedFile, InvalidInput, SfumatoError
from sfumato.core.storage import MANIFEST
from sfumato.service.schema import VERSION, migrate, version_of

NAME = "metadata.db"
MAPS = "maps"


class Database:
    """Connections to one metadata file.

    A new or empty file beside folders of maps means that the real one was lost: it is refused
    unless the caller is about to `rebuild` it from those folders.
    """

    def __init__(
        self,
        folder: Path,
        *,
        read_only: bool = False,
        rebuild: bool = False,
        accept_older: bool = False,
        timeout: float = 10.0,
    ) -> None:
        self.path = Path(folder) / NAME
        self.read_only = read_only
        self._timeout = timeout
        self._local = threading.local()
        try:
            # SQLite would drop the log of an empty file; so look before it is opened.
            if not rebuild and not _size(self.path):
                _refuse_to_begin_anew(Path(folder))
            if read_only and not self.path.is_file():
                raise InvalidInput(f"{folder} is not a store: it has no {NAME}.")
            if not read_only:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_version(rebuild=rebuild, accept_older=accept_older)
        except SfumatoError:
            self.close()
            raise
        except sqlite3.DatabaseError as error:
            self.close()
            raise _unusable(self.path, error) from None
        except OSError as error:
            raise InvalidInput(f"{folder} cannot be used as a store: {error.strerror}.") from None

    def _check_version(self, *, rebuild: bool, accept_older: bool) -> None:
        database = self._connect()
        self._local.connection, self._local.made = database, ()  # `close` finds it
        version = version_of(database)
        if version == 0 and not rebuild:
            _refuse_to_begin_anew(self.path.parent)
        if version > VERSION:
            raise InvalidInput(
                f"{self.path} has version {version}, this sfumato reads up to {VERSION}; update "
                "sfumato."
            )
        if self.read_only and version < VERSION and not accept_older:
            raise InvalidInput(
                f"{self.path} has version {version}, this sfumato needs {VERSION}; start `sfumato "
                "serve` on it once without --read-only, which brings it up to date."
            )
        if not self.read_only:
            _set_durable(database)
            if version < VERSION:
                migrate(database)
        self._keep(database)

    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        known = getattr(self._local, "connection", None)
        if known is not None and self._local.made == self._identity():
            assert isinstance(known, sqlite3.Connection)
            return known
        database = self._connect()
        if not self.read_only:
            _set_durable(database)
        return self._keep(database)

    def _connect(self) -> sqlite3.Connection:
        if not self.read_only:
            options = "mode=rw" if self.path.exists() else "mode=rwc"
        elif _is_open(self.path):
            options = "mode=ro"  # a live store: what is in its log counts
        else:
            # A snapshot on a read-only disk has no shared memory beside it: it cannot change
            # under the reader, only be exchanged as a whole, which the identity notices.
            options = "immutable=1"
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{options}",
            uri=True,
            timeout=self._timeout,
            isolation_level=None,
        )

    def _keep(self, database: sqlite3.Connection) -> sqlite3.Connection:
        self._local.connection, self._local.made = database, self._identity()
        return database

    def _identity(self) -> tuple[int, ...]:
        if not self.read_only:
            return (os.getpid(),)
        found = self.path.stat()
        state = (found.st_ino, found.st_mtime_ns, found.st_size, _is_open(self.path))
        return os.getpid(), *state

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

    def check(self) -> None:
        """Look at every page once; a file that lost its log in the wrong moment is noticed."""
        try:
            found = self.connection().execute("PRAGMA integrity_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise _unusable(self.path, error) from None
        if found != "ok":
            raise _unusable(self.path, found)

    def close(self) -> None:
        """Close this thread's connection; the last one of all folds the log into the file."""
        known = getattr(self._local, "connection", None)
        if known is not None:
            known.close()
            self._local.connection = None


def map_folders(folder: Path) -> list[Path]:
    """What lies in a folder and looks like a map, whether or not anything is known of it."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if (path / MANIFEST).is_file())


def _set_durable(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _is_open(path: Path) -> bool:
    """Whether somebody writes to a database, or its log holds what was not folded in yet.

    A log may be empty: so it is after every start in good order.
    """
    log, shared = path.with_name(f"{NAME}-wal"), path.with_name(f"{NAME}-shm")
    return bool(_size(log)) or (log.exists() and shared.exists())


def _refuse_to_begin_anew(folder: Path) -> None:
    count = len(map_folders(folder / MAPS))
    if count:
        raise DamagedFile(
            f"{folder} has maps ({count}) but its {NAME} is missing or empty, and nothing was "
            f"changed; restore a backup, or run `sfumato store repair {folder}`."
        )


@contextmanager
def one_sentence(folder: Path) -> Iterator[None]:
    """For commands: what the disk or SQLite refuses, as one sentence."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _unusable(folder / NAME, error) from None


def _unusable(path: Path, error: object) -> DamagedFile | InvalidInput:
    """Only what SQLite finds damaged may be made anew; a disk that fails for now may not."""
    text = str(error)
    if "malformed" in text or "not a database" in text or not isinstance(error, Exception):
        return DamagedFile(
            f"{path} is damaged ({text}); restore a backup, or run `sfumato store repair "
            f"{path.parent}`."
        )
    if "full" in text or getattr(error, "errno", None) == errno.ENOSPC or _is_full(path.parent):
        return InvalidInput(
            f"the disk of {path.parent} is full and nothing was changed; make room, or serve with "
            "--read-only meanwhile."
        )
    if os.statvfs(path.parent).f_flag & os.ST_RDONLY:
        return InvalidInput(
            f"the disk of {path.parent} is read-only; `sfumato serve --read-only` serves what is "
            "there."
        )
    if "locked" in text:
        return InvalidInput(f"{path} is busy with other changes; try again.")
    return InvalidInput(
        f"{path} cannot be used ({text}); check the disk, and that its folder can be written."
    )


def _is_full(folder: Path) -> bool:
    # SQLite calls a disk that has no room for its shared memory an I/O error.
    return shutil.disk_usage(folder).free < 1 << 16
