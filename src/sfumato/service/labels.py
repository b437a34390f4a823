"""A map's label: whose it is and what its row says, kept beside its files.

With it a map can be taken in again when the metadata is lost. Until the upload is acknowledged
the label has another file name: a folder that has only that one may be erased.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.errors import DamagedFile
from sfumato.core.storage import sync_directory, write_file

LABEL = "label.json"
ARRIVING = "arriving.json"
_FORMAT = 1


@dataclass(frozen=True)
class StoredMap:
    """A row: whose it is, and what may be told about it."""

    tenant: str
    id: str
    name: str
    info: dict[str, Any]


def write_arriving(folder: Path, stored: StoredMap) -> None:
    """Label a draft whose upload nobody has acknowledged."""
    (folder / ARRIVING).write_bytes(_to_bytes(stored))


def write_label(folder: Path, stored: StoredMap) -> None:
    write_file(folder / LABEL, _to_bytes(stored))


def acknowledge(folder: Path) -> None:
    """From here on the folder is kept, whatever becomes of the metadata."""
    (folder / ARRIVING).rename(folder / LABEL)
    sync_directory(folder)


def is_arriving(folder: Path) -> bool:
    return (folder / ARRIVING).is_file() and not (folder / LABEL).exists()


def read_label(folder: Path, *, name: str = LABEL) -> StoredMap:
    """The label of a folder; DamagedFile if it has none that can be trusted."""
    try:
        content = json.loads((folder / name).read_bytes())
        stored = StoredMap(content["tenant"], content["id"], content["name"], content["info"])
        good = content == json.loads(_to_bytes(stored))
    except FileNotFoundError:
        raise DamagedFile(f"it has no {name}") from None
    except (OSError, ValueError, LookupError, TypeError):
        good = False
    if not good:
        raise DamagedFile(f"its {name} is damaged")
    return stored


def _to_bytes(stored: StoredMap) -> bytes:
    content: dict[str, Any] = {
        "format": _FORMAT,
        "tenant": stored.tenant,
        "id": stored.id,
        "name": stored.name,
        "info": stored.info,
    }
    plain = json.dumps(content, sort_keys=True).encode()
    content["checksum"] = hashlib.sha256(plain).hexdigest()
    return json.dumps(content, indent=1).encode() + b"\n"
