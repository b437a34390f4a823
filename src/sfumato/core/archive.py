"""Files of a folder as one plain tar, made while it is read: how maps and words travel."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from sfumato.core.errors import InvalidInput
from sfumato.core.files import open_plain
from sfumato.core.storage import MANIFEST, load_manifest

_PIECE = 1 << 18
_BLOCK = tarfile.BLOCKSIZE


@dataclass(frozen=True)
class PlainTar:
    """The same bytes each time it is read, from the same files.

    Only these files are in it, without owner, date or folder names of this machine.
    """

    folder: Path
    files: tuple[tuple[str, int], ...]

    @classmethod
    def of_files(cls, folder: Path, names: Iterable[str]) -> Self:
        """These files of a folder, in this order."""
        try:
            return cls(folder, tuple((name, _plain_size(folder / name)) for name in names))
        except OSError as error:
            raise InvalidInput(f"{folder} cannot be read: {error.strerror}.") from None

    @classmethod
    def of_map(cls, folder: Path) -> Self:
        """The files that the manifest of a map lists, and the manifest."""
        manifest = load_manifest(folder, kind="map")
        return cls.of_files(folder, [MANIFEST, *sorted(manifest["files"])])

    @property
    def length(self) -> int:
        blocks = sum(1 + -(-size // _BLOCK) for _, size in self.files) + 2
        return _BLOCK * blocks

    def __iter__(self) -> Iterator[bytes]:
        for name, size in self.files:
            info = tarfile.TarInfo(name)
            info.size = size
            yield info.tobuf(tarfile.GNU_FORMAT)
            yield from _content(self.folder / name, size)
            if size % _BLOCK:
                yield bytes(-size % _BLOCK)
        yield bytes(2 * _BLOCK)


def _plain_size(path: Path) -> int:
    """A link in a folder that someone else packed could lead to any file of this machine."""
    with open_plain(path, follow_links=False) as file:
        return os.fstat(file.fileno()).st_size


def _content(path: Path, size: int) -> Iterator[bytes]:
    left = size
    with open_plain(path, follow_links=False) as file:
        while left:
            piece = file.read(min(left, _PIECE))
            if not piece:
                raise InvalidInput(f"{path} became shorter while it was sent; send it again.")
            left -= len(piece)
            yield piece
