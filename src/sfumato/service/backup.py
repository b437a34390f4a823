"""`sfumato store backup` and `restore`: a copy that fits together, also of a store being served.

The metadata is copied by SQLite itself, as of one moment. Then the folders of the maps it names
are linked or copied: they never change, so a link is as good as a copy until the disk fails. Every
checksum of the copy is compared before it gets its name.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import TEMPORARY, sync_directory
from sfumato.service.database import MAPS, NAME, Database
from sfumato.service.permissions import only_for_the_owner
from sfumato.service.storage import Store, sync_tree
from sfumato.service.store_check import why_damaged


@dataclass(frozen=True)
class Copied:
    """What a backup or a restore has written."""

    maps: int
    linked: bool


def back_up(folder: Path, target: Path, *, progress: Progress = silent) -> Copied:
    """Write a backup to a new folder; the store may be served meanwhile."""
    store = Store(folder, read_only=True)
    try:
        store.database.check()
        with _new_store(target) as copy:
            linked = _same_disk(store.maps, copy)
            _copy_database(store.database.connection(), copy)
            count = _copy_maps(
                store.maps,
                copy,
                linked=linked,
                has_row=lambda map_id: map_id in store.ids(),
                progress=progress,
            )
    finally:
        store.database.close()
    return Copied(count, linked)


def restore(backup: Path, target: Path, *, progress: Progress = silent) -> Copied:
    """Write a store from a backup; a folder that holds anything is never written to."""
    database = Database(backup, read_only=True, accept_older=True)
    try:
        database.check()
        with _new_store(target) as copy:
            _copy_database(database.connection(), copy)
            count = _copy_maps(
                backup / MAPS, copy, linked=False, has_row=lambda _: True, progress=progress
            )
    finally:
        database.close()
    return Copied(count, linked=False)


@contextmanager
def _new_store(target: Path) -> Iterator[Path]:
    """A folder beside the target that gets its name when it is whole and on the disk."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInput(f"{target} is not empty, and nothing was changed; choose a new folder.")
    temporary = target.absolute().parent / f"{TEMPORARY}{secrets.token_hex(8)}"
    with only_for_the_owner():
        try:
            temporary.mkdir(parents=True)
            (temporary / MAPS).mkdir()
            yield temporary
            sync_tree(temporary)
            temporary.rename(target)
            sync_directory(temporary.parent)
        except (OSError, sqlite3.Error) as error:
            raise InvalidInput(
                f"{target} cannot be written ({error}); nothing is left there."
            ) from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _copy_database(source: sqlite3.Connection, folder: Path) -> None:
    with closing(sqlite3.connect(folder / NAME)) as copy:
        source.backup(copy)
    Database(folder).close()  # brings an older one up to date
    with closing(sqlite3.connect(folder / NAME)) as copy:
        # One file without a log beside it: it can be copied, and read from a read-only disk.
        copy.execute("PRAGMA journal_mode = DELETE")


def _same_disk(maps: Path, copy: Path) -> bool:
    return maps.is_dir() and maps.stat().st_dev == copy.stat().st_dev


def _copy_maps(
    maps: Path,
    copy: Path,
    *,
    linked: bool,
    has_row: Callable[[str], bool],
    progress: Progress,
) -> int:
    """Every map that the copied metadata names; one that was deleted meanwhile leaves it."""
    with closing(sqlite3.connect(copy / NAME, isolation_level=None)) as database:
        ids = [row[0] for row in database.execute("SELECT id FROM maps ORDER BY id")]
        count = 0
        for done, map_id in enumerate(ids):
            progress("copying maps", done, len(ids))
            reason = _copy_map(maps / map_id, copy / MAPS / map_id, linked=linked)
            if reason is None:
                count += 1
            elif has_row(map_id):
                raise DamagedFile(
                    f"the map {map_id} cannot be copied whole ({reason.rstrip('.')}), so nothing "
                    "was written; run `sfumato store check` first."
                )
            else:
                shutil.rmtree(copy / MAPS / map_id, ignore_errors=True)
                database.execute("DELETE FROM maps WHERE id = ?", (map_id,))
        database.execute("DELETE FROM leaving")
        database.execute("DELETE FROM quarantined")
    return count


def _link_or_copy(source: str, target: str) -> None:
    """Two mounts of one file system look like one disk and cannot be linked."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EMLINK, errno.EPERM):
            raise
        shutil.copyfile(source, target)


def _copy_map(source: Path, target: Path, *, linked: bool) -> str | None:
    """Copy one folder and check the copy; the reason if that failed."""
    try:
        shutil.copytree(
            source,
            target,
            copy_function=_link_or_copy if linked else shutil.copyfile,
            ignore=lambda _, names: [name for name in names if name.startswith(TEMPORARY)],
        )
    except shutil.Error as error:
        full = next((reason for _, _, reason in error.args[0] if "No space" in reason), None)
        if full is not None:
            raise OSError(errno.ENOSPC, "No space left on device") from None
        return "files vanished while they were copied"
    except FileNotFoundError:
        return "its folder is missing"
    return why_damaged(target)
