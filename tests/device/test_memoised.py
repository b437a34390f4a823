"""Asking again teaches nothing new, and costs nothing more."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import WordRelease
from sfumato.device.mechanisms import Mechanism, MemoisedSubset, SubsetMechanism
from sfumato.device.mechanisms.memoised import _KeyedByWord
from support import features_of, tiny_dictionary

RNG = SecureRandom()
DICTIONARY = tiny_dictionary(4096, dimension=16)
SUBSET = SubsetMechanism(6.0, 2, DICTIONARY)
GENERATOR = np.random.default_rng(0)
FEATURES = features_of(GENERATOR.normal(size=(1000, 16)).astype(np.float32))


def voted_words(mechanism: Mechanism, releases: int) -> np.ndarray:
    """What a server guesses by counting: the most frequent word at each position."""
    votes = np.zeros((len(FEATURES), DICTIONARY.num_words), dtype=np.int32)
    for _ in range(releases):
        release = mechanism.release(FEATURES, rng=RNG)
        assert isinstance(release, WordRelease)
        for column in release.words.T:
            np.add.at(votes, (np.arange(len(votes)), column), 1)
    return np.asarray(votes.argmax(axis=1))


def true_words() -> np.ndarray:
    """In the order of a release, which sorts by position."""
    order = np.lexsort(np.round(FEATURES.keypoints * 8).T)
    return DICTIONARY.nearest(FEATURES.descriptors[order])


def test_twenty_releases_of_one_picture_are_one_release() -> None:
    mechanism = MemoisedSubset(SUBSET)
    sent = {mechanism.release(FEATURES, rng=RNG).to_bytes() for _ in range(20)}
    assert len(sent) == 1


def test_voting_over_twenty_fresh_releases_wins_and_over_memoised_ones_does_not() -> None:
    truth = true_words()
    once = (voted_words(SUBSET, 1) == truth).mean()
    fresh = (voted_words(SUBSET, 20) == truth).mean()
    memoised = (voted_words(MemoisedSubset(SUBSET), 20) == truth).mean()
    assert fresh > 0.75  # 87 % expected here
    # At most the true word is among those sent; five standard deviations for the draw.
    keep = SUBSET.keep_probability
    bound = keep + 5 * np.sqrt(keep * (1 - keep) / len(truth))
    assert once < bound
    assert memoised < bound


def test_the_same_word_answers_alike_wherever_it_is_seen() -> None:
    mechanism = MemoisedSubset(SUBSET)
    twice = features_of(np.repeat(DICTIONARY.words[:50], 2, axis=0), seed=3)
    release = mechanism.release(twice, rng=RNG)
    rows = {tuple(row) for row in release.words.tolist()}
    assert len(rows) == 50


def test_another_session_or_epsilon_answers_differently() -> None:
    secret = bytes(range(32))
    again = [MemoisedSubset(SUBSET, secret).release(FEATURES, rng=RNG) for _ in range(2)]
    assert again[0] == again[1]
    other = MemoisedSubset(SUBSET).release(FEATURES, rng=RNG)
    louder = MemoisedSubset(SubsetMechanism(6.5, 2, DICTIONARY), secret)
    for release in (other, louder.release(FEATURES, rng=RNG)):
        same = (release.words == again[0].words).all(axis=1).mean()
        assert same < SUBSET.keep_probability**2 + 0.1


def test_keyed_answers_follow_the_law() -> None:
    """Over many secrets, the answer to a word is distributed as a fresh draw."""
    mechanism = SubsetMechanism(2.0, 2, tiny_dictionary(8, dimension=16))
    features = features_of(mechanism.dictionary.words[:1])
    counts = np.zeros(8)
    sessions = 4000
    for _ in range(sessions):
        release = MemoisedSubset(mechanism).release(features, rng=RNG)
        counts[release.words[0]] += 1
    keep = mechanism.keep_probability
    expected = np.full(8, (2 - keep) / 7)
    expected[0] = keep
    spread = np.sqrt(sessions * expected * (1 - expected))
    assert (np.abs(counts - sessions * expected) < 6 * spread).all()


def test_keyed_numbers_are_drawn_again_where_they_would_be_uneven() -> None:
    """Below ¾ of 2^32, taken without rejection, every third number would come twice as often."""
    words = np.arange(6000, dtype=np.uint32)
    source = _KeyedByWord(bytes(32), words)
    bound = 3 << 30
    first, second = source.below(bound, len(words)), source.below(bound, len(words))
    for drawn in (first, second):
        assert drawn.max() < bound
        assert (np.abs(np.bincount(drawn % 3) - 2000) < 6 * np.sqrt(6000 * 2 / 9)).all()
    assert (first == second).mean() < 0.01  # every draw has inputs of its own


def test_only_words_not_yet_answered_cost_anything() -> None:
    mechanism = MemoisedSubset(SUBSET)
    distinct = len(np.unique(true_words()))
    assert mechanism.event(FEATURES).num_units == distinct
    mechanism.release(FEATURES, rng=RNG)
    repeat = mechanism.event(FEATURES)
    assert repeat.num_units == 0
    assert repeat.unit == "one distinct word of the session"
    assert "share a word" in repeat.not_protected[0]


@pytest.mark.parametrize("secret", [b"", b"short", "x" * 32, 7])
def test_a_weak_secret_is_refused(secret: object) -> None:
    with pytest.raises(InvalidInput, match="secret"):
        MemoisedSubset(SUBSET, secret)  # type: ignore[arg-type]
