"""What a plan tries: levels, subset sizes, numbers of keypoints and how they are chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.device.filters.keep import KEEP_BY
from sfumato.dictionary import Dictionary
from sfumato.privacy.rehearsal import Question, Rehearsal, Setting


@dataclass(frozen=True)
class Grid:
    """What is tried.

    keypoints      the most a picture sends, several; 0 stands for all of any image's
    subset_sizes   ω
    level_ratio    between the sizes of a dictionary's levels that are tried, the largest always
    smallest       level that is tried, in words
    keep_by        how keypoints are chosen: strength, spread, stable
    object_limits  at most so many descriptors see an object, several; besides no limit
    """

    keypoints: tuple[int, ...] = (0, 2000, 1000, 500, 250)
    subset_sizes: tuple[int, ...] = (1, 2)
    level_ratio: int = 4
    smallest: int = 1024
    keep_by: tuple[str, ...] = ("strength",)
    object_limits: tuple[int, ...] = (40, 20, 10)


def settings_of(grid: Grid, rehearsal: Rehearsal, keep: int | None) -> Iterator[Setting]:
    """Every setting once; with `keep` no other number of keypoints."""
    most = rehearsal.most_keypoints
    counts = {keep} if keep is not None else {min(count or most, most) for count in grid.keypoints}
    limits: tuple[int | None, ...] = (None,)
    if rehearsal.question.object_size is not None:
        limits = (None, *grid.object_limits)
    for number, dictionary in enumerate(rehearsal.dictionaries):
        for num_words in _levels(dictionary, grid):
            for size in grid.subset_sizes:
                for count in sorted(counts):
                    for keep_by in grid.keep_by if count < most else grid.keep_by[:1]:
                        for limit in limits:
                            if size < num_words:
                                yield Setting(number, num_words, size, count, keep_by, limit)


def _levels(dictionary: Dictionary, grid: Grid) -> list[int]:
    """The largest level, then every one that is smaller by the ratio."""
    chosen = [dictionary.num_words]
    for size in sorted(dictionary.levels, reverse=True):
        if size * grid.level_ratio <= chosen[-1] and size >= grid.smallest:
            chosen.append(size)
    return chosen


def check_photos(
    grid: Grid, question: Question, photos: Mapping[str, NDArray[np.uint8]] | None
) -> None:
    """Refuse what cannot be tried without the photographs of the map."""
    for name in grid.keep_by:
        if name not in KEEP_BY:
            raise InvalidInput(f"keypoints are kept by {', '.join(KEEP_BY)}, got {name!r}.")
    if photos is not None:
        return
    if question.object_size is not None:
        raise InvalidInput(
            "a map does not keep how large its keypoints are; to count those that see an object, "
            "give the photographs that the map was made of, or say how many see it."
        )
    if "stable" in grid.keep_by:
        raise InvalidInput(
            "to keep keypoints by stability, give the photographs that the map was made of."
        )
