"""Rows of each input kind, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sfumato.adversary.invert.encoders import (
    ENCODERS,
    as_guessed,
    encode,
    scale_descriptors,
    shows_frames,
)
from sfumato.adversary.invert.turned_views import turned
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import KeypointRelease, SubspaceRelease, WordRelease
from sfumato.device.mechanisms import Plain, SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from support import features_of, one_of_each_release, photograph, tiny_dictionary


def word_release(dictionary_name: str) -> WordRelease:
    words = np.array([[0, 3], [1, 2], [4, 5]], dtype=np.uint32)
    return WordRelease(
        keypoints=np.array([[1, 1], [2, 2], [3, 3]], dtype=np.float32),
        image_size=(20, 10),
        extractor="tiny",
        words=words,
        num_words=6,
        dictionary=dictionary_name,
        epsilon=4.0,
    )


def test_stacked_words_are_the_words_of_the_dictionary_side_by_side() -> None:
    dictionary = tiny_dictionary(6)
    made = encode(word_release(dictionary.fingerprint), "words", dictionary=dictionary)
    words = scale_descriptors(dictionary.words, "tiny")
    assert made.rows.shape == (3, 16)
    assert np.array_equal(made.rows[0], np.concatenate([words[0], words[3]]))


def test_words_need_their_own_dictionary() -> None:
    with pytest.raises(InvalidInput, match="pass dictionary="):
        encode(word_release("ab" * 32), "words")
    with pytest.raises(Mismatch, match="another dictionary"):
        encode(word_release("ab" * 32), "words", dictionary=tiny_dictionary(6))


def test_subspace_parameters_are_offset_and_basis_of_order_one() -> None:
    release = one_of_each_release()["subspaces"]
    assert isinstance(release, SubspaceRelease)
    made = encode(release, "subspace")
    assert made.rows.shape == (23, 4 * 8)
    assert made.rows[:, 8:] == pytest.approx(release.bases.reshape(23, -1) * np.sqrt(8), rel=1e-5)
    assert (made.rows**2).mean(axis=1) == pytest.approx(1.0, abs=1e-4)


def test_a_picture_without_keypoints_has_no_rows_but_their_columns() -> None:
    dictionary = tiny_dictionary(6)
    words = word_release(dictionary.fingerprint)
    none = replace(words, keypoints=words.keypoints[:0], words=words.words[:0])
    assert encode(none, "words", dictionary=dictionary).rows.shape == (0, 16)
    lifted = one_of_each_release()["subspaces"]
    assert isinstance(lifted, SubspaceRelease)
    empty = replace(
        lifted, keypoints=lifted.keypoints[:0], offsets=lifted.offsets[:0], bases=lifted.bases[:0]
    )
    assert encode(empty, "subspace").rows.shape == (0, 4 * 8)


def test_positions_say_nothing_but_where() -> None:
    for release in one_of_each_release().values():
        if isinstance(release, KeypointRelease):
            made = encode(release, "positions")
            assert np.array_equal(made.rows, np.ones((len(release), 1)))
            assert np.array_equal(made.keypoints, release.keypoints)


def test_bytes_become_roots_and_packed_bits_signs() -> None:
    values = np.array([[0, 255, 64]], dtype=np.uint8)
    assert scale_descriptors(values, "sift")[0] == pytest.approx([0, 1, 0.501], abs=1e-3)
    signs = scale_descriptors(np.array([[0b10000001]], dtype=np.uint8), "freak")
    assert signs.tolist() == [[1, -1, -1, -1, -1, -1, -1, 1]]


def test_given_frames_are_for_features_only() -> None:
    features = features_of(np.full((4, 8), 3, dtype=np.uint8))
    made = encode(features, "raw", frames="given")
    assert made.rows.shape == (4, 11)
    assert made.rows[0, 8:] == pytest.approx([2, 1, 0])  # diameter 4, angle 0
    with pytest.raises(InvalidInput, match="a release carries neither"):
        encode(one_of_each_release()["plain"], "raw", frames="given")  # type: ignore[arg-type]


def test_either_way_frames_tell_whether_they_were_given_or_inferred() -> None:
    features = extract(np.ascontiguousarray(photograph()[:96, :96]))
    release = Plain().release(features, rng=SeededRandom(0))
    given = encode(features, "raw", frames="either")
    inferred = encode(release, "raw", frames="either")
    assert np.array_equal(given.rows, encode(features, "raw", frames="given").rows)
    assert inferred.rows[:, :129] == pytest.approx(
        encode(release, "raw", frames="inferred").rows[:, :129]
    )
    for seen, certainty in ((given, 1.0), (inferred, 0.5), (turned(inferred, 1), 0.5)):
        assert np.hypot(*seen.rows[:, -2:].T) == pytest.approx(certainty, abs=1e-5)


def test_words_are_read_as_keypoints_as_certain_as_the_law_says() -> None:
    features = extract(np.ascontiguousarray(photograph()[:96, :96]))
    public = Dictionary.load("open-64k")
    for epsilon, size in ((8.0, 2), (math.inf, 1)):
        level = public.at(4096)
        mechanism = SubsetMechanism(epsilon, size, level)
        release = mechanism.release(features, rng=SeededRandom(1))
        made = encode(release, "raw", dictionary=public, frames="either")
        assert made.rows.shape == (size * len(features), 131)
        assert np.array_equal(made.keypoints[::size], release.keypoints)
        words = scale_descriptors(level.words[release.words.reshape(-1)], "sift")
        assert np.array_equal(made.rows[:, :128], words)
        true_word = mechanism.keep_probability / size
        assert np.hypot(*made.rows[:, -2:].T) == pytest.approx(0.5 * true_word, abs=1e-5)
    with pytest.raises(InvalidInput, match="pass dictionary="):
        encode(release, "raw", frames="either")


def test_frames_are_looked_for_where_most_descriptors_are_right() -> None:
    features = extract(np.ascontiguousarray(photograph()[:96, :96]))
    public = Dictionary.load("open-64k")
    assert not shows_frames(features)  # they have theirs
    assert shows_frames(Plain().release(features, rng=SeededRandom(0)))
    for epsilon, size, shown in ((16, 1, True), (12, 1, True), (10, 1, False), (16, 2, False)):
        mechanism = SubsetMechanism(epsilon, size, public)
        assert shows_frames(mechanism.release(features, rng=SeededRandom(0))) == shown


def test_guessed_frames_are_near_the_true_ones_but_for_a_few() -> None:
    features = extract(photograph())
    seen = encode(features, "raw", frames="either")
    made = as_guessed(seen, features.scales, features.angles, np.random.default_rng(0))
    assert made.scales is not None
    assert made.angles is not None
    turned_by = np.abs((made.angles - features.angles + 180) % 360 - 180)
    octaves = np.abs(np.log2(made.scales / features.scales))
    assert 0.05 < np.median(octaves) < 0.2
    assert 2 < np.median(turned_by) < 7
    assert 0.02 < (turned_by > 45).mean() < 0.2
    assert np.hypot(*made.rows[:, -2:].T) == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("kind", [name for name in ENCODERS if name != "positions"])
def test_a_source_of_another_kind_is_refused(kind: str) -> None:
    wrong = one_of_each_release()["candidates"]
    assert isinstance(wrong, KeypointRelease)
    with pytest.raises(InvalidInput, match=f"input kind {kind} needs"):
        encode(wrong, kind)
    with pytest.raises(InvalidInput, match="must be one of raw, positions"):
        encode(wrong, "dots")
