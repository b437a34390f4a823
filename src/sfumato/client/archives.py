"""Maps and words on their way between a device and a server: plain tars, read with suspicion."""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import re
import shutil
import tarfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import httpx

from sfumato.client.errors import BadAnswer
from sfumato.core.archive import PlainTar
from sfumato.core.errors import CannotWrite, SfumatoError
from sfumato.core.storage import MANIFEST, check_file, load_manifest

_MAP_FILE = re.compile(r"manifest\.json|[a-z][a-z0-9_]{0,63}\.npy")


@dataclass(frozen=True)
class TarStream(PlainTar, httpx.SyncByteStream, httpx.AsyncByteStream):
    """A tar as the body of a request."""

    def digest(self) -> str:
        """The Content-Digest of the whole [RFC 9530]."""
        total = hashlib.sha256()
        for piece in self:
            total.update(piece)
        return f"sha-256=:{base64.b64encode(total.digest()).decode()}:"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def unpack(archive: BinaryIO, folder: Path, wanted: re.Pattern[str], what: str) -> None:
    """The files that are used; others are passed over, links, sparse files and paths refused."""
    length = archive.seek(0, os.SEEK_END)
    archive.seek(0)
    try:
        with tarfile.open(fileobj=archive, mode="r:") as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if not wanted.fullmatch(name):
                    continue
                plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE)
                if not plain or member.issparse() or member.size > length:
                    raise BadAnswer(f"the server's {what} has a {name} that is no plain file.")
                content = tar.extractfile(member)
                if content is None:
                    raise BadAnswer(f"the server's {what} has an unreadable {name}.")
                with content, (folder / name).open("wb") as file:
                    shutil.copyfileobj(content, file)
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CannotWrite(
                f"there is no room for the server's {what} in {folder.parent} "
                f"({error.strerror}); make room and ask again.",
                error.errno,
            ) from None
        raise BadAnswer(f"the server's {what} is no whole archive ({error}).") from None


def unpack_map(archive: BinaryIO, folder: Path) -> None:
    """A fetched map, every file of which has the checksum that its manifest says."""
    unpack(archive, folder, _MAP_FILE, "map")
    try:
        manifest = load_manifest(folder, kind="map")
        for name in manifest["files"]:
            check_file(folder, name, manifest)
    except SfumatoError:
        raise BadAnswer(
            "what the server sent is not one whole map by its own checksums; nothing was kept."
        ) from None
    for path in folder.iterdir():
        if path.name not in (MANIFEST, *manifest["files"]):
            path.unlink()
