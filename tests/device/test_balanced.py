"""hybrid+: the words of a subspace have the values that the rule asks for."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import BalancedLifting
from sfumato.matching.subspace import Subspaces, closer_than
from support import tiny_dictionary

DATABASE = tiny_dictionary(30, dimension=24)
VALUES = np.array(["a", "b", "c"] * 10)
POINTS = np.random.default_rng(5).normal(size=(12, 24))
OWN = ["a", "b", "c", "c"] * 3


def words_of(offsets: np.ndarray, bases: np.ndarray) -> list[list[str]]:
    units = DATABASE.words.astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    rows, columns, _ = closer_than((offsets, bases), Subspaces.points(units), 1e-6)
    return [sorted(VALUES[columns[rows == i]]) for i in range(len(offsets))]


@pytest.mark.parametrize("dimension", [2, 4, 8])
def test_words_differ_from_the_subject(dimension: int) -> None:
    lifting = BalancedLifting(dimension, DATABASE, VALUES.tolist())
    offsets, bases = lifting.lift(POINTS, OWN, SeededRandom(1))
    for own, found in zip(OWN, words_of(offsets, bases), strict=True):
        assert len(found) == dimension // 2
        assert own not in found
    units = POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
    away = units - offsets
    inside = np.einsum("nmd,nd->nm", bases, away)
    assert np.abs(away - np.einsum("nm,nmd->nd", inside, bases)).max() < 1e-9


def test_even_balance_has_every_value_equally_often() -> None:
    lifting = BalancedLifting(10, DATABASE, VALUES.tolist(), "even")
    for own, found in zip(OWN, words_of(*lifting.lift(POINTS, OWN, SeededRandom(2))), strict=True):
        counts = [[*found, own].count(value) for value in "abc"]
        assert counts == [2, 2, 2]


def test_what_is_left_over_is_drawn_and_does_not_tell() -> None:
    """Two values, two words: the subject's value is in the majority half of the time."""
    values = np.where(np.arange(30) % 2 == 0, "a", "b")
    lifting = BalancedLifting(4, DATABASE, values.tolist(), "even")
    points = np.random.default_rng(7).normal(size=(400, 24))
    own = ["a", "b"] * 200
    offsets, bases = lifting.lift(points, own, SeededRandom(3))
    units = DATABASE.words.astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    rows, columns, _ = closer_than((offsets, bases), Subspaces.points(units), 1e-6)
    alike = np.bincount(rows, weights=values[columns] == np.array(own)[rows], minlength=400)
    assert np.bincount(rows, minlength=400).tolist() == [2] * 400
    assert set(alike) == {0.0, 1.0}
    assert 160 < alike.sum() < 240


def test_what_cannot_be_balanced_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least two values"):
        BalancedLifting(4, DATABASE, ["a"] * 30)
    with pytest.raises(InvalidInput, match="each of the 30 words needs one value"):
        BalancedLifting(4, DATABASE, ["a"] * 3)
    with pytest.raises(InvalidInput, match="balance must be different or even"):
        BalancedLifting(4, DATABASE, VALUES.tolist(), "odd")
    with pytest.raises(
        InvalidInput, match="needs 3 words of suitable values for every subject, the database has 2"
    ):
        BalancedLifting(6, DATABASE, ["a"] * 28 + ["b"] * 2)
    with pytest.raises(InvalidInput, match="each of the 12 descriptors needs one value"):
        BalancedLifting(4, DATABASE, VALUES.tolist()).lift(POINTS, OWN[1:], SeededRandom(1))
