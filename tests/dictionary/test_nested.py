"""Coarse words are groups of fine ones, on both sides alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.randomness import SecureRandom
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.dictionary.nested import check_levels, default_sizes
from support import features_of, tiny_dictionary

FINE = tiny_dictionary(300).nested((16, 64))
GENERATOR = np.random.default_rng(0)
DESCRIPTORS = GENERATOR.normal(size=(500, 8)).astype(np.float32)


def test_a_coarse_word_is_the_group_of_the_nearest_fine_word() -> None:
    fine = FINE.nearest(DESCRIPTORS)
    for size in (16, 64):
        level = FINE.at(size)
        assert level.num_words == size
        assert (level.nearest(DESCRIPTORS) == FINE.levels[size][fine]).all()
    assert FINE.at(300) is FINE


def test_groups_of_a_level_unite_groups_of_the_next() -> None:
    parents: dict[int, int] = {}
    for middle, coarse in zip(FINE.levels[64], FINE.levels[16], strict=True):
        assert parents.setdefault(int(middle), int(coarse)) == coarse
    assert len(parents) == 64


def test_words_of_one_group_are_near_each_other() -> None:
    groups = FINE.levels[16]
    within = np.mean([FINE.words[groups == g].var(axis=0).sum() for g in range(16)])
    assert within < 0.6 * FINE.words.var(axis=0).sum()


def test_levels_have_fingerprints_of_their_own() -> None:
    prints = {FINE.fingerprint, FINE.at(16).fingerprint, FINE.at(64).fingerprint}
    assert len(prints) == 3
    assert FINE.fingerprint == tiny_dictionary(300).fingerprint
    assert FINE.at(16).fingerprint == tiny_dictionary(300).nested((16, 64)).at(16).fingerprint


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
    for sizes in ((300,), (1,), (400, 16)):
        with pytest.raises(InvalidInput, match="level must be"):
            tiny_dictionary(300).nested(sizes)
    with pytest.raises(InvalidInput, match="leave none empty"):
        check_levels({4: np.zeros(300, dtype=np.uint16)}, 300)
    with pytest.raises(InvalidInput, match="leave none empty"):
        check_levels({2: np.array([0, 1], dtype=np.uint16)}, 300)


def test_default_levels_are_powers_of_two() -> None:
    assert default_sizes(16_384) == (1024, 2048, 4096, 8192)
    assert default_sizes(500) == ()
    assert default_sizes(3000) == (1024, 2048)


def test_the_bundled_dictionary_is_nested() -> None:
    bundled = Dictionary.load("bsds-16k")
    assert sorted(bundled.levels) == [1024, 2048, 4096, 8192]
    assert all(np.bincount(groups).min() >= 1 for groups in bundled.levels.values())
