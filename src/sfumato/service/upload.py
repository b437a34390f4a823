"""A map as a tar stream: flat regular files that a map has, nothing else, never more than a limit.

Blocks are parsed one by one with the standard library's header reader and written as they come;
no name of the stream is ever used as a path unless it is one of the map's own file names.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import BinaryIO

from sfumato.core.storage import MANIFEST, MAX_MANIFEST_BYTES
from sfumato.server.mapping.map import ARRAY_NAMES
from sfumato.server.mapping.sidecars import DERIVED, WORDS
from sfumato.service.errors import ServiceError

BLOCK = tarfile.BLOCKSIZE
FILES = frozenset({MANIFEST, *(f"{name}.npy" for name in ARRAY_NAMES)})
_MAX_EXTRA = 64 << 10  # of a pax header, whose content is skipped
_MAX_ENTRIES = 4096
_SKIPPED_FOLDERS = (WORDS, DERIVED)  # made here anew, never taken from outside


class TarReader:
    """Feed it bytes in any pieces; files appear in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._block = bytearray()
        self._left = 0  # bytes of the current file
        self._padding = 0
        self._file: BinaryIO | None = None
        self._names: set[str] = set()
        self._entries = 0
        self._ended = False

    def feed(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if self._ended:
                if any(view):
                    raise not_a_map("something follows the end of the tar")
                return
            if self._left:
                part = view[: self._left]
                if self._file is not None:
                    self._file.write(part)
                self._left -= len(part)
                view = view[len(part) :]
                if not self._left:
                    self._close_file()
            elif self._padding:
                part = view[: self._padding]
                self._padding -= len(part)
                view = view[len(part) :]
            else:
                part = view[: BLOCK - len(self._block)]
                self._block += part
                view = view[len(part) :]
                if len(self._block) == BLOCK:
                    block = bytes(self._block)
                    self._block.clear()
                    self._header(block)

    def finish(self) -> None:
        """The stream has ended: it must have been whole, and have had a manifest."""
        if self._left or self._block or not self._ended:
            raise not_a_map("the tar ends too early")
        if MANIFEST not in self._names:
            raise not_a_map(f"it has no {MANIFEST}")

    def close(self) -> None:
        self._close_file()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _header(self, block: bytes) -> None:
        if not any(block):
            self._ended = True
            return
        self._entries += 1
        if self._entries > _MAX_ENTRIES:
            raise not_a_map("the tar has too many entries")
        try:
            entry = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.HeaderError, ValueError):
            raise not_a_map("it is not a tar, or a damaged one") from None
        if entry.size < 0:
            raise not_a_map("the tar has a file of negative size")
        self._padding = -entry.size % BLOCK
        if entry.type in (tarfile.XHDTYPE, tarfile.XGLTYPE):
            if entry.size > _MAX_EXTRA:
                raise not_a_map("the tar has an oversized extended header")
            self._left = entry.size
            return
        name = entry.name.removeprefix("./").rstrip("/")
        skipped = name.startswith(_SKIPPED_FOLDERS) and ".." not in name
        if entry.type == tarfile.DIRTYPE:
            if (name in ("", ".") or (skipped and "/" not in name)) and not entry.size:
                return
            raise not_a_map("the tar has a folder that a map does not have")
        if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise not_a_map("the tar has an entry that is not a regular file")
        self._left = entry.size
        if skipped and name.count("/") == 1:
            return
        if name not in FILES:
            raise not_a_map("the tar has a file that a map does not have")
        if name in self._names:
            raise not_a_map("the tar has the same file twice")
        if name == MANIFEST and entry.size > MAX_MANIFEST_BYTES:
            raise not_a_map(f"its {MANIFEST} is larger than {MAX_MANIFEST_BYTES} bytes")
        self._names.add(name)
        self._file = (self._folder / name).open("xb")
        if not self._left:
            self._close_file()


def not_a_map(why: str) -> ServiceError:
    return ServiceError(400, "not-a-map", f"the body is not the tar of one whole map: {why}.")
