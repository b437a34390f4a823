"""File a stored map under all levels of a dictionary at once, so that no query has to."""

from __future__ import annotations

import numpy as np

from sfumato.core.checks import check_same_extractor
from sfumato.core.errors import InvalidInput
from sfumato.dictionary import Dictionary
from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.word_cache import load_index, write_index

_ROWS = 1 << 16  # descriptors looked up at a time: memory stays small for any map


def fingerprints_of(dictionary: Dictionary) -> dict[int, str]:
    """Number of words → fingerprint, of the dictionary and all its levels."""
    sizes = sorted({*dictionary.levels, dictionary.num_words})
    return {size: dictionary.fingerprint_at(size) for size in sizes}


def file_under(world: Map, dictionary: Dictionary, *, again: bool = True) -> None:
    """Store the word index of every level beside the map; one search for nearest words serves all.

    `again=False` leaves indices alone that are there and undamaged.
    """
    if world._stored is None:
        raise InvalidInput("only a map that was loaded can be filed away beside itself.")
    check_same_extractor("the map", world.extractor, "the dictionary", dictionary.extractor)
    wanted = fingerprints_of(dictionary)
    if not again and all(load_index(*world._stored, name) for name in wanted.values()):
        return
    rows = world.observations()
    words = np.empty(len(rows), dtype=np.int64)
    for first in range(0, len(rows), _ROWS):
        part = rows[first : first + _ROWS]
        words[first : first + _ROWS] = dictionary.nearest(np.asarray(world.descriptors[part]))
    for size, fingerprint in wanted.items():
        groups = dictionary.levels.get(size)
        filed = words if groups is None else np.asarray(groups, dtype=np.int64)[words]
        write_index(*world._stored, fingerprint, InvertedIndex.build(filed, rows, size))
