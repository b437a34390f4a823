"""Coarser dictionaries inside a fine one: each coarse word is a group of fine words.

The smaller ε, the fewer words a dictionary should have, or the true one is hardly ever sent.
Levels let |K| be chosen per query without another dictionary: a descriptor's coarse word
is the group of its nearest fine word, on the device as on the server.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.dictionary.index import OpenedIndex, WordIndex
from sfumato.dictionary.kmeans import cluster
from sfumato.dictionary.vectors import Space

SMALLEST = 1024
_ITERATIONS = 10


def default_sizes(num_words: int) -> tuple[int, ...]:
    """Powers of two from 1,024 up to half the number of words or just above."""
    return tuple(2**k for k in range(10, 25) if 2**k < num_words)


def make_levels(
    words: NDArray[Any],
    metric: str,
    sizes: tuple[int, ...],
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> dict[int, NDArray[Any]]:
    """For every size, the group of each word; groups of one level unite those of the next finer.

    Fine words are clustered into the largest size, those centres into the next, and so on.
    """
    levels: dict[int, NDArray[Any]] = {}
    current: NDArray[Any] = words
    group: NDArray[Any] = np.arange(len(words))
    for done, size in enumerate(sorted(sizes, reverse=True)):
        check_count("level", size, low=2, high=len(current) - 1)
        progress("nesting", done, len(sizes))
        found = cluster(current, size, space=Space(metric), iterations=_ITERATIONS, seed=seed)
        group = found.assignment[group]
        levels[size] = compact(group)
        current = np.packbits(found.words >= 0.5, axis=1) if metric == "hamming" else found.words
    progress("nesting", len(sizes), len(sizes))
    return levels


def compact(groups: NDArray[Any]) -> NDArray[Any]:
    """Group numbers in the smallest unsigned type that holds them."""
    small = np.uint16 if groups.max() < 1 << 16 else np.uint32
    kept = np.ascontiguousarray(groups, dtype=small)
    kept.flags.writeable = False
    return kept


def check_levels(levels: Mapping[int, NDArray[Any]], num_words: int) -> None:
    """Refuse groups that do not cover the words, or leave a coarse word without any."""
    for size, groups in levels.items():
        whole = groups.shape == (num_words,) and groups.dtype.kind == "u"
        whole = whole and len(np.unique(groups)) == size
        if not whole or int(groups.max()) != size - 1:
            raise InvalidInput(
                f"the level of {size} words must put each of {num_words} words into one of "
                f"{size} groups and leave none empty."
            )


def coarse_words(words: NDArray[Any], groups: NDArray[Any], size: int, metric: str) -> NDArray[Any]:
    """The mean of each group, in the words' own type; for showing, not for searching."""
    vectors = Space(metric).vectors(words)
    sums = np.zeros((size, vectors.shape[1]), dtype=np.float64)
    np.add.at(sums, groups, vectors)
    means = sums / np.bincount(groups, minlength=size)[:, None]
    if metric == "hamming":
        return np.packbits(means >= 0.5, axis=1)
    return np.rint(means).astype(np.uint8) if words.dtype == np.uint8 else means.astype(np.float32)


def level_fingerprint(fine: str, size: int, groups: NDArray[Any]) -> str:
    """Names the fine dictionary and the grouping: together they decide every coarse word."""
    digest = hashlib.sha256(f"level|{fine}|{size}|".encode())
    digest.update(np.ascontiguousarray(groups, dtype="<u4").data)
    return digest.hexdigest()


class GroupIndex:
    """The group of the nearest fine word."""

    kind = "groups"

    def __init__(self, fine: Callable[[], WordIndex], groups: NDArray[Any]) -> None:
        self._fine, self._groups = fine, groups

    def __reduce__(self) -> Any:
        return GroupIndex, (OpenedIndex(self._fine()), self._groups)

    def nearest(self, queries: NDArray[Any]) -> NDArray[np.uint32]:
        return np.asarray(self._groups[self._fine().nearest(queries)], dtype=np.uint32)

    def nearest_several(self, queries: NDArray[Any], count: int) -> NDArray[np.uint32]:
        """The groups of the nearest fine words; near the middle of a group they are all one."""
        return np.asarray(
            self._groups[self._fine().nearest_several(queries, count)], dtype=np.uint32
        )

    def to_bytes(self) -> bytes | None:
        raise InvalidInput("a level is stored with the dictionary it belongs to; save that one.")
