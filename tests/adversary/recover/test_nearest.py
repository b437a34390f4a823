"""The nearest attack: a public descriptor close to the subspace."""

from __future__ import annotations

import numpy as np

from recoveries import PUBLIC, WORDS, errors, lifted, picture, unit_rows
from sfumato.adversary.recover.nearest import nearest_attack
from sfumato.matching.subspace import reference_distances


def test_the_answer_is_the_nearest_of_the_database() -> None:
    case = lifted(dimension=4)
    found = nearest_attack(case.release, database=PUBLIC)
    points = unit_rows(PUBLIC).astype(np.float32)
    best = reference_distances(points, case.release).argmin(axis=0)
    assert np.allclose(found.descriptors, points[best], atol=1e-6)


def test_with_the_words_of_the_lifting_it_answers_with_a_word_at_distance_zero() -> None:
    case = lifted(dimension=2)
    found = nearest_attack(case.release, database=WORDS)
    assert 0.45 < found.confidence.min() <= found.confidence.max() <= 0.5  # d, or its one word
    assert errors(found, case.truth).min() > 0.01


def test_a_descriptor_that_is_public_is_found_exactly_under_random_lifting() -> None:
    case = lifted("random", 8)
    known = np.concatenate([PUBLIC, picture().descriptors])
    found = nearest_attack(case.release, database=known)
    assert (errors(found, case.truth) < 0.01).mean() > 0.95


def test_a_database_of_one_descriptor_is_enough() -> None:
    case = lifted(count=3)
    found = nearest_attack(case.release, database=PUBLIC[:1])
    assert np.allclose(found.descriptors, unit_rows(PUBLIC[:1]), atol=1e-6)
    assert found.confidence.max() == 0
