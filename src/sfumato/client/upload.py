"""A map's folder as one stream: an uncompressed tar that is made while it is sent."""

from __future__ import annotations

import base64
import hashlib
import os
import tarfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from sfumato.core.errors import InvalidInput
from sfumato.core.files import open_plain
from sfumato.core.storage import MANIFEST, load_manifest

_PIECE = 1 << 16


@dataclass(frozen=True)
class TarStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The same bytes each time it is read, from the same files.

    Only the files of the map are in it, without owner, date or folder names of this machine.
    """

    folder: Path
    files: tuple[tuple[str, int], ...]

    @staticmethod
    def of_map(folder: Path) -> TarStream:
        """The files that the manifest of a map lists, and the manifest."""
        manifest = load_manifest(folder, kind="map")
        names = [MANIFEST, *sorted(manifest["files"])]
        try:
            return TarStream(folder, tuple((name, _plain_size(folder / name)) for name in names))
        except OSError as error:
            raise InvalidInput(f"{folder} cannot be read: {error.strerror}.") from None

    @property
    def length(self) -> int:
        blocks = sum(1 + (size + 511) // 512 for _, size in self.files) + 2
        return 512 * blocks

    def digest(self) -> str:
        """The Content-Digest of the whole [RFC 9530]."""
        total = hashlib.sha256()
        for piece in self:
            total.update(piece)
        return f"sha-256=:{base64.b64encode(total.digest()).decode()}:"

    def __iter__(self) -> Iterator[bytes]:
        for name, size in self.files:
            info = tarfile.TarInfo(name)
            info.size = size
            yield info.tobuf(tarfile.GNU_FORMAT)
            yield from _content(self.folder / name, size)
            if size % 512:
                yield bytes(-size % 512)
        yield bytes(1024)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def _plain_size(path: Path) -> int:
    """A link in a map that someone else packed could lead to any file of this machine."""
    with open_plain(path, follow_links=False) as file:
        return os.fstat(file.fileno()).st_size


def _content(path: Path, size: int) -> Iterator[bytes]:
    left = size
    with open_plain(path, follow_links=False) as file:
        while left:
            piece = file.read(min(left, _PIECE))
            if not piece:
                raise InvalidInput(f"{path} became shorter while it was sent; send the map again.")
            left -= len(piece)
            yield piece
