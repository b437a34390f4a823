"""A small world for the recovery attacks: descriptors like SIFT, in clusters, words apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import SubspaceRelease, WordRelease
from sfumato.core.types import Features
from sfumato.device.mechanisms import SubsetMechanism, SubspaceLifting
from sfumato.dictionary import Dictionary
from support import features_of

Doubles = NDArray[np.float64]


def like_sift(count: int, *, seed: int, num_kinds: int = 150) -> NDArray[np.uint8]:
    """Whole numbers of length 512 with many zeros, around kinds that are the same for all seeds."""
    kinds = np.random.default_rng(99).exponential(size=(num_kinds, 128))
    kinds *= np.random.default_rng(98).random(kinds.shape) < 0.6
    generator = np.random.default_rng(seed)
    values = kinds[generator.integers(0, num_kinds, count)]
    values = np.maximum(values + 0.25 * generator.normal(size=values.shape) * (values > 0), 0)
    values *= 512 / np.linalg.norm(values, axis=1, keepdims=True)
    return np.minimum(np.rint(values), 255).astype(np.uint8)


def unit_rows(values: NDArray[Any]) -> Doubles:
    wide = values.astype(np.float64)
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))


WORDS = Dictionary.from_words(like_sift(1600, seed=1), extractor="sift")
PUBLIC = like_sift(1500, seed=2)


@dataclass(frozen=True, eq=False)
class Case:
    """A release and its true descriptors, both in the order of the release's rows."""

    release: SubspaceRelease
    truth: Doubles


def picture(count: int = 40, *, seed: int = 3) -> Features:
    """Features at different places, ordered by place as releases order them."""
    features = features_of(like_sift(count, seed=seed), extractor="sift", seed=seed)
    grid = np.stack([np.arange(count) % 30, np.arange(count) // 30], axis=1) * 10.0
    return replace(features, keypoints=grid.astype(np.float32))


def crowded(count: int, seed: int) -> Features:
    """A picture with several keypoints at one place, in no order."""
    features = picture(count, seed=seed)
    places = features.keypoints.copy()
    places[1::3] = places[:-1:3][: len(places[1::3])]
    order = np.random.default_rng(seed).permutation(count)
    return replace(features, keypoints=places[order], descriptors=features.descriptors[order])


def release_of(words: Any, num_words: int, epsilon: float) -> WordRelease:
    """These words at different places, of a dictionary that nobody has to build."""
    count = len(words)
    grid = np.stack([np.arange(count) % 600, np.arange(count) // 600], axis=1)
    return WordRelease(
        words=np.asarray(words, dtype=np.uint32),
        num_words=num_words,
        dictionary="0" * 64,
        epsilon=epsilon,
        keypoints=grid.astype(np.float32),
        image_size=(640, 480),
        extractor="tiny",
    )


def lifted(
    strategy: str = "sub-hybrid",
    dimension: int = 4,
    *,
    count: int = 40,
    seed: int = 3,
    draw: int = 0,
    precision: str = "float32",
) -> Case:
    features = picture(count, seed=seed)
    mechanism = SubspaceLifting(strategy, dimension, WORDS, precision=precision)
    release = mechanism.release(features, rng=SeededRandom(draw))
    return Case(release, unit_rows(features.descriptors))


def worded(
    *, epsilon: float = 6.0, subset_size: int = 2, count: int = 40, seed: int = 3, draw: int = 0
) -> tuple[WordRelease, NDArray[np.int64]]:
    """A release of words and the true word of each row."""
    features = picture(count, seed=seed)
    mechanism = SubsetMechanism(epsilon, subset_size, WORDS)
    release = mechanism.release(features, rng=SeededRandom(draw))
    return release, WORDS.nearest(features.descriptors).astype(np.int64)


def errors(found: Any, truth: Doubles) -> Doubles:
    return np.asarray(np.linalg.norm(found.descriptors - truth, axis=1))
