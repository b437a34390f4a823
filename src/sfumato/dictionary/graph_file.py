"""The stored graph over words, looked through before faiss is given it.

faiss believes what it reads: an index can name other files to open, announce any length, and link
to vectors that do not exist, which a search then reads. A graph that comes with a dictionary must
be one of the three kinds that sfumato writes, with every link inside it.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAX_LEVELS = 64
_KINDS = {b"IHNs": b"IxSQ", b"IHNf": b"IxF2", b"IBHf": b"IBxF"}  # graph → its vectors
_VECTOR_UNIT = {b"IxSQ": 1, b"IxF2": 4, b"IBxF": 1}


def check_graph(data: bytes, num_words: int, dimension: int, *, binary: bool) -> None:
    """Raise ValueError unless the bytes are a whole graph over this many words of D columns."""
    file = _Bytes(data)
    kind = file.raw(4)
    if kind not in _KINDS or (kind == b"IBHf") != binary:
        raise ValueError("another kind of index")
    file.header(num_words, dimension, binary=binary)
    _check_links(file, num_words)
    storage = _KINDS[kind]
    if file.raw(4) != storage:
        raise ValueError("another kind of vectors")
    file.header(num_words, dimension, binary=binary)
    if storage == b"IxSQ":
        _, _, _, columns, code_size = file.take("iifQQ")
        trained = file.vector("<f4")
        if (columns, code_size, len(trained)) != (dimension, dimension, 0):
            raise ValueError("other vectors")
    unit = _VECTOR_UNIT[storage]
    size = len(file.vector("<u1" if unit == 1 else "<f4"))
    if size != num_words * dimension or file.at != len(data):
        raise ValueError("vectors that are not the words")


def _check_links(file: _Bytes, num_words: int) -> None:
    file.vector("<f8")  # chances of a level, used while building
    ends = file.vector("<i4")  # where the links of each level end, within those of a word
    levels = file.vector("<i4")
    starts = file.vector("<u8")
    links = file.vector("<i4")
    entry, top, _, _, _ = file.take("iiiii")
    if len(levels) != num_words or len(starts) != num_words + 1 or len(ends) < 2:
        raise ValueError("tables of other lengths")
    if len(ends) > _MAX_LEVELS or ends[0] != 0 or (np.diff(ends) < 0).any():
        raise ValueError("levels that do not rise")
    if not (levels.min() >= 1 and levels.max() < len(ends)):
        raise ValueError("words of no level")
    lengths = ends[levels].astype(np.uint64)
    if starts[0] != 0 or (np.diff(starts) != lengths).any() or starts[-1] != len(links):
        raise ValueError("links that do not add up")
    if not (0 <= entry < num_words and levels[entry] == top + 1 == levels.max()):
        raise ValueError("no way in")
    if len(links) and not (links.min() >= -1 and links.max() < num_words):
        raise ValueError("links to words that are not there")
    for level in range(1, int(levels.max())):
        # A link of this level must lead to a word that has the level, too.
        owners = np.flatnonzero(levels > level)
        width = np.arange(int(ends[level]), int(ends[level + 1]), dtype=np.uint64)
        led = links[(starts[owners][:, None] + width).astype(np.int64)]
        if (levels[led[led >= 0]] <= level).any():
            raise ValueError("links to words of a lower level")


class _Bytes:
    """Bytes read from front to end; reading past the end is a ValueError."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def raw(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise ValueError("cut short")
        self.at += count
        return self.data[self.at - count : self.at]

    def take(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{layout}", self.raw(struct.calcsize(f"<{layout}")))

    def vector(self, dtype: str) -> NDArray[Any]:
        (count,) = self.take("Q")
        kind = np.dtype(dtype)
        return np.frombuffer(self.raw(count * kind.itemsize), dtype=kind)

    def header(self, num_words: int, dimension: int, *, binary: bool) -> None:
        if binary:
            columns, size, count, trained, metric = self.take("iiq?i")
            fits = (columns, size) == (8 * dimension, dimension)
        else:
            columns, count, _, _, trained, metric = self.take("iqqq?i")
            fits = columns == dimension
        if not fits or count != num_words or not trained or metric != 1:
            raise ValueError("an index over other words")
