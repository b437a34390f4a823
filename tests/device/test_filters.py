"""Fewer keypoints, or always the same number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SecureRandom
from sfumato.device.filters import ConstantCount, KeepStrongest
from sfumato.device.mechanisms import SubsetMechanism
from support import features_of, tiny_dictionary

RNG = SecureRandom()
DICTIONARY = tiny_dictionary(16)
GENERATOR = np.random.default_rng(0)


def test_the_strongest_stay() -> None:
    features = features_of(GENERATOR.normal(size=(50, 8)).astype(np.float32))
    shuffled = features.take(GENERATOR.permutation(50))
    kept = KeepStrongest(10)(shuffled, rng=RNG)
    assert kept == features.take(np.arange(10))
    assert len(KeepStrongest(0)(features, rng=RNG)) == 0
    assert KeepStrongest(500)(features, rng=RNG) == features


@pytest.mark.parametrize("count", [0, 1, 39, 40, 41, 100])
def test_the_number_of_keypoints_is_always_the_same(count: int) -> None:
    features = features_of(GENERATOR.normal(size=(count, 8)).astype(np.float32))
    padded = ConstantCount(40, DICTIONARY)(features, rng=RNG)
    assert len(padded) == 40
    kept = min(count, 40)
    assert padded.take(np.arange(kept)) == features.take(np.arange(kept))
    mechanism = SubsetMechanism(2.0, 2, DICTIONARY)
    sizes = {len(mechanism.release(padded, rng=RNG).to_bytes()) for _ in range(3)}
    empty = features_of(np.zeros((40, 8), dtype=np.float32))
    assert sizes == {len(mechanism.release(empty, rng=RNG).to_bytes())}
    assert mechanism.event(padded).num_units == 40


def test_a_decoy_is_answered_with_a_uniform_set() -> None:
    nothing = features_of(np.zeros((0, 8), dtype=np.float32))
    padded = ConstantCount(60_000, DICTIONARY)(nothing, rng=RNG)
    release = SubsetMechanism(4.0, 2, DICTIONARY).release(padded, rng=RNG)
    sets, counts = np.unique(release.words, axis=0, return_counts=True)
    assert len(sets) == math.comb(16, 2)
    expected = 60_000 / len(sets)
    assert (np.abs(counts - expected) < 6 * math.sqrt(expected)).all()
    places = padded.keypoints / (639, 479)
    assert places.min() >= 0
    assert places.max() <= 1
    assert np.abs(places.mean(axis=0) - 0.5).max() < 0.01


def test_bad_counts_and_foreign_dictionaries_are_refused() -> None:
    for count in (-1, 2.5, True):
        with pytest.raises(InvalidInput, match="count"):
            KeepStrongest(count)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="count"):
        ConstantCount(0, DICTIONARY)
    sift = features_of(np.zeros((3, 128), dtype=np.uint8), extractor="sift")
    with pytest.raises(Mismatch, match="decoys come from a 'tiny' dictionary"):
        ConstantCount(5, DICTIONARY)(sift, rng=RNG)
