"""Pairs, folds and thresholds: LFW's protocol on people whose distances are known."""

from __future__ import annotations

import numpy as np
import pytest

from face_worlds import invented_people
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import SubspaceLifting
from sfumato.faces.pairs import Pairs, draw_pairs, split_people
from sfumato.faces.verify import (
    best_threshold,
    between,
    cosine,
    euclidean,
    point_to_words,
    verify,
    words_to_words,
)

VECTORS, WHO = invented_people()


def test_nobody_is_in_two_folds_and_the_draw_is_reproducible() -> None:
    pairs = draw_pairs(WHO, num_each=20)
    who = np.array(WHO)
    assert pairs == draw_pairs(WHO, num_each=20)
    assert pairs != draw_pairs(WHO, num_each=20, seed=1)
    assert np.array_equal(pairs.same, who[pairs.first] == who[pairs.second])
    homes: dict[str, set[int]] = {}
    for side in (pairs.first, pairs.second):
        for row, fold in zip(side, pairs.folds, strict=True):
            homes.setdefault(WHO[row], set()).add(int(fold))
    assert all(len(folds) == 1 for folds in homes.values())
    assert (pairs.first != pairs.second).all()
    assert len(set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))) == len(pairs)
    assert pairs.same.sum() * 2 == len(pairs) == 400


def test_public_people_are_not_tested() -> None:
    public, tested = split_people(WHO, 10)
    assert {WHO[i] for i in public}.isdisjoint({WHO[i] for i in tested})
    assert len(public) == 60
    assert len(public) + len(tested) == len(WHO)
    with pytest.raises(InvalidInput, match="somebody must be left"):
        split_people(WHO, 30)


def test_folds_without_one_of_the_answers_are_refused() -> None:
    with pytest.raises(InvalidInput, match="fold 2 of 2 has 0 and 2"):
        Pairs([0, 1, 2, 3], [1, 2, 3, 0], [True, False, False, False], [0, 0, 1, 1])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="at least 2 folds"):
        Pairs([0, 1], [1, 2], [True, False], [0, 0])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="at least 20 people, two in each, got 5"):
        draw_pairs(["a", "b", "c", "d", "e"])
    with pytest.raises(InvalidInput, match="all of different people"):
        draw_pairs([str(i) for i in range(20)])


def test_the_best_threshold_is_the_best() -> None:
    generator = np.random.default_rng(0)
    for _ in range(50):
        distances = np.round(generator.random(30), 1)  # with many equals
        same = generator.random(30) < 0.5
        chosen = best_threshold(distances, same)
        right = [((distances <= t) == same).sum() for t in np.linspace(-1, 2, 301)]
        assert ((distances <= chosen) == same).sum() == max(right)
    assert best_threshold(np.array([np.inf, np.inf]), np.array([True, False])) == -1


def test_the_threshold_of_a_fold_does_not_see_the_fold() -> None:
    """One fold has distances of its own scale: judged by the others' threshold it fails."""
    same = np.tile([True, False], 20)
    folds = np.repeat([0, 1, 2, 3], 10)
    distances = np.where(same, 0.2, 0.8) * np.where(folds == 3, 10, 1)
    pairs = Pairs(np.arange(40), np.arange(40)[::-1], same, folds)
    found = verify(distances, pairs)
    assert found.accuracy == (1.0, 1.0, 1.0, 0.5)
    assert found.false_reject == pytest.approx(0.25)
    assert found.false_accept == 0


def test_a_face_that_was_not_found_is_never_accepted() -> None:
    pairs = draw_pairs(WHO, num_each=20)
    distances = np.where(pairs.same, 0.0, 1.0)
    distances[pairs.same] = np.inf
    assert verify(distances, pairs).mean == 0.5
    with pytest.raises(InvalidInput, match="are NaN"):
        verify(np.full(len(pairs), np.nan), pairs)
    with pytest.raises(InvalidInput, match="must have shape"):
        verify(distances[1:], pairs)


def test_raw_and_lifted_distances_tell_people_apart() -> None:
    pairs = draw_pairs(WHO, num_each=20)
    units = unit_vectors(VECTORS)
    lifting = SubspaceLifting("random", 2)
    a, b = (lifting.lift(units, SeededRandom(seed)) for seed in (1, 2))
    for distances in (
        euclidean(VECTORS, pairs),
        cosine(VECTORS, pairs),
        between(units, b, pairs),
        between(a, b, pairs),
    ):
        assert verify(distances, pairs).mean > 0.97
    # A subspace is never farther than the point it passes through.
    assert (between(units, b, pairs) <= euclidean(units, pairs) + 1e-9).all()
    assert (between(a, b, pairs) <= between(units, b, pairs) + 1e-9).all()


def test_distances_to_words_take_the_nearest_that_was_sent() -> None:
    words = np.eye(3)
    points = np.array([[1.0, 0, 0]])
    assert point_to_words(points, words, np.array([[0, 2]]))[0] == 0
    assert point_to_words(points, words, np.array([[1, 2]]))[0] == pytest.approx(2**0.5)
    assert words_to_words(words, np.array([[0, 1]]), np.array([[1, 2]]))[0] == 0
    assert words_to_words(words, np.array([[0]]), np.array([[2]]))[0] == pytest.approx(2**0.5)
