"""A picture's global descriptor is the bag of its words, and a space belongs to one dictionary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bag_spaces import bag_space
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.vector_space import VectorSpace
from sfumato.dictionary import Dictionary
from sfumato.dictionary.bags import bag_name, bag_of, fit_bag_space, words_of_space
from support import photograph, tiny_dictionary

WORDS = tiny_dictionary(16)


def test_a_bag_holds_the_roots_of_the_shares_of_the_words_in_any_order() -> None:
    rows = WORDS.words[[3, 3, 3, 7]]
    bag = bag_of(rows, WORDS)
    assert bag[[3, 7]] == pytest.approx(np.sqrt([0.75, 0.25]))
    assert np.linalg.norm(bag) == pytest.approx(1.0)
    assert np.array_equal(bag, bag_of(rows[::-1], WORDS))
    assert not bag_of(rows[:0], WORDS).any()


def test_descriptors_that_are_not_numbers_are_refused() -> None:
    rows = WORDS.words[:2].copy()
    rows[0, 0] = np.nan
    with pytest.raises(InvalidInput, match="must be finite"):
        bag_of(rows, WORDS)


def test_a_space_finds_the_level_it_was_made_with_and_refuses_another_dictionary() -> None:
    whole = tiny_dictionary(64).with_levels((16,))
    space = bag_space(whole.at(16), 8)
    assert words_of_space(space, whole) == whole.at(16)
    for other in (tiny_dictionary(64, seed=1).with_levels((16,)), WORDS, tiny_dictionary(64)):
        with pytest.raises(Mismatch, match="another dictionary"):
            words_of_space(space, other)
    faces = VectorSpace.fit(np.random.default_rng(0).normal(size=(40, 16)), 8, extractor="dlib")
    with pytest.raises(Mismatch, match="not of global descriptors"):
        words_of_space(faces, WORDS)


def test_a_space_is_fitted_on_public_pictures_and_needs_enough_of_them(tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 256, (64, 128), dtype=np.uint8)
    words = Dictionary.from_words(values, extractor="sift")
    for number in range(5):
        crop = photograph()[60 * number : 60 * number + 128, 100:228]
        Image.fromarray(crop).save(tmp_path / f"{number}.png")
    Image.fromarray(np.zeros((64, 64, 3), dtype=np.uint8)).save(tmp_path / "blank.png")
    space, pictures = fit_bag_space(tmp_path, words, 4)
    assert pictures == 5  # the blank one has no keypoints
    assert (space.dimension, space.extractor) == (4, bag_name(words))
    with pytest.raises(InvalidInput, match="at least as many public pictures"):
        fit_bag_space(tmp_path, words, 6)
