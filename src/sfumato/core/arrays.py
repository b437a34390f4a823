"""Named arrays in one .npz file: written whole or not at all, read without trust."""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.files import open_plain
from sfumato.core.npy_file import MAGIC, read_array
from sfumato.core.storage import write_file

MAX_BYTES = 1 << 32
#: Compressed, a file of 1 MB can announce 1 GB: more than that is not unpacked.
MAX_UNPACKED = 1 << 30
_MAX_ARRAYS = 256
_ARCHIVE = (zipfile.BadZipFile, zlib.error, struct.error)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store arrays uncompressed; objects cannot be stored, so nothing needs pickle."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **dict(arrays))
    write_file(path, buffer.getvalue())


def read_arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """All arrays of an .npz, or the one of an .npy under the name "array".

    Sizes that are announced are compared with the bytes that are there before any array is
    made; compressed members may unpack to MAX_UNPACKED bytes in all.
    """
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if file.read(len(MAGIC)) == MAGIC:
                file.seek(0)
                return {"array": read_array(file, size)}
            file.seek(0)
            return _read_members(file, size)
    except InvalidInput:
        raise
    except (NotImplementedError, RuntimeError):
        raise InvalidInput(
            f"{path} uses a kind of .npz archive that is not read; save it anew."
        ) from None
    except (OSError, EOFError, ValueError, OverflowError, MemoryError, *_ARCHIVE) as error:
        if isinstance(error, OSError) and error.strerror:
            raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise InvalidInput(f"{path} is not a readable .npz or .npy of numbers: {reason}.") from None


def _read_members(file: BinaryIO, size: int) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        packed = [member for member in members if member.compress_type != zipfile.ZIP_STORED]
        if any(member.compress_type != zipfile.ZIP_DEFLATED for member in packed):
            raise NotImplementedError
        plain = sum(member.file_size for member in members if member not in packed)
        unpacked = sum(member.file_size for member in packed)
        if len(members) > _MAX_ARRAYS or plain > min(size, MAX_BYTES) or unpacked > MAX_UNPACKED:
            raise ValueError(f"{len(members)} arrays of {plain + unpacked} bytes are too many")
        found = {}
        for member in members:
            with archive.open(member) as stream:
                found[member.filename.removesuffix(".npy")] = read_array(stream, member.file_size)
        return found
