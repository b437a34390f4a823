"""One contract over every mechanism, then what is special to each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SecureRandom, SeededRandom
from sfumato.core.releases import KeypointRelease, Release
from sfumato.core.types import Features
from sfumato.device.mechanisms import (
    Mechanism,
    MemoisedSubset,
    Naive,
    Plain,
    PrivUnit,
    Quantize,
    SubsetMechanism,
    SubspaceLifting,
)
from support import CAMERA, features_of, tiny_dictionary

DICTIONARY = tiny_dictionary(64)
RNG = SecureRandom()


def bytes_features(count: int) -> Features:
    generator = np.random.default_rng(count)
    return features_of(generator.integers(0, 256, (count, 128), dtype=np.uint8), extractor="sift")


def float_features(count: int) -> Features:
    generator = np.random.default_rng(count)
    return features_of(generator.normal(size=(count, 8)).astype(np.float32))


MECHANISMS: dict[str, tuple[Mechanism, Any]] = {
    "plain": (Plain(), float_features),
    "quantize": (Quantize(DICTIONARY), float_features),
    "subset": (SubsetMechanism(4.0, 2, DICTIONARY), float_features),
    "subset-of-one": (SubsetMechanism(4.0, 1, DICTIONARY), float_features),
    "subset-of-many": (SubsetMechanism(0.5, 16, DICTIONARY), float_features),
    "memoised": (MemoisedSubset(SubsetMechanism(4.0, 2, DICTIONARY)), float_features),
    "random lifting": (SubspaceLifting("random", 3), bytes_features),
    "sub-hybrid lifting": (SubspaceLifting("sub-hybrid", 4, DICTIONARY), float_features),
    "naive": (Naive(10.0, 2), bytes_features),
    "private unit": (PrivUnit(8.0, 8), float_features),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("count", [0, 1, 200])
def test_a_release_is_valid_and_travels(name: str, count: int) -> None:
    mechanism, make = MECHANISMS[name]
    features = make(count)
    event = mechanism.event(features)
    assert event.num_units <= count
    assert event.not_protected
    release = mechanism.release(features, rng=RNG, camera=CAMERA)
    assert isinstance(release, KeypointRelease)
    assert len(release) == count
    assert release.camera == CAMERA
    assert not release.reproducible
    assert Release.from_bytes(release.to_bytes()) == release


@pytest.mark.parametrize("name", MECHANISMS)
def test_rows_do_not_tell_the_detector_s_ranking(name: str) -> None:
    mechanism, make = MECHANISMS[name]
    features = make(200)
    release = mechanism.release(features, rng=RNG)
    assert isinstance(release, KeypointRelease)
    places = release.keypoints[:, 1] * 1e6 + release.keypoints[:, 0]
    assert (np.diff(places) >= 0).all()


@pytest.mark.parametrize("name", MECHANISMS)
def test_generators_of_others_are_refused(name: str) -> None:
    mechanism, make = MECHANISMS[name]
    others: list[Any] = [np.random.default_rng(0), None, 7]
    for rng in others:
        with pytest.raises(InvalidInput, match="rng must be"):
            mechanism.release(make(3), rng=rng)


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"memoised"}))
def test_a_seed_marks_the_release_and_repeats_it(name: str) -> None:
    mechanism, make = MECHANISMS[name]
    first, second = (mechanism.release(make(50), rng=SeededRandom(3)) for _ in range(2))
    assert first.reproducible
    assert first == second


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, 1e9, "1"])
def test_epsilon_out_of_range_is_refused(epsilon: Any) -> None:
    with pytest.raises(InvalidInput, match="epsilon must be"):
        SubsetMechanism(epsilon, 2, DICTIONARY)
    with pytest.raises(InvalidInput, match="epsilon must be"):
        Naive(epsilon, 2)


@pytest.mark.parametrize("subset_size", [0, -3, 64, 65, 2.0, True])
def test_subset_size_out_of_range_is_refused(subset_size: Any) -> None:
    with pytest.raises(InvalidInput, match="subset_size must be"):
        SubsetMechanism(1.0, subset_size, DICTIONARY)


def test_sending_every_word_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidInput, match="between 1 and 63, got 64; sending all 64 words"):
        SubsetMechanism(1.0, 64, DICTIONARY)


def test_a_dictionary_of_one_word_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 2 words"):
        tiny_dictionary(1)


def test_descriptors_of_another_extractor_are_refused_by_name() -> None:
    with pytest.raises(Mismatch, match="holds 'tiny' features, the picture 'sift'"):
        SubsetMechanism(1.0, 2, DICTIONARY).release(bytes_features(3), rng=RNG)
    with pytest.raises(InvalidInput, match="128-D uint8"):
        Naive(1.0, 2).release(float_features(3), rng=RNG)


@pytest.mark.parametrize("subset_size", [1, 2, 3, 7, 31])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_draws_are_sorted_distinct_and_as_likely_as_claimed(
    subset_size: int, epsilon: float
) -> None:
    mechanism = SubsetMechanism(epsilon, subset_size, tiny_dictionary(32))
    draws = 100_000
    rows = mechanism.draw(np.full(draws, 5, dtype=np.uint32), RNG)
    assert rows.shape == (draws, subset_size)
    assert (np.diff(rows.astype(int), axis=1) > 0).all()
    counts = np.bincount(rows.ravel(), minlength=32)
    keep = mechanism.keep_probability
    other = (subset_size - keep) / 31
    expected = np.full(32, other)
    expected[5] = keep
    spread = np.sqrt(draws * expected * (1 - expected))
    assert (np.abs(counts - draws * expected) < 6 * spread + 1).all()


def test_infinite_epsilon_always_sends_the_nearest_word() -> None:
    features = float_features(300)
    truth = DICTIONARY.nearest(features.descriptors)
    release = Quantize(DICTIONARY).release(features, rng=RNG)
    assert sorted(release.words[:, 0].tolist()) == sorted(truth.tolist())
    assert math.isinf(release.epsilon)
    wide = SubsetMechanism(math.inf, 3, DICTIONARY).draw(truth, RNG)
    assert (wide == truth[:, None]).any(axis=1).all()
    assert not Quantize(DICTIONARY).event(features).is_private


def test_the_naive_baseline_tosses_its_coin_exactly() -> None:
    naive = Naive(10.0, 2)
    assert naive.keep_probability_log2 == pytest.approx(1 + 10 / math.log(2) - 1024, abs=1e-6)
    assert naive.coin.bits > 1024
    features = bytes_features(100)
    release = naive.release(features, rng=RNG)
    sent = {row.tobytes() for rows in release.candidates for row in rows}
    assert len(sent) == 200
    assert not sent & {row.tobytes() for row in features.descriptors}


def test_the_naive_baseline_follows_its_law_in_a_small_space() -> None:
    """With one-byte descriptors the same code has |K| = 256 and can be counted."""
    naive = Naive(3.0, 2, dimension=1)
    draws = 100_000
    rows = naive.draw(np.full((draws, 1), 9, dtype=np.uint8), RNG)[:, :, 0]
    assert (rows[:, 0] < rows[:, 1]).all()
    keep = 2 * math.exp(3) / (2 * math.exp(3) + 254)
    sent = np.count_nonzero((rows == 9).any(axis=1))
    assert abs(sent - draws * keep) < 6 * math.sqrt(draws * keep * (1 - keep))
    rest = np.bincount(rows[rows != 9].ravel(), minlength=256)
    share = draws * (2 - keep) / 255
    assert (np.abs(np.delete(rest, 9) - share) < 7 * math.sqrt(share)).all()
