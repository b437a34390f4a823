"""A dictionary's folder as one plain tar: how it travels to devices that have none."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

_PIECE = 1 << 18


def tar_length(folder: Path) -> int:
    """Bytes that `tar_pieces` gives."""
    return sum(512 + -(-file.stat().st_size // 512) * 512 for file in _files(folder)) + 1024


def tar_pieces(folder: Path) -> Iterator[bytes]:
    """The folder as an uncompressed tar: the same bytes whenever it is asked for."""
    for file in _files(folder):
        entry = tarfile.TarInfo(file.name)
        entry.size = file.stat().st_size
        entry.mode = 0o644
        yield entry.tobuf(tarfile.USTAR_FORMAT)
        with file.open("rb") as stream:
            while piece := stream.read(_PIECE):
                yield piece
        yield bytes(-entry.size % 512)
    yield bytes(1024)


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.is_file())
