"""Coarser dictionaries made of a fine one: each coarse word is the mean of a group of fine words.

The smaller ε, the fewer words a dictionary should have, or the true one is hardly ever sent.
Levels let |K| be chosen per query without another dictionary. Fine words count as often as
descriptors stood for them, so that a level is as well balanced as words clustered directly, and
a descriptor's coarse word is the nearest mean.

In dictionaries of format 1 no such counts are stored; there a coarse word is the group of the
nearest fine word.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number, check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.dictionary.index import OpenedIndex, WordIndex, make_index, takes_cells
from sfumato.dictionary.kmeans import cluster
from sfumato.dictionary.vectors import Space

SMALLEST = 1024
_ITERATIONS = 20
#: Share of keypoints whose true word is sent, at the level that is taken without a plan. In rooms
#: and before façades a tenth finds three of four pictures and a fifth nearly all, at any level.
_SENT_AT_LEAST = 0.2


def default_sizes(num_words: int) -> tuple[int, ...]:
    """Powers of two from 1,024 up to half the number of words or just above."""
    return tuple(2**k for k in range(10, 25) if 2**k < num_words)


def level_for(sizes: Iterable[int], epsilon: float, subset_size: int) -> int:
    """The largest level whose true word is sent often enough; else the smallest."""
    if not as_number("epsilon", epsilon) > 0:
        raise InvalidInput(f"epsilon must be above 0, got {epsilon!r}.")
    check_count("subset_size", subset_size, low=1)
    odds = subset_size * math.exp(min(epsilon, 50.0))
    often = [size for size in sizes if odds >= _SENT_AT_LEAST * (odds + size - subset_size)]
    return max(often) if often else min(sizes)


def make_levels(
    words: NDArray[Any],
    metric: str,
    sizes: tuple[int, ...],
    weights: NDArray[Any],
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> dict[int, NDArray[Any]]:
    """For every size, the group of each word: k-means of the words, each with its weight."""
    levels: dict[int, NDArray[Any]] = {}
    for done, size in enumerate(sizes):
        check_count("level", size, low=2, high=len(words) - 1)
        progress("making levels", done, len(sizes))
        found = cluster(
            words, size, space=Space(metric), iterations=_ITERATIONS, seed=seed, weights=weights
        )
        # A word that copies another may have no member left; each level has all its words.
        levels[size] = compact(_without_empty(found.assignment, size))
    progress("making levels", len(sizes), len(sizes))
    return levels


def _without_empty(groups: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    """Give each empty group one member of a group that has several."""
    sizes = np.bincount(groups, minlength=size)
    for empty in np.flatnonzero(sizes == 0):
        donor = int(sizes.argmax())
        groups[np.flatnonzero(groups == donor)[-1]] = empty
        sizes[donor] -= 1
        sizes[empty] = 1
    return groups


def compact(groups: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the smallest unsigned type that holds them."""
    small = np.uint16 if groups.max() < 1 << 16 else np.uint32
    kept = np.ascontiguousarray(groups, dtype=small)
    kept.flags.writeable = False
    return kept


def check_levels(
    levels: Mapping[int, NDArray[Any]], weights: NDArray[Any] | None, num_words: int
) -> None:
    """Refuse groups that do not cover the words, or leave a coarse word without any."""
    for size, groups in levels.items():
        whole = groups.shape == (num_words,) and groups.dtype.kind == "u"
        whole = whole and len(np.unique(groups)) == size
        if not whole or int(groups.max()) != size - 1:
            raise InvalidInput(
                f"the level of {size} words must put each of {num_words} words into one of "
                f"{size} groups and leave none empty."
            )
    if weights is not None and not (
        weights.shape == (num_words,) and weights.dtype.kind == "u" and (weights > 0).all()
    ):
        raise InvalidInput(
            f"the weights of the levels must be {num_words} whole numbers, one per word and none "
            "of them 0."
        )


def coarse_words(
    words: NDArray[Any],
    groups: NDArray[Any],
    size: int,
    metric: str,
    weights: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """The mean of each group, in the words' own type."""
    counts = np.ones(len(words), np.int64) if weights is None else weights.astype(np.int64)
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(size))
    kind: Any = np.float64
    if words.dtype == np.uint8:  # summed exactly: the same means on every machine
        kind = np.int32 if 255 * counts.sum() < 1 << 31 else np.int64
        values = np.unpackbits(words[order], axis=1) if metric == "hamming" else words[order]
    else:
        values = words[order]
    weighted = values.astype(kind)
    weighted *= counts[order].astype(kind)[:, None]
    sums = np.add.reduceat(weighted, starts, axis=0)
    means = sums / np.add.reduceat(counts[order], starts)[:, None]
    if metric == "hamming":
        return np.packbits(means >= 0.5, axis=1)
    return np.rint(means).astype(np.uint8) if words.dtype == np.uint8 else means.astype(np.float32)


def cell_level(num_words: int, sizes: Iterable[int]) -> int | None:
    """The level whose words are middles of cells: about four times the root of their number."""
    smaller = sorted(size for size in sizes if size < num_words)
    enough = [size for size in smaller if size >= 4 * math.isqrt(num_words)]
    chosen = enough[:1] or smaller[-1:]
    return chosen[0] if chosen else None


def open_index(
    words: NDArray[Any],
    metric: str,
    kind: str,
    levels: Mapping[int, NDArray[Any]],
    weights: NDArray[Any] | None,
) -> WordIndex:
    """The index of words that may have levels."""
    size = None if weights is None else cell_level(len(words), levels)
    centres = None
    if size is not None and takes_cells(kind, len(words)):
        centres = coarse_words(words, levels[size], size, metric, weights)
    return make_index(words, metric=metric, kind=kind, centres=centres)


def balance(groups: NDArray[Any], weights: NDArray[Any]) -> float:
    """How evenly descriptors fall on the words of a level: 1 where all are met equally often.

    The perplexity of the words' shares, over their number.
    """
    share = np.bincount(groups, weights) / weights.sum()
    return float(np.exp(-np.sum(share * np.log(share))) / len(share))


def level_fingerprint(
    fine: str, size: int, groups: NDArray[Any], weights: NDArray[Any] | None
) -> str:
    """Names the fine dictionary, the grouping and the weights, which decide every coarse word."""
    kind = "level" if weights is None else "means"
    digest = hashlib.sha256(f"{kind}|{fine}|{size}|".encode())
    digest.update(np.ascontiguousarray(groups, dtype="<u4").data)
    if weights is not None:
        digest.update(np.ascontiguousarray(weights, dtype="<u4").data)
    return digest.hexdigest()


class GroupIndex:
    """The group of the nearest fine word: the coarse words of format 1."""

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
        return None
