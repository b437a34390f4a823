"""What the owner of a stored map makes once, so that no query has to: indices, derived arrays."""

from __future__ import annotations

import numpy as np

from sfumato.core.checks import check_same_extractor
from sfumato.core.errors import InvalidInput
from sfumato.dictionary import Dictionary
from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.sidecars import Sidecars

_ROWS = 1 << 16  # descriptors looked up at a time: memory stays small for any map


def fingerprints_of(dictionary: Dictionary) -> dict[int, str]:
    """Number of words → fingerprint, of the dictionary and all its levels."""
    sizes = sorted({*dictionary.levels, dictionary.num_words})
    return {size: dictionary.fingerprint_at(size) for size in sizes}


def file_under(world: Map, dictionary: Dictionary, *, again: bool = True) -> None:
    """Store the word index of every level beside the map.

    `again=False` leaves indices alone that are there and undamaged.
    """
    sidecars = _sidecars(world)
    check_same_extractor("the map", world.extractor, "the dictionary", dictionary.extractor)
    wanted = fingerprints_of(dictionary)
    if not again and all(sidecars.word_index(name) for name in wanted.values()):
        return
    for fingerprint, index in word_indices(world, dictionary).items():
        sidecars.save_word_index(fingerprint, index)


def word_indices(world: Map, dictionary: Dictionary) -> dict[str, InvertedIndex]:
    """The word index of every level, by fingerprint; each searched for once."""
    rows = world.observations()
    sizes = fingerprints_of(dictionary)
    words = {size: np.empty(len(rows), dtype=np.int64) for size in sizes}
    for first in range(0, len(rows), _ROWS):
        part = rows[first : first + _ROWS]
        found = dictionary.nearest_at_levels(np.asarray(world.descriptors[part]))
        for size, nearest in found.items():
            words[size][first : first + _ROWS] = nearest
    return {
        fingerprint: InvertedIndex.build(words[size], rows, size)
        for size, fingerprint in sizes.items()
    }


def store_derived(world: Map, *, again: bool = True) -> None:
    """Store what every process would otherwise compute and hold alone."""
    sidecars = _sidecars(world)
    if again or not sidecars.derived():
        sidecars.save_derived(world.derived_arrays())


def _sidecars(world: Map) -> Sidecars:
    if world.sidecars is None:
        raise InvalidInput("only a map that was loaded has a folder to file it in; save it first.")
    return world.sidecars
