"""Attributes: inferred where they show, guessed where they do not, and read off hybrid+'s words."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.adversary.infer.attributes import (
    Known,
    accuracy,
    class_distances,
    infer_from_database,
    infer_from_points,
    infer_from_subspaces,
    infer_from_words,
    recover_from_words,
    recover_points,
)
from sfumato.adversary.infer.learned_attributes import LearnedAttack
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import BalancedLifting, SubspaceLifting
from sfumato.dictionary import Dictionary

AMBIENT = 24


def people(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Faces whose value shows in one direction, six tenths of them "a"."""
    generator = np.random.default_rng(seed)
    values = np.where(generator.random(count) < 0.6, "a", "b")
    points = generator.normal(size=(count, AMBIENT))
    points[:, 0] += np.where(values == "a", 3, -3)
    return points / np.linalg.norm(points, axis=1, keepdims=True), values


DATABASE, DATABASE_VALUES = people(80, 0)
KNOWN = Known(*people(300, 1))
TRAINING, TRAINING_VALUES = people(300, 2)
TEST, TRUTH = people(200, 3)
WORDS = Dictionary.from_words(DATABASE.astype(np.float32), extractor="tiny", metric="l2")


def share(answers: np.ndarray) -> float:
    right, total = accuracy(answers, TRUTH)
    return right / total


def test_raw_embeddings_tell_and_the_majority_does_not() -> None:
    assert KNOWN.majority == "a"
    assert share(infer_from_points(TEST, KNOWN)) > 0.9
    assert share(LearnedAttack.train(TRAINING, TRAINING_VALUES).infer(TEST)) > 0.9
    shuffled = np.random.default_rng(0).permutation(TRAINING_VALUES)
    assert share(LearnedAttack.train(TRAINING, shuffled).infer(TEST)) < 0.75


def test_random_lifting_does_not_hide_them() -> None:
    sent = SubspaceLifting("random", 4).lift(TEST, SeededRandom(1))
    assert share(infer_from_subspaces(sent, KNOWN)) > 0.8


def test_words_around_the_face_tell_too() -> None:
    words = np.eye(AMBIENT)[:2]
    words[1] = -words[0]
    near = (TEST[:, 0] < 0).astype(int)[:, None]
    assert share(infer_from_words(near, words, KNOWN)) > 0.9
    assert recover_from_words(near, words)[0] == pytest.approx(words[near[0, 0]])
    both = np.tile([0, 1], (len(TEST), 1))
    assert share(infer_from_words(both, words, KNOWN)) < 0.75


def test_hybrid_plus_hides_from_neighbours_but_not_from_who_knows_its_words() -> None:
    plus = BalancedLifting(2, WORDS, DATABASE_VALUES.tolist())
    hybrid = SubspaceLifting("hybrid", 2, WORDS)
    sent = plus.lift(TEST, TRUTH.tolist(), SeededRandom(1))
    plain = hybrid.lift(TEST, SeededRandom(2))
    assert share(infer_from_subspaces(sent, KNOWN)) < share(infer_from_subspaces(plain, KNOWN))
    told = (DATABASE, DATABASE_VALUES.tolist(), KNOWN)
    assert share(infer_from_database(sent, *told, balanced=True)) == 1.0
    assert share(infer_from_database(plain, *told, balanced=False)) == (TRUTH == "a").mean()


def test_an_attacker_who_retrains_learns_more_than_neighbours_say() -> None:
    plus = BalancedLifting(4, WORDS, DATABASE_VALUES.tolist())
    sent = plus.lift(TEST, TRUTH.tolist(), SeededRandom(1))
    own = plus.lift(TRAINING, TRAINING_VALUES.tolist(), SeededRandom(2))
    learned = LearnedAttack.train(recover_points(own, KNOWN), TRAINING_VALUES)
    assert share(learned.infer(recover_points(sent, KNOWN))) > share(
        infer_from_subspaces(sent, KNOWN)
    )


def test_recovered_points_lie_in_their_subspaces() -> None:
    offsets, bases = SubspaceLifting("random", 3).lift(TEST[:5], SeededRandom(1))
    found = recover_points((offsets, bases), KNOWN)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1)


def test_votes_between_equals_go_to_the_nearest() -> None:
    known = Known(np.eye(3), np.array(["x", "y", "z"]))
    nearest = np.array([[0.1, 0.2, 1.0], [1.0, 0.2, 0.1]])
    assert infer_from_points(nearest, known, k=3).tolist() == ["z", "x"]


def test_an_attribute_with_one_value_is_refused() -> None:
    with pytest.raises(
        InvalidInput, match="at least two values to be inferred, these faces have 1"
    ):
        Known(TEST, np.full(len(TEST), "a"))
    with pytest.raises(InvalidInput, match="at least two values"):
        LearnedAttack.train(TEST, ["a"] * len(TEST))
    with pytest.raises(InvalidInput, match="each known face needs one value"):
        Known(TEST, TRUTH[1:])


def test_an_attacker_who_learns_nothing_answers_with_the_commonest_value() -> None:
    """Noise for features: a classifier that overfits would fall below the majority."""
    noise = np.random.default_rng(4).normal(size=(300, 120))
    learned = LearnedAttack.train(noise, TRAINING_VALUES)
    assert learned.classifier is None
    assert set(learned.infer(noise[:50])) == {learned.majority} == {"a"}


def test_the_better_of_several_tables_is_used() -> None:
    noise = np.random.default_rng(5).normal(size=TRAINING.shape)
    learned = LearnedAttack.train([noise, TRAINING], TRAINING_VALUES)
    assert share(learned.infer([noise[: len(TEST)], TEST])) > 0.9


def test_the_geometry_of_a_subspace_tells_where_its_guessed_point_does_not() -> None:
    own, sent = (
        SubspaceLifting("random", 4).lift(points, SeededRandom(6)) for points in (TRAINING, TEST)
    )
    near = class_distances(sent, KNOWN)
    assert near.shape == (len(TEST), 4)
    assert (near[:, 0] <= near[:, 1] + 1e-9).all()
    learned = LearnedAttack.train(class_distances(own, KNOWN), TRAINING_VALUES)
    assert share(learned.infer(near)) > 0.8
