"""Files that are either whole or absent, and directories that know when they are damaged.

A file or a directory is written under a temporary name, synced, renamed, and the parent
directory is synced. A stored directory holds memory-mappable `.npy` arrays and one
`manifest.json`; the manifest lists the checksum of every array and carries its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, InvalidInput

MANIFEST = "manifest.json"
TEMPORARY = ".tmp-"


def write_file(path: Path, data: bytes) -> None:
    """Write data to path, whole or not at all."""
    path = Path(path)
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        sync_directory(path.parent)
    except FileNotFoundError:
        raise InvalidInput(f"the folder {path.parent} does not exist; make it first.") from None
    finally:
        temporary.unlink(missing_ok=True)


def sync_directory(path: Path) -> None:
    """Make a rename in this directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def new_directory(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Fill a directory under a temporary name; it appears under `path` when all went well."""
    path = Path(path)
    if path.exists() and not replace:
        raise InvalidInput(f"{path} exists already; choose another name or remove it.")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    temporary.mkdir()
    try:
        yield temporary
        for file in temporary.iterdir():
            with file.open("rb") as handle:
                os.fsync(handle.fileno())
        sync_directory(temporary)
        if path.exists():
            # Directories cannot be exchanged in one step everywhere: move the old one aside.
            aside = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
            path.rename(aside)
            temporary.rename(path)
            shutil.rmtree(aside)
        else:
            temporary.rename(path)
        sync_directory(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def save_arrays(
    path: Path,
    arrays: Mapping[str, NDArray[Any]],
    manifest: Mapping[str, Any],
    *,
    files: Mapping[str, bytes] | None = None,
    replace: bool = False,
) -> None:
    """Store arrays and a manifest as one directory."""
    with new_directory(path, replace=replace) as directory:
        checksums: dict[str, str] = {}
        for name, array in arrays.items():
            file = directory / f"{name}.npy"
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)
            checksums[file.name] = file_checksum(file)
        for name, data in (files or {}).items():
            (directory / name).write_bytes(data)
            checksums[name] = hashlib.sha256(data).hexdigest()
        content = {**manifest, "files": checksums}
        content["checksum"] = _manifest_checksum(content)
        text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
        (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def load_manifest(path: Path, *, kind: str) -> dict[str, Any]:
    """Read and check the manifest of a stored directory; `kind` says what it should be."""
    file = Path(path) / MANIFEST
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInput(f"{path} is not a stored {kind}: it has no {MANIFEST}.") from None
    except NotADirectoryError:
        raise InvalidInput(f"{path} is not a stored {kind}: it is a file.") from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise DamagedFile(f"{file} is damaged: it is not valid JSON; restore the {kind}.") from None
    if not isinstance(content, dict) or content.get("checksum") != _manifest_checksum(content):
        raise DamagedFile(f"{file} is damaged: its checksum does not match; restore the {kind}.")
    if content.get("kind") != kind:
        raise InvalidInput(f"{path} holds a {content.get('kind')!r}, a {kind!r} is needed.")
    return content


def load_array(
    path: Path, name: str, manifest: Mapping[str, Any], *, verify: bool = True
) -> NDArray[Any]:
    """Memory-map one array of a stored directory, after checking its bytes.

    `verify=False` is for whoever knows that another process has just checked them.
    """
    file = Path(path) / f"{name}.npy"
    if verify:
        check_file(path, file.name, manifest)
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError):
        raise DamagedFile(f"{file} is damaged and cannot be mapped; restore it.") from None
    return np.asarray(array)


def check_file(path: Path, name: str, manifest: Mapping[str, Any]) -> Path:
    """Return the path of a stored file whose bytes match the manifest."""
    file = Path(path) / name
    expected = manifest["files"].get(name)
    if expected is None or not file.is_file():
        raise DamagedFile(f"{path} is incomplete: {name} is missing; restore it.")
    if file_checksum(file) != expected:
        raise DamagedFile(
            f"{file} is damaged: {file.stat().st_size} bytes whose checksum is not the one in "
            "the manifest; restore it."
        )
    return file


def file_checksum(path: Path) -> str:
    """SHA-256 of a file, in bounded memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest_checksum(content: Mapping[str, Any]) -> str:
    bare = {key: value for key, value in content.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(bare, sort_keys=True).encode()).hexdigest()
