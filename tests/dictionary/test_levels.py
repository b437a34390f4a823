"""Coarse words are means of fine ones, on both sides alike."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.randomness import SecureRandom
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary, build_dictionary
from sfumato.dictionary.bundled import bundled_names, resolve
from sfumato.dictionary.kmeans import cluster
from sfumato.dictionary.levels import balance, check_levels, default_sizes
from sfumato.dictionary.vectors import Space, nearest_exact
from support import features_of, tiny_dictionary

FINE = tiny_dictionary(300).with_levels((16, 64))
GENERATOR = np.random.default_rng(0)
DESCRIPTORS = GENERATOR.normal(size=(500, 8)).astype(np.float32)


def test_a_coarse_word_is_the_nearest_mean_of_a_group() -> None:
    for size in (16, 64):
        level = FINE.at(size)
        means = [FINE.words[FINE.levels[size] == group].mean(axis=0) for group in range(size)]
        assert np.allclose(level.words, means, atol=1e-6)
        away = np.linalg.norm(DESCRIPTORS[:, None] - level.words, axis=2)
        assert (level.nearest(DESCRIPTORS) == away.argmin(axis=1)).all()
    assert FINE.at(300) is FINE
    assert FINE.at(16) is FINE.at(16)


def test_all_levels_at_once_are_each_level_alone() -> None:
    old = Dictionary.load("bsds-16k")
    for dictionary, rows in ((FINE, DESCRIPTORS), (old, old.words[:50])):
        for size, words in dictionary.nearest_at_levels(rows).items():
            assert (words == dictionary.at(size).nearest(rows)).all()


def test_in_the_first_format_a_coarse_word_is_the_group_of_the_nearest_fine_word() -> None:
    old = Dictionary.load("bsds-16k")
    rows = old.words[::500]
    assert old.weights is None
    assert (old.at(1024).nearest(rows) == old.levels[1024][old.nearest(rows)]).all()


def test_fine_words_count_as_often_as_descriptors_stood_for_them() -> None:
    words = np.array([[0, 0], [10, 0], [0, 100], [10, 100]], dtype=np.uint8)
    weights = np.array([3, 1, 1, 1], dtype=np.uint32)
    levels = {2: np.array([0, 0, 1, 1], dtype=np.uint16)}
    made = Dictionary.from_words(
        words, extractor="two", metric="l2", levels=levels, weights=weights
    )
    assert made.at(2).words.tolist() == [[2, 0], [5, 100]]  # 10 / 4 is rounded to even


def test_words_of_a_level_are_balanced_where_descriptors_are() -> None:
    rows = GENERATOR.normal(size=(6000, 4)).astype(np.float32)
    rows[:5000] *= 0.05  # most descriptors stand for few words
    built = build_dictionary(rows, num_words=2000, extractor="four", iterations=5)
    direct = cluster(rows, 1024, iterations=20)
    space = Space()
    ours = nearest_exact(rows, built.at(1024).words, space)[1].mean()
    theirs = nearest_exact(rows, direct.words, space)[1].mean()
    plain = built.with_levels().levels  # again from the stored weights
    assert (plain[1024] == built.levels[1024]).all()
    assert ours < 1.25 * theirs


def test_words_of_one_group_are_near_each_other() -> None:
    groups = FINE.levels[16]
    within = np.mean([FINE.words[groups == g].var(axis=0).sum() for g in range(16)])
    assert within < 0.6 * FINE.words.var(axis=0).sum()


def test_levels_have_fingerprints_of_their_own() -> None:
    prints = {FINE.fingerprint, FINE.at(16).fingerprint, FINE.at(64).fingerprint}
    assert len(prints) == 3
    assert FINE.fingerprint == tiny_dictionary(300).fingerprint
    assert FINE.at(16).fingerprint == tiny_dictionary(300).with_levels((16, 64)).at(16).fingerprint


def test_levels_are_stored_with_their_dictionary(tmp_path: Path) -> None:
    FINE.save(tmp_path / "d")
    loaded = Dictionary.load(tmp_path / "d")
    assert sorted(loaded.levels) == [16, 64]
    assert loaded.manifest["levels"] == [16, 64]
    assert loaded.at(64).fingerprint == FINE.at(64).fingerprint
    with pytest.raises(InvalidInput, match="save that one"):
        FINE.at(16).save(tmp_path / "level")
    data = bytearray((tmp_path / "d" / "level-16.npy").read_bytes())
    data[-1] ^= 1
    (tmp_path / "d" / "level-16.npy").write_bytes(data)
    with pytest.raises(DamagedFile):
        Dictionary.load(tmp_path / "d")


def test_a_level_is_a_dictionary_for_a_mechanism() -> None:
    mechanism = SubsetMechanism(4.0, 2, FINE.at(64))
    release = mechanism.release(features_of(DESCRIPTORS), rng=SecureRandom())
    assert release.num_words == 64
    assert release.dictionary == FINE.at(64).fingerprint


def test_what_is_no_level_is_refused() -> None:
    with pytest.raises(InvalidInput, match="levels of 16, 64, 300 words, none of 65"):
        FINE.at(65)
    for sizes in ((300,), (1,), (16, 400)):
        with pytest.raises(InvalidInput, match="level must be"):
            tiny_dictionary(300).with_levels(sizes)
    with pytest.raises(InvalidInput, match="leave none empty"):
        check_levels({4: np.zeros(300, dtype=np.uint16)}, None, 300)
    with pytest.raises(InvalidInput, match="leave none empty"):
        check_levels({2: np.array([0, 1], dtype=np.uint16)}, None, 300)
    for weights in (np.zeros(300, np.uint32), np.ones(299, np.uint32), np.ones(300)):
        with pytest.raises(InvalidInput, match="300 whole numbers"):
            check_levels({}, weights, 300)


def test_default_levels_are_powers_of_two() -> None:
    assert default_sizes(16_384) == (1024, 2048, 4096, 8192)
    assert default_sizes(500) == ()
    assert default_sizes(3000) == (1024, 2048)


def test_without_a_plan_a_smaller_epsilon_takes_fewer_words() -> None:
    bundled = Dictionary.load("open-64k")
    sizes = [bundled.at_epsilon(epsilon).num_words for epsilon in (math.inf, 10, 8, 7, 6, 1)]
    assert sizes == [65536, 65536, 8192, 4096, 1024, 1024]
    for epsilon in (10, 8, 7, 6):
        mechanism = SubsetMechanism(epsilon, 1, bundled.at_epsilon(epsilon))
        assert mechanism.keep_probability >= 0.2
    assert bundled.at_epsilon(7, 2).num_words == 8192
    assert FINE.at_epsilon(0.1).num_words == 16


def test_the_bundled_dictionary_says_where_it_comes_from_and_who_may_use_it() -> None:
    bundled = Dictionary.load("open-64k")
    assert sorted(bundled.levels) == [1024, 2048, 4096, 8192, 16384, 32768]
    assert "DOCUMERICA" in bundled.manifest["provenance"]
    assert "commercial use allowed" in bundled.manifest["licence"]
    folder = resolve("open-64k")
    assert len((folder / "CREDITS.csv").read_text().splitlines()) == 201
    assert sum(file.stat().st_size for file in folder.iterdir()) < 10_000_000
    assert bundled.manifest["index"]["recall_at_1"] > 0.995
    for size, share in bundled.manifest["balance"].items():
        groups = bundled.levels.get(int(size), np.arange(65536))
        assert bundled.weights is not None
        assert balance(groups, bundled.weights) == pytest.approx(share, abs=1e-3)
        assert share > 0.6


def test_bundled_dictionaries_have_levels() -> None:
    bundled = Dictionary.load("bsds-16k")
    assert sorted(bundled.levels) == [1024, 2048, 4096, 8192]
    assert all(np.bincount(groups).min() >= 1 for groups in bundled.levels.values())


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, "8", None, True])
def test_no_level_is_chosen_for_what_is_no_epsilon(epsilon: Any) -> None:
    with pytest.raises(InvalidInput, match="epsilon must be"):
        FINE.at_epsilon(epsilon)


@pytest.mark.parametrize("subset_size", [0, -1, 1.5])
def test_no_level_is_chosen_for_what_is_no_number_of_words(subset_size: Any) -> None:
    with pytest.raises(InvalidInput, match="subset_size must be"):
        FINE.at_epsilon(3.0, subset_size)


def test_every_bundled_dictionary_says_its_licence() -> None:
    for name in bundled_names():
        assert "commercial" in Dictionary.load(name).manifest["licence"]
