"""Pictures to attack, and what the attacker knows: the words W of a lifting, a stranger's Z."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.types import Features
from sfumato.dictionary import Dictionary
from sfumato.dictionary.sampling import Reservoir
from sfumato.features import iter_folder_features, list_images
from sfumato.privacy.known_truth import NUM_SUB_DATABASES
from sfumato_papers.harness.work import show_progress

#: Without public pictures of their own, every third picture of the database is made public.
PUBLIC_STEP = 3


def load_pictures(folders: Sequence[str | Path], *, num_pictures: int) -> dict[str, Features]:
    """Features of so many pictures of the folders together, spread evenly; blank ones left out."""
    found: dict[str, Features] = {}
    everything = [(Path(folder), name) for folder in folders for name in list_images(folder)]
    step = max(len(everything) / num_pictures, 1.0)
    chosen = [everything[int(i * step)] for i in range(min(num_pictures, len(everything)))]
    for folder in dict.fromkeys(folder for folder, _ in chosen):
        names = [name for home, name in chosen if home == folder]
        for name, features in iter_folder_features(folder, names=names, progress=show_progress):
            solid = np.flatnonzero(features.descriptors.any(axis=1))
            if len(solid) > 1:
                found[f"{folder.name}/{name}"] = features.take(solid)
    if not found:
        raise InvalidInput("no picture has two keypoints; give other photographs.")
    return found


def load_words(
    database: Sequence[str], public: Sequence[Path], num_words: int
) -> tuple[Dictionary, NDArray[Any]]:
    """W, the words of the lifting, and Z, the descriptors a stranger has.

    database  a Dictionary's name or folder, or folders of pictures whose descriptors are the
              words, drawn at random. Fewer than num_words are used where there are no more
    public    folders of pictures for Z; every third picture of the database without them
    """
    if len(database) == 1 and _is_dictionary(database[0]):
        if not public:
            raise InvalidInput("with a dictionary as database, give --public with other pictures.")
        return Dictionary.load(database[0]), _sample(_rows(public), 1 << 62)
    shared = _rows([Path(one) for one in database])
    if public:
        words, others = _sample(shared, num_words), _sample(_rows(public), 1 << 62)
    else:
        own: list[NDArray[Any]] = []
        rest: list[NDArray[Any]] = []
        for number, rows in enumerate(shared):
            (rest if number % PUBLIC_STEP == PUBLIC_STEP - 1 else own).append(rows)
        words, others = _sample(iter(own), num_words), _sample(iter(rest), 1 << 62)
    count = len(words) // NUM_SUB_DATABASES * NUM_SUB_DATABASES
    if not count or not len(others):
        raise InvalidInput(f"the database's pictures hold only {len(words)} descriptors.")
    provenance = "descriptors of pictures, drawn at random"
    return Dictionary.from_words(words[:count], extractor="sift", provenance=provenance), others


def _is_dictionary(name: str) -> bool:
    return not Path(name).exists() or (Path(name) / "manifest.json").exists()


def _rows(folders: Sequence[Path]) -> Iterator[NDArray[Any]]:
    for folder in folders:
        for _, features in iter_folder_features(folder, progress=show_progress):
            if len(features):
                yield features.descriptors[features.descriptors.any(axis=1)]


def _sample(rows: Iterator[NDArray[Any]], count: int) -> NDArray[Any]:
    reservoir = Reservoir(count, np.random.default_rng(0))
    for number, part in enumerate(rows):
        reservoir.add(part, number)
    return np.random.default_rng(1).permutation(reservoir.result()[0])
