"""Fewer keypoints, or always the same number."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SecureRandom
from sfumato.core.types import Features
from sfumato.device.filters import ConstantCount, KeepSpread, KeepStable, KeepStrongest
from sfumato.device.filters.keep import KEEP_BY, keep_filter
from sfumato.device.filters.spread import spread_order
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


def scattered(count: int, image_size: tuple[int, int] = (600, 400)) -> Features:
    """Three of four keypoints, and the strongest, crowd in one corner."""
    places = GENERATOR.uniform(0, 1, (count, 2)) * (np.array(image_size) - 1)
    crowd = GENERATOR.permutation(count)[: 3 * count // 4]
    places[crowd] /= 10
    scores = GENERATOR.uniform(0, 1, count)
    scores[crowd] += 1
    return Features(
        keypoints=places.astype(np.float32),
        descriptors=GENERATOR.normal(size=(count, 8)).astype(np.float32),
        scores=scores.astype(np.float32),
        scales=np.ones(count, dtype=np.float32),
        angles=np.zeros(count, dtype=np.float32),
        image_size=image_size,
        extractor="tiny",
    )


def part(features: Features) -> NDArray[np.float64]:
    """Of 600×400 pixels, which of six squares: 0 to 5."""
    return np.asarray((features.keypoints // (200, 200)) @ (1, 3))


def test_spread_keypoints_come_from_every_part_and_are_its_strongest() -> None:
    features = scattered(400)
    kept = KeepSpread(60)(features, rng=RNG)
    assert len(kept) == 60
    assert (np.diff(kept.scores) <= 0).all()
    for number in range(6):
        chosen, there = (some.take(part(some) == number) for some in (kept, features))
        assert len(chosen) == 10
        assert set(chosen.scores) == set(np.sort(there.scores)[-10:])
    crowded = KeepStrongest(60)(features, rng=RNG)
    assert (part(crowded) == 0).all()


def test_a_part_without_keypoints_leaves_its_share_to_the_others() -> None:
    features = scattered(200)
    left = features.take(features.keypoints[:, 0] < 300)
    assert len(KeepSpread(90)(left, rng=RNG)) == 90
    for count in (0, 1, 500):
        assert len(KeepSpread(count)(left, rng=RNG)) == min(count, len(left))
    assert len(KeepSpread(5)(features.take(np.arange(0)), rng=RNG)) == 0
    order = spread_order(features)
    assert sorted(order) == list(range(200))
    assert KeepSpread(200)(features, rng=RNG) == KeepStrongest(200)(features, rng=RNG)
    tall = scattered(50, (3, 60_000))
    assert len(KeepSpread(20)(tall, rng=RNG)) == 20


def test_filters_are_found_by_name() -> None:
    made = [keep_filter(5, name) for name in KEEP_BY]
    assert made == [KeepStrongest(5), KeepSpread(5), KeepStable(5)]
    with pytest.raises(InvalidInput, match="strength, spread, stable, got 'luck'"):
        keep_filter(5, "luck")
    with pytest.raises(InvalidInput, match="cells"):
        KeepSpread(5, cells=0)


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
    with pytest.raises(Mismatch, match="the dictionary holds 'tiny' features"):
        ConstantCount(5, DICTIONARY)(sift, rng=RNG)
