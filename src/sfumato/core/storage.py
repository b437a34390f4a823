"""Files that are either whole or absent, and directories that know when they are damaged.

A file or a directory is written under a temporary name, synced, renamed, and the parent
directory is synced. A stored directory holds memory-mappable `.npy` arrays and one
`manifest.json`; the manifest lists the checksum of every array and carries its own.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import CannotWrite, DamagedFile, InvalidInput
from sfumato.core.files import open_plain, parse_json, read_limited
from sfumato.core.npy_file import map_array

MANIFEST = "manifest.json"
TEMPORARY = ".tmp-"
#: Names of images and cameras make a manifest long: 20,000 images with a camera each fit, or
#: 60,000 that share one, with names of 60 letters. Parsed, it takes up to 25 times its length.
MAX_MANIFEST_BYTES = 4 << 20
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


def write_file(path: Path, data: bytes) -> None:
    """Write data to path, whole or not at all."""
    with NewFile(path) as file:
        file.finish(data)


class NewFile:
    """A file that is made before its content is known, and is visible only when it is whole.

    What costs something (a charge, an hour of work) comes after the file was made and `reserve`
    found room for it: a folder that is missing, read-only or full is then refused beforehand.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            if self.path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            with suppress(FileNotFoundError):  # raises for a name that is too long
                if not stat.S_ISREG(self.path.stat().st_mode):  # a device is not to be replaced
                    raise OSError(errno.EINVAL, "it is not a regular file")
            self._temporary = self.path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
            self._file = self._temporary.open("xb")
        except FileNotFoundError:
            raise CannotWrite(
                f"the folder {self.path.parent} does not exist; make it first.", errno.ENOENT
            ) from None
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def reserve(self, size: int) -> None:
        """Take this many bytes of the disk now."""
        try:
            if size > 0 and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._file.fileno(), 0, size)
            elif size > 0:
                self._file.write(bytes(size))
                self._file.flush()
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def finish(self, data: bytes, *, name: str | None = None) -> Path:
        """Fill the file and show it, under another name if one is given; on disk after this."""
        path = self.path if name is None else self.path.with_name(name)
        try:
            self._file.seek(0)
            self._file.write(data)
            self._file.truncate()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._temporary.replace(path)
            sync_directory(path.parent)
        except OSError as error:
            raise _unwritable(path, error) from None
        return path

    def __enter__(self) -> NewFile:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what could not be written is not written again while closing
            self._file.close()
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse before a long work what could not be written after it; nothing is left behind."""
    with NewFile(path):
        pass


def _unwritable(path: Path, error: OSError) -> CannotWrite:
    return CannotWrite(
        f"{path} cannot be written ({error.strerror or error}); choose a file in a folder that "
        "can be written and has room.",
        error.errno,
    )


def sync_directory(path: Path) -> None:
    """Make a rename in this directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def new_directory(
    path: Path, *, replace: bool = False, make_parents: bool = True
) -> Iterator[Path]:
    """Fill a directory under a temporary name; it appears under `path` when all went well.

    Without make_parents it is refused where its parent is gone, deleted by somebody meanwhile.
    """
    path = Path(path)
    if path.exists() and not replace:
        raise InvalidInput(f"{path} exists already; choose another name or remove it.")
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    try:
        if make_parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        yield temporary
        for file in temporary.iterdir():
            if file.is_file():  # a directory in it was made whole by itself
                with file.open("rb") as handle:
                    os.fsync(handle.fileno())
        sync_directory(temporary)
        aside = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
        if path.exists():  # two directories cannot change places in one step everywhere
            path.rename(aside)
        temporary.rename(path)
        if aside.exists():
            shutil.rmtree(aside)
        sync_directory(path.parent)
    except OSError as error:
        # A stream's write names no file; unnamed, it would pass for standard output.
        named = isinstance(error, CannotWrite) or error.filename is not None
        if named or error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _unwritable(path, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def save_arrays(
    path: Path,
    arrays: Mapping[str, NDArray[Any]],
    manifest: Mapping[str, Any],
    *,
    files: Mapping[str, bytes] | None = None,
    replace: bool = False,
    make_parents: bool = True,
) -> None:
    """Store arrays and a manifest as one directory."""
    with new_directory(path, replace=replace, make_parents=make_parents) as directory:
        fill_directory(directory, arrays, manifest, files or {})


def fill_directory(
    directory: Path,
    arrays: Mapping[str, NDArray[Any]],
    manifest: Mapping[str, Any],
    files: Mapping[str, bytes],
) -> None:
    """Write arrays, files and their manifest into a directory that is being made."""
    checksums: dict[str, str] = {}
    for name, array in arrays.items():
        file = directory / f"{name}.npy"
        np.save(file, np.ascontiguousarray(array), allow_pickle=False)
        checksums[file.name] = file_checksum(file)
    for name, data in files.items():
        (directory / name).write_bytes(data)
        checksums[name] = hashlib.sha256(data).hexdigest()
    content = {**manifest, "files": checksums}
    content["checksum"] = _manifest_checksum(content)
    data = f"{json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)}\n".encode()
    if len(data) > MAX_MANIFEST_BYTES:
        raise InvalidInput(
            f"the names and cameras of a {manifest.get('kind')} may take "
            f"{MAX_MANIFEST_BYTES:,} bytes, these take {len(data):,}; split it into several."
        )
    (directory / MANIFEST).write_bytes(data)


def load_manifest(path: Path, *, kind: str) -> dict[str, Any]:
    """Read and check the manifest of a stored directory; `kind` says what it should be."""
    file = Path(path) / MANIFEST
    try:
        data = read_limited(file, MAX_MANIFEST_BYTES, what="manifest", follow_links=False)
        content = parse_json(data)
        sound = isinstance(content, dict) and content.get("checksum") == _manifest_checksum(content)
    except InvalidInput:
        raise
    except FileNotFoundError:
        raise InvalidInput(f"{path} is not a stored {kind}: it has no {MANIFEST}.") from None
    except NotADirectoryError:
        raise InvalidInput(f"{path} is not a stored {kind}: it is a file.") from None
    except (ValueError, RecursionError):
        raise DamagedFile(f"{file} is damaged: it is not valid JSON; restore the {kind}.") from None
    if not sound:
        raise DamagedFile(f"{file} is damaged: its checksum does not match; restore the {kind}.")
    if content.get("kind") != kind:
        found = str(content.get("kind"))[:40]
        raise InvalidInput(f"{path} holds a {found!r}, a {kind!r} is needed.")
    if not _are_checksums(content.get("files")):
        raise DamagedFile(
            f"{file} is damaged: it must list the plain names of its files with their checksums; "
            f"restore the {kind}."
        )
    return dict(content)


def load_array(
    path: Path, name: str, manifest: Mapping[str, Any], *, verify: bool = True
) -> NDArray[Any]:
    """Memory-map one array of a stored directory, after checking its bytes.

    `verify=False` is for whoever knows that another process has just checked them.
    """
    with open_stored(path, f"{name}.npy", manifest, verify=verify) as file:
        try:
            return np.asarray(map_array(file))
        except (ValueError, OSError, OverflowError, MemoryError) as error:
            reason = str(error).partition("\n")[0]
            raise DamagedFile(
                f"{Path(path) / name}.npy is damaged and cannot be mapped: {reason}; restore it."
            ) from None


def check_file(path: Path, name: str, manifest: Mapping[str, Any]) -> Path:
    """Return the path of a stored file whose bytes match the manifest."""
    with open_stored(path, name, manifest):
        return Path(path) / name


def open_stored(
    path: Path, name: str, manifest: Mapping[str, Any], *, verify: bool = True
) -> BufferedReader:
    """Open a file that the manifest lists; a link, a pipe or other bytes are refused."""
    expected = manifest["files"].get(name)
    try:
        if expected is None:
            raise FileNotFoundError
        file = open_plain(Path(path) / name, follow_links=False)
    except FileNotFoundError:
        raise DamagedFile(f"{path} is incomplete: {name} is missing; restore it.") from None
    except OSError as error:
        raise DamagedFile(f"{Path(path) / name} cannot be read: {error.strerror}.") from None
    if verify and hashlib.file_digest(file, "sha256").hexdigest() != expected:
        with file:
            raise DamagedFile(
                f"{Path(path) / name} is damaged: {file.tell()} bytes whose checksum is not the "
                "one in the manifest; restore it."
            )
    file.seek(0)
    return file


def file_checksum(path: Path) -> str:
    """SHA-256 of a file, in bounded memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest_checksum(content: Mapping[str, Any]) -> str:
    bare = {key: value for key, value in content.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(bare, sort_keys=True).encode()).hexdigest()


def _are_checksums(files: Any) -> bool:
    """Names and checksums of files in the directory itself: a path would lead out of it."""
    return isinstance(files, dict) and all(
        _FILE_NAME.fullmatch(name) and isinstance(value, str) for name, value in files.items()
    )
