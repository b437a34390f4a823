"""The same sample of descriptors, taken by workers: from them it goes to files, not through us.

Each worker stores the descriptors of some pictures and tells how many they are. Numbers alone
decide which rows a sample keeps (`Reservoir`), so they are chosen here; workers then copy the
chosen rows into one file. A part that is stored is not made again by a build that goes on.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.progress import Progress, silent
from sfumato.core.storage import write_file
from sfumato.dictionary.sampling import Reservoir, Sample
from sfumato.dictionary.sources import Source
from sfumato.execution import current

_PICTURES = 8  # that one worker describes at a time
_ROWS = 1 << 16  # of the sample that one worker copies at a time: whole pages of the file


@dataclass(frozen=True)
class _Part:
    """Some pictures: how many descriptors each gave, and (name, reason) of the unreadable."""

    counts: list[int]
    unreadable: list[tuple[str, str]]


def sample_on_workers(
    source: Source, capacity: int, rng: np.random.Generator, folder: Path, progress: Progress
) -> Sample:
    """What `sample_pictures` gives, its descriptors a mapped file in a folder all workers see."""
    folder.mkdir(exist_ok=True)
    for path in (folder, source.path):
        current().check_path(path)
    absolute = replace(source, path=None if source.path is None else source.path.absolute())
    starts = range(0, len(source.names), _PICTURES)
    parts: list[_Part] = []
    for part in current().map(_describe, starts, absolute, folder.absolute()):
        parts.append(part)
        source.unreadable.extend(part.unreadable)
        progress("extracting", min(len(parts) * _PICTURES, len(source.names)), len(source.names))
    source.check_readable()
    reservoir = Reservoir(capacity, rng)
    counts = [count for part in parts for count in part.counts]
    for image_id, (first, count) in enumerate(zip(np.cumsum([0, *counts]), counts, strict=False)):
        reservoir.add(np.arange(first, first + count)[:, None], image_id)
    kept, ids = reservoir.result()
    ends = np.cumsum([sum(part.counts) for part in parts])
    target = folder / "sample.bin"
    rows = _gather(folder.absolute(), target.absolute(), kept.reshape(-1), ends)
    return Sample(rows, ids, seen=reservoir.seen, num_images=len(counts))


def forget_parts(folder: Path) -> None:
    """Remove what workers stored, once the sample is kept elsewhere."""
    shutil.rmtree(folder, ignore_errors=True)


def _describe(source: Source, folder: Path, start: int) -> _Part:
    """Store the descriptors of some pictures, unless an earlier build did."""
    told = folder / f"{start:09d}.json"
    if told.exists():
        return _Part(**json.loads(told.read_text(encoding="utf-8")))
    some = replace(source, names=source.names[start : start + _PICTURES], unreadable=[])
    found = list(some.described(silent))
    np.save(folder / f"{start:09d}.npy", np.concatenate(found) if found else np.empty((0, 0)))
    part = _Part([len(rows) for rows in found], some.unreadable)
    write_file(told, json.dumps(vars(part)).encode())
    return part


def _gather(
    folder: Path, target: Path, kept: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[Any]:
    files = [folder / f"{number * _PICTURES:09d}.npy" for number in range(len(ends))]
    if not len(kept):
        return np.empty((0, 0), dtype=np.uint8)
    first = np.load(files[int(np.searchsorted(ends, kept[0], side="right"))], mmap_mode="r")
    shape, dtype = (len(kept), first.shape[1]), first.dtype
    with target.open("wb") as file:
        file.truncate(shape[0] * shape[1] * dtype.itemsize)

    def blocks() -> Iterator[tuple[int, NDArray[np.int64]]]:
        for low in range(0, len(kept), _ROWS):
            yield low, kept[low : low + _ROWS]

    for _ in current().map(_copy, blocks(), files, ends, (target, shape, dtype.str)):
        pass
    return np.memmap(target, dtype, mode="r", shape=shape)


def _copy(
    files: list[Path],
    ends: NDArray[np.int64],
    target: tuple[Path, tuple[int, int], str],
    block: tuple[int, NDArray[np.int64]],
) -> None:
    """Put some rows of the sample, each from its part, into their place in the file."""
    low, rows = block
    path, shape, dtype = target
    whole = np.memmap(path, np.dtype(dtype), mode="r+", shape=shape)
    made = whole[low : low + len(rows)]
    part_of = np.searchsorted(ends, rows, side="right")
    for part in np.unique(part_of).tolist():
        mine = np.flatnonzero(part_of == part)
        begin = int(ends[part - 1]) if part else 0
        made[mine] = np.load(files[part], mmap_mode="r")[rows[mine] - begin]
    whole.flush()
