"""A global descriptor without a network: how often a picture shows each public word.

Device and server make it alike, each of its own pictures; the space it is sent through is fitted
on public ones. Nothing here is private by itself: `device/global_descriptor.py` adds the noise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_same_extractor
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.progress import Progress, silent
from sfumato.core.vector_space import VectorSpace
from sfumato.dictionary.dictionary import Dictionary
from sfumato.dictionary.sources import open_source

_PREFIX = "bag-"


def bag_name(words: Dictionary) -> str:
    """What bags of these words are called, as extractors are: it names the words themselves."""
    return _PREFIX + words.fingerprint[:16]


def is_bag(name: str) -> bool:
    """Whether vectors of this name are bags of some dictionary's words."""
    return name.startswith(_PREFIX)


def bag_of(descriptors: NDArray[Any], words: Dictionary) -> NDArray[np.float64]:
    """(|K|,) square roots of the shares of each nearest word: of length one, or all zero.

    Descriptors that are not finite or of another dimension are refused.
    """
    nearest = words.nearest(descriptors)
    counts = np.bincount(nearest, minlength=words.num_words)
    return np.sqrt(counts / max(len(nearest), 1))


def words_of_space(space: VectorSpace, dictionary: Dictionary) -> Dictionary:
    """The level of a dictionary whose bags a space was fitted on; any other is refused."""
    sizes = {*dictionary.levels, dictionary.num_words}
    if not is_bag(space.extractor):
        raise Mismatch(
            f"the space is of {space.extractor!r} vectors, not of global descriptors; make one "
            "with `sfumato dictionary space`."
        )
    size = len(space.mean)
    if size not in sizes or bag_name(dictionary.at(size)) != space.extractor:
        raise Mismatch(
            f"the space is of bags of {size:,} words of another dictionary than "
            f"{dictionary.fingerprint[:12]}…; give the dictionary it was made with."
        )
    return dictionary.at(size)


def fit_bag_space(
    source: str | Path,
    words: Dictionary,
    dimension: int = 32,
    *,
    max_keypoints: int | None = None,
    progress: Progress = silent,
) -> tuple[VectorSpace, int]:
    """The space of public pictures' global descriptors, and how many pictures made it.

    source  a folder of public pictures, or a features file; pictures without keypoints count for
            nothing
    """
    opened = open_source(
        source, words.extractor, max_keypoints=max_keypoints, image_ids=None, strict=False
    )
    check_same_extractor("the dictionary", words.extractor, "the source", opened.extractor)
    found = [bag_of(rows, words) for rows in opened.pictures(progress) if len(rows)]
    if len(found) < dimension:
        raise InvalidInput(
            f"a space of {dimension} numbers needs at least as many public pictures with "
            f"keypoints, got {len(found)}; give more, or a smaller dimension."
        )
    return VectorSpace.fit(np.array(found), dimension, extractor=bag_name(words)), len(found)
