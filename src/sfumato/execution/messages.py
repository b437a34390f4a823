"""What goes between processes: values in files that all map, results, and errors with their trace.

A value is pickled once, its arrays beside it as they lie in memory: a worker maps the file and has
them without a copy, read-only. An array that is a memory-mapped file already goes as its path.
"""

from __future__ import annotations

import mmap
import pickle
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.errors import InvalidInput
from sfumato.core.threads import single_threaded_products
from sfumato.execution.threads import Threads

_ALIGNED = 64


@dataclass(frozen=True)
class MappedFile:
    """An array by where it lies on disk, to be mapped by whoever needs it."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @staticmethod
    def of(value: Any) -> MappedFile | None:
        """The file behind an array, if the array is all of what was mapped."""
        owner = value if isinstance(value, np.memmap) else getattr(value, "base", None)
        if not isinstance(owner, np.memmap) or owner.filename is None:
            return None
        whole = isinstance(owner.base, mmap.mmap) and owner.shape == value.shape
        if not whole or not value.flags.c_contiguous or value.dtype != owner.dtype:
            return None
        path = str(Path(owner.filename).resolve())
        return MappedFile(path, value.dtype.str, value.shape, int(owner.offset))

    def open(self) -> Any:
        try:
            found = np.memmap(
                self.path, np.dtype(self.dtype), mode="r", offset=self.offset, shape=self.shape
            )
        except (OSError, ValueError):
            raise InvalidInput(
                f"a worker cannot read {self.path}; work on several machines needs a folder that "
                "all of them see under the same path: use shared storage."
            ) from None
        return found


def write_value(path: Path, value: Any) -> None:
    """Pickle a value into a file, its arrays outside of the pickle."""
    buffers: list[pickle.PickleBuffer] = []
    mapped = MappedFile.of(value)
    text = pickle.dumps(mapped or value, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    head = pickle.dumps((text, [len(part) for part in raw]))
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for part in raw:
            file.write(bytes(-file.tell() % _ALIGNED))
            file.write(part)


def read_value(path: Path) -> Any:
    """The value of a file; its arrays lie in the file, read-only."""
    with path.open("rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    place = 8 + int.from_bytes(view[:8], "little")
    text, lengths = pickle.loads(view[8:place])  # noqa: S301 - written by our own parent
    buffers = []
    for length in lengths:
        place += -place % _ALIGNED
        buffers.append(view[place : place + length])
        place += length
    return opened(pickle.loads(text, buffers=buffers))  # noqa: S301


def opened(value: Any) -> Any:
    """A value, or the array behind a path."""
    return value.open() if isinstance(value, MappedFile) else value


@dataclass(frozen=True)
class Packed:
    """Something that another process can import and unpack: it looks where this one does."""

    data: bytes
    path: tuple[str, ...]

    @staticmethod
    def of(*values: Any) -> Packed:
        return Packed(pickle.dumps(values), tuple(sys.path))

    def open(self) -> Any:
        for folder in self.path:
            if folder not in sys.path:
                sys.path.append(folder)
        return pickle.loads(self.data)  # noqa: S301 - from the process that started this work


@dataclass(frozen=True)
class Answer:
    """What became of one call: its result, or the error and how it came about."""

    result: Any = None
    error: BaseException | None = None
    trace: str = ""

    def value(self) -> Any:
        if self.error is not None:
            raise self.error from RemoteError(self.trace)
        return self.result


class RemoteError(Exception):
    """Where in another process an error was raised."""

    def __str__(self) -> str:
        return f"in a worker:\n{self.args[0]}"


def answer(function: Callable[..., Any], *args: Any, **named: Any) -> Answer:
    """Call a function; its error is caught, and made one that can be sent."""
    try:
        return Answer(function(*args, **named))
    except Exception as error:  # noqa: BLE001 - raised again where the result is wanted
        trace = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        except Exception:  # noqa: BLE001 - whatever its class does when it is pickled
            return Answer(error=RuntimeError(f"{type(error).__name__}: {error}"), trace=trace)
        return Answer(error=error, trace=trace)


def use_one_core() -> None:
    """From now on this process uses one core: the others belong to other workers."""
    import cv2

    cv2.setNumThreads(1)
    single_threaded_products.stay()
    Threads.only = 1
