"""The database attack: the words of a lifting are found, the descriptor is near what is left."""

from __future__ import annotations

import numpy as np
import pytest

from recoveries import PUBLIC, WORDS, errors, lifted
from sfumato.adversary.recover.database import (
    database_attack,
    farthest_from,
    neighbours_of,
    weighted_mean,
)
from sfumato.adversary.recover.geometry import Lifted, database_points
from sfumato.adversary.recover.nearest import nearest_attack
from sfumato.core.errors import InvalidInput


@pytest.mark.parametrize("dimension", [2, 4, 8, 16])
@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_all_words_of_a_hybrid_lifting_are_found(dimension: int, precision: str) -> None:
    case = lifted(dimension=dimension, precision=precision)
    near = neighbours_of(case.release, database_points(WORDS, case.release))
    assert near.part is not None
    complete = near.is_word.sum(axis=1) == dimension // 2
    assert complete.mean() >= (0.95 if precision == "float16" else 1.0)
    assert (near.rows[near.is_word] % 16 == near.part).all()


def test_all_m_words_of_an_adversarial_lifting_are_found() -> None:
    case = lifted("adversarial", 6)
    near = neighbours_of(case.release, database_points(WORDS, case.release))
    assert near.part is None
    assert (near.is_word.sum(axis=1) == 6).all()


def test_a_random_lifting_has_no_words() -> None:
    case = lifted("random", 4)
    near = neighbours_of(case.release, database_points(WORDS, case.release))
    assert near.part is None
    assert not near.is_word.any()


@pytest.mark.parametrize("dimension", [2, 4])
def test_it_is_much_nearer_to_the_truth_than_the_nearest_attack(dimension: int) -> None:
    case = lifted(dimension=dimension, count=100)
    weak = errors(nearest_attack(case.release, database=PUBLIC), case.truth)
    found = database_attack(case.release, database=WORDS)
    strong = errors(found, case.truth)
    assert np.median(strong) < np.median(weak) / 2
    assert strong[found.confidence > np.median(found.confidence)].mean() <= strong.mean()


def test_every_answer_lies_in_its_subspace_and_on_the_sphere() -> None:
    case = lifted(dimension=8)
    found = database_attack(case.release, database=WORDS).descriptors.astype(np.float64)
    distance = Lifted.of(case.release).distances(found[:, None])[:, 0]
    assert distance.max() < 1e-5
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 1e-5


def test_the_mean_weighs_near_points_more_and_survives_zero_distance() -> None:
    points = np.eye(3)
    assert weighted_mean(points, np.array([1.0, 1.0, 2.0])) == pytest.approx([0.4, 0.4, 0.2])
    assert weighted_mean(points, np.array([0.0, 1.0, 1.0])) == pytest.approx([1, 0, 0], abs=1e-5)


def test_points_farthest_from_all_words_are_kept() -> None:
    points = np.array([[0.0, 0], [1, 0], [5, 0], [9, 0]])
    words = np.array([[0.0, 0], [9, 0]])
    assert list(farthest_from(words, points, 2)) == [2, 1]
    assert list(farthest_from(words[:0], points, 2)) == [0, 1]


def test_a_database_smaller_than_its_parameters_still_answers() -> None:
    case = lifted(count=3)
    found = database_attack(case.release, database=PUBLIC[:5])
    assert np.isfinite(found.descriptors).all()


def test_senseless_parameters_are_refused() -> None:
    case = lifted(count=2)
    with pytest.raises(InvalidInput, match="num_used"):
        database_attack(case.release, database=WORDS, num_used=51)
    with pytest.raises(InvalidInput, match="tolerance"):
        database_attack(case.release, database=WORDS, tolerance=0.0)
