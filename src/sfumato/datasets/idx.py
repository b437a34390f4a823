"""Pictures and labels in the idx files of MNIST and Fashion-MNIST, compressed or not."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.files import open_plain

#: More than any set of this kind; a header that announces more is refused before it is believed.
MAX_BYTES = 1 << 31
_DEFLATE_RATIO = 1100  # zlib packs at most 1032 bytes into one
_UNSIGNED_BYTES = 0x08


@dataclass(frozen=True, eq=False)
class LabelledPictures:
    """One split of a set.

    pictures  (N, height, width) uint8
    labels    (N,) uint8
    """

    pictures: NDArray[np.uint8]
    labels: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.labels)


def read_split(folder: str | Path, split: str) -> LabelledPictures:
    """The pictures and labels of "train" or "t10k", as named in MNIST's own folder."""
    if split not in ("train", "t10k"):
        raise InvalidInput(f"split must be train or t10k, got {split!r}.")
    root = Path(folder)
    pictures = read_idx(_find(root, f"{split}-images-idx3-ubyte"), num_axes=3)
    labels = read_idx(_find(root, f"{split}-labels-idx1-ubyte"), num_axes=1)
    if len(pictures) != len(labels):
        raise InvalidInput(
            f"the {split} split has {len(pictures)} pictures but {len(labels)} labels; "
            "restore its files."
        )
    return LabelledPictures(pictures, labels)


def read_idx(path: str | Path, *, num_axes: int | None = None) -> NDArray[np.uint8]:
    """One idx file of unsigned bytes; it must hold exactly what its header announces."""
    file = Path(path)
    try:
        with _open(file) as stream:
            shape = _read_header(stream, file.name)
            size = math.prod(shape)
            _check_size(file, size, packed=isinstance(stream, gzip.GzipFile))
            # One byte more than announced shows what follows, and bounds what is unpacked.
            data = stream.read(size + 1)
    except InvalidInput:
        raise
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"{file} cannot be read as an idx file: {error}.") from None
    if len(data) != size:
        amount = f"only {len(data)}" if len(data) < size else "more"
        raise InvalidInput(
            f"{file} announces {size} bytes of shape {shape} and holds {amount}; restore it."
        )
    if num_axes is not None and len(shape) != num_axes:
        raise InvalidInput(f"{file} must have {num_axes} axes, got shape {shape}.")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def _read_header(stream: gzip.GzipFile | BinaryIO, name: str) -> tuple[int, ...]:
    start = stream.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[3] == 0:
        raise InvalidInput(f"{name} is not an idx file: it does not begin like one.")
    if start[2] != _UNSIGNED_BYTES:
        raise InvalidInput(
            f"{name} must hold unsigned bytes (type 0x08), got type {start[2]:#04x}."
        )
    lengths = stream.read(4 * start[3])
    if start[3] > 4 or len(lengths) < 4 * start[3]:
        raise InvalidInput(f"{name} is not an idx file: its header of {start[3]} axes is broken.")
    shape = struct.unpack(f">{start[3]}I", lengths)
    if math.prod(shape) > MAX_BYTES:
        raise InvalidInput(
            f"{name} announces {math.prod(shape)} bytes, at most {MAX_BYTES} are read."
        )
    return shape


def _check_size(file: Path, size: int, *, packed: bool) -> None:
    """What is announced must fit the file before memory is asked for."""
    available = file.stat().st_size * (_DEFLATE_RATIO if packed else 1)
    if size > available:
        raise InvalidInput(f"{file} announces {size} bytes, it can hold {available}; restore it.")


def _open(file: Path) -> gzip.GzipFile | BinaryIO:
    with open_plain(file) as probe:
        packed = probe.read(2) == b"\x1f\x8b"
    return gzip.open(file, "rb") if packed else open_plain(file)


def _find(root: Path, stem: str) -> Path:
    # MNIST is also spread with a dot before the kind.
    for name in (stem, stem.replace("-idx", ".idx")):
        for suffix in ("", ".gz"):
            if (root / f"{name}{suffix}").is_file():
                return root / f"{name}{suffix}"
    raise Missing(
        f"{root} lacks {stem}; fetch the idx files of MNIST or Fashion-MNIST and name their folder."
    )
