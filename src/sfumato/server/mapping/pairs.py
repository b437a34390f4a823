"""Which images are compared: all, those listed, or neighbours and look-alikes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.core.threads import single_threaded_products
from sfumato.core.types import Features
from sfumato.dictionary.vectors import Space, best_words, query_side, word_side
from sfumato.server.mapping.correspondences import is_binary

#: Up to this many images, every one is compared with every other.
MAX_EXHAUSTIVE = 60

_NEIGHBOURS = 10  # images before and after in order of name
_LOOK_ALIKES = 20
_WORDS = 256
_PER_IMAGE = 400  # strongest descriptors an image is compared by
_SAMPLE = 20_000

Pairs = list[tuple[int, int]]


def read_pairs(path: str | Path) -> list[tuple[str, str]]:
    """Read hloc's pairs.txt: two names of images to a line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"the list of pairs at {path} cannot be read.") from None
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2:
            raise InvalidInput(
                f"{path} must have two names to a line, line {number} has {len(words)}."
            )
        pairs.append((words[0], words[1]))
    return pairs


def named_pairs(
    pairs: Iterable[tuple[str, str]], names: Sequence[str], absent: Iterable[str] = ()
) -> Pairs:
    """Pairs of names as pairs of indices, each once; pairs with an `absent` image are left out."""
    index = {name: row for row, name in enumerate(names)}
    left_out = frozenset(absent)
    found: dict[tuple[int, int], None] = {}
    for pair in pairs:
        if left_out.intersection(pair):
            continue
        unknown = [name for name in pair if name not in index]
        if unknown:
            raise InvalidInput(
                f"the list of pairs names {unknown[0]!r}, which is not among the "
                f"{len(names)} images; use names relative to the folder."
            )
        a, b = sorted((index[pair[0]], index[pair[1]]))
        if a != b:
            found[a, b] = None
    if not found:
        raise InvalidInput("the list of pairs names no two different images of the folder.")
    return list(found)


def choose_pairs(features: Sequence[Features], *, seed: int = 0) -> Pairs:
    """All pairs of up to 60 images; of more, neighbours in order and look-alikes."""
    count = len(features)
    if count <= MAX_EXHAUSTIVE:
        return list(combinations(range(count), 2))
    chosen = {(a, b) for a in range(count) for b in range(a + 1, min(a + _NEIGHBOURS + 1, count))}
    with single_threaded_products():  # many small ones; threads would wait for each other
        alike = _signatures(features, seed)
        similarity = alike @ alike.T
    np.fill_diagonal(similarity, -np.inf)
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :_LOOK_ALIKES]
    for a in range(count):
        chosen |= {(min(a, b), max(a, b)) for b in nearest[a].tolist()}
    return sorted(chosen)


def _signatures(features: Sequence[Features], seed: int) -> NDArray[np.float32]:
    """(I, words) of unit length: how often each image shows each of a few rough words.

    The words are some rounds of k-means on a sample. They choose pairs and are then forgotten.
    """
    rng = np.random.default_rng(seed)
    space = Space("hamming" if is_binary(features[0].extractor) else "l2")
    strongest = [space.vectors(item.descriptors[:_PER_IMAGE]) for item in features]
    pool = np.concatenate(strongest)
    if not len(pool):
        return np.zeros((len(features), 1), dtype=np.float32)
    pool = pool[rng.permutation(len(pool))[:_SAMPLE]]
    words = pool[:_WORDS].copy()
    for _ in range(5):
        nearest, _ = best_words(query_side(pool), word_side(words))
        sums = np.zeros_like(words)
        np.add.at(sums, nearest, pool)
        sizes = np.bincount(nearest, minlength=len(words))
        words[sizes > 0] = sums[sizes > 0] / sizes[sizes > 0, None]
    counts = np.zeros((len(features), len(words)), dtype=np.float32)
    for row, vectors in enumerate(strongest):
        if len(vectors):
            nearest, _ = best_words(query_side(vectors), word_side(words))
            counts[row] = np.bincount(nearest, minlength=len(words))
    seen = np.count_nonzero(counts, axis=0)
    counts = np.sqrt(counts) * np.log((len(features) + 1) / (seen + 1)).astype(np.float32)
    return unit_vectors(counts, np.float32)
