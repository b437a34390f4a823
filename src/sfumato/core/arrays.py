"""Named arrays in one .npz file: written whole or not at all, read without trust."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.storage import write_file

MAX_BYTES = 1 << 32
_MAX_ARRAYS = 256


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store arrays uncompressed; objects cannot be stored, so nothing needs pickle."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **dict(arrays))
    write_file(path, buffer.getvalue())


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an .npz, or the one of an .npy under the name "array".

    Sizes that are announced are compared with the bytes that are there before any array is
    made, and compressed members are refused above MAX_BYTES in all.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            if file.read(6) == npy.MAGIC_PREFIX:
                file.seek(0)
                return {"array": _read_array(file, path.stat().st_size)}
            file.seek(0)
            return _read_members(file)
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, OSError) and error.strerror:
            raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise InvalidInput(f"{path} is not a readable .npz or .npy of numbers: {reason}.") from None
    except (NotImplementedError, RuntimeError):
        raise InvalidInput(
            f"{path} uses a kind of archive that is not read; save it anew."
        ) from None


def _read_members(file: IO[bytes]) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        if len(members) > _MAX_ARRAYS or total > MAX_BYTES:
            raise ValueError(f"{len(members)} arrays of {total} bytes are too many")
        found = {}
        for member in members:
            with archive.open(member) as stream:
                found[member.filename.removesuffix(".npy")] = _read_array(stream, member.file_size)
        return found


def _read_array(stream: IO[bytes], size: int) -> NDArray[Any]:
    version = npy.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = npy.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran, dtype = npy.read_array_header_2_0(stream)
    else:
        raise ValueError(f"version {version} of .npy is not read")
    if dtype.hasobject or dtype.kind not in "biufU":
        raise ValueError(f"an array of {dtype} is not an array of numbers")
    needed = math.prod(shape) * dtype.itemsize
    if needed > size:
        raise ValueError(f"shape {shape} of {dtype} needs {needed} bytes, {size} are there")
    data = stream.read(needed + 1)
    if len(data) != needed:
        raise ValueError(f"shape {shape} of {dtype} needs exactly {needed} bytes")
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if fortran else "C")
