"""One array in the .npy format, from a file that anyone may have made.

NumPy evaluates the header of an .npy as Python, which fails in many ways on a hostile one, and
believes the shape it finds. Here the header must have the one form that arrays of plain numbers
have, and the shape must fit the bytes that are there, before any memory is asked for. Whatever
does not fit is a ValueError with a reason; readers of files make their own sentence of it.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x93NUMPY"
#: NumPy's own headers have 118 bytes; those of other programs are not much longer.
MAX_HEADER_BYTES = 16 << 10
_MAX_AXES = 32
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4}
_KINDS = "biufU"
_LAST_CHARACTER, _SURROGATES = 0x10FFFF, 0xD800 >> 11

# Quantifiers that never step back (*+): long runs of blanks cost no more than their length.
_FORM = re.compile(
    rb"\{(?:\s*+'(?:descr|fortran_order|shape)'\s*+:\s*+"
    rb"(?:'[^'\\]{1,12}'|True|False|\([\d,\s]*+\))\s*+,?+){3}\s*+\}\s*+"
)
_DTYPE = re.compile(rb"'descr'\s*+:\s*+'([<>|=]?[a-zA-Z]\d{0,9})'")
_ORDER = re.compile(rb"'fortran_order'\s*+:\s*+(True|False)")
_SHAPE = re.compile(rb"'shape'\s*+:\s*+\((\s*+|\s*+\d{1,18}\s*+(?:,\s*+\d{1,18}\s*+)*+,?+\s*+)\)")


@dataclass(frozen=True)
class NpyHeader:
    """What an .npy announces; `start` is where its numbers begin."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    start: int

    @property
    def size(self) -> int:
        """Bytes of all numbers."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def order(self) -> Any:
        return "F" if self.fortran else "C"

    def check_size(self, size: int) -> None:
        """Exactly these bytes must be there for the array."""
        if size != self.size:
            raise ValueError(
                f"shape {self.shape} of {self.dtype} needs {self.size} bytes, {size} are there"
            )


def read_header(stream: IO[bytes]) -> NpyHeader:
    """The header of an .npy, from its beginning."""
    start = _exactly(stream, len(MAGIC) + 2)
    version = (start[-2], start[-1])
    if start[:-2] != MAGIC or version not in _LENGTH_BYTES:
        raise ValueError("it does not begin like an .npy of version 1 or 2")
    width = _LENGTH_BYTES[version]
    length = int.from_bytes(_exactly(stream, width), "little")
    if length > MAX_HEADER_BYTES:
        raise ValueError(f"its header has {length} bytes, at most {MAX_HEADER_BYTES} are read")
    text = _exactly(stream, length)
    dtype, order, shape = (form.search(text) for form in (_DTYPE, _ORDER, _SHAPE))
    if _FORM.fullmatch(text) is None or dtype is None or order is None or shape is None:
        raise ValueError("its header is not that of an array of numbers")
    sides = tuple(int(side) for side in shape[1].replace(b",", b" ").split())
    return NpyHeader(
        _checked_shape(sides),
        _checked_dtype(dtype[1]),
        order[1] == b"True",
        len(start) + width + length,
    )


def read_array(stream: IO[bytes], size: int) -> NDArray[Any]:
    """The array of an .npy of `size` bytes in all; it must end where its numbers end."""
    header = read_header(stream)
    header.check_size(size - header.start)
    data = stream.read(header.size + 1)
    header.check_size(len(data))
    flat = _checked_text(np.frombuffer(data, dtype=header.dtype))
    return flat.reshape(header.shape, order=header.order)


def map_array(file: BinaryIO) -> NDArray[Any]:
    """The array of an open .npy, mapped into memory: read when it is looked at, never changed."""
    file.seek(0)
    header = read_header(file)
    header.check_size(os.fstat(file.fileno()).st_size - header.start)
    if not header.size:  # nothing cannot be mapped
        return np.empty(header.shape, header.dtype, header.order)
    mapped = np.memmap(file, header.dtype, "r", header.start, header.shape, header.order)
    _checked_text(mapped.ravel("K"))
    return mapped


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise ValueError("it ends within its header")
    return data


def _checked_dtype(text: bytes) -> np.dtype[Any]:
    try:
        dtype = np.dtype(text.decode("ascii"))
    except (TypeError, ValueError, OverflowError):
        raise ValueError("its kind of number is unknown") from None
    if dtype.kind not in _KINDS or not dtype.itemsize:
        raise ValueError(f"an array of {dtype} is not an array of numbers")
    return dtype


def _checked_text(flat: NDArray[Any]) -> NDArray[Any]:
    """Return texts that consist of characters; Python ends in a SystemError over any other."""
    if flat.dtype.kind == "U":
        codes = flat.view(flat.dtype.byteorder.replace("|", "=") + "u4")
        if (codes > _LAST_CHARACTER).any() or (codes >> 11 == _SURROGATES).any():
            raise ValueError("its texts hold numbers that are no characters")
    return flat


def _checked_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    # A side of 0 would hide the others from the comparison with the bytes that are there.
    if len(shape) > _MAX_AXES or math.prod(side or 1 for side in shape) >= 1 << 48:
        raise ValueError(f"no array has {len(shape)} axes of such lengths")
    return shape
