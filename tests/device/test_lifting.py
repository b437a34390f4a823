"""Affine lifting: the descriptor lies in what is sent, and where in it is not told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfumato.core.errors import BudgetSpent, InvalidInput, Mismatch
from sfumato.core.randomness import SecureRandom, SeededRandom
from sfumato.core.releases import SubspaceRelease
from sfumato.core.types import Features
from sfumato.device.explain import explain, explanation_text
from sfumato.device.ledger import Caps, Ledger
from sfumato.device.mechanisms import SubspaceLifting
from sfumato.device.mechanisms.lifting import STRATEGIES, orthonormal_rows
from sfumato.dictionary import Dictionary
from support import features_of, tiny_dictionary

DATABASE = tiny_dictionary(64, dimension=12)
RNG = SecureRandom()


def some_features(count: int, dimension: int = 12) -> Features:
    values = np.abs(np.random.default_rng(count).normal(size=(count, dimension)))
    return features_of(values.astype(np.float32))


def residual(offsets: Any, bases: Any, points: Any) -> Any:
    """Distance of point i to subspace i."""
    apart = points - offsets
    inside = np.einsum("nmd,nd->nm", bases, apart)
    return np.linalg.norm(apart - np.einsum("nm,nmd->nd", inside, bases), axis=1)


def units(values: Any) -> Any:
    return values / np.linalg.norm(values, axis=1, keepdims=True)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_every_descriptor_lies_in_its_subspace(strategy: str, dimension: int) -> None:
    features = some_features(100)
    lifting = SubspaceLifting(strategy, dimension, DATABASE, num_sub_databases=8)
    offsets, bases = lifting.lift(features.descriptors, RNG)
    gram = np.einsum("nid,njd->nij", bases, bases)
    assert np.abs(gram - np.eye(dimension)).max() < 1e-12
    assert residual(offsets, bases, units(features.descriptors.astype(float))).max() < 1e-9
    release = lifting.release(features, rng=RNG)
    assert release.dimension == dimension
    assert release.offsets.dtype == np.float32


@pytest.mark.parametrize(
    ("strategy", "dimension", "expected"),
    [
        ("random", 4, 0),
        ("adversarial", 4, 4),
        ("hybrid", 4, 2),
        ("hybrid", 5, 2),  # odd: the first ⌊m/2⌋ are adversarial
        ("sub-adversarial", 3, 3),
        ("sub-hybrid", 3, 1),
    ],
)
def test_as_many_words_of_the_database_lie_in_it_as_the_strategy_says(
    strategy: str, dimension: int, expected: int
) -> None:
    features = some_features(50)
    lifting = SubspaceLifting(strategy, dimension, DATABASE, num_sub_databases=4)
    assert (lifting.num_adversarial, lifting.num_random) == (expected, dimension - expected)
    offsets, bases = lifting.lift(features.descriptors, RNG)
    words = units(DATABASE.words.astype(float))
    inside = np.stack(
        [residual(offsets, bases, np.tile(word, (50, 1))) < 1e-9 for word in words], axis=1
    )
    assert (inside.sum(axis=1) == expected).all()
    parts = {int(word) % 4 for word in np.nonzero(inside)[1]}
    assert len(parts) == (0 if not expected else 1 if strategy.startswith("sub-") else 4)


def test_pictures_choose_their_sub_database_anew() -> None:
    lifting = SubspaceLifting("sub-adversarial", 2, DATABASE, num_sub_databases=4)
    words = units(DATABASE.words.astype(float))
    parts = set()
    for _ in range(60):
        offsets, bases = lifting.lift(some_features(1).descriptors, RNG)
        inside = [
            i for i, word in enumerate(words) if residual(offsets, bases, word[None])[0] < 1e-9
        ]
        parts |= {i % 4 for i in inside}
    assert parts == {0, 1, 2, 3}


def test_the_parameters_say_nothing_about_where_the_descriptor_lies() -> None:
    """In the coordinates that are sent, the offset is normal and its basis has no direction.

    Both were drawn with the same subspace behind them, so only its parameters differ.
    """
    descriptor = some_features(1).descriptors.repeat(4000, axis=0)
    lifting = SubspaceLifting(
        "adversarial", 2, Dictionary.from_words(DATABASE.words[:2], extractor="tiny", metric="l2")
    )
    offsets, bases = lifting.lift(descriptor, RNG)
    projector = np.einsum("nmd,nme->nde", bases, bases)
    assert np.abs(projector - projector[0]).max() < 1e-9  # one subspace, 4000 times
    origin = offsets[0] - bases[0].T @ (bases[0] @ offsets[0])
    placed = (offsets - origin) @ bases[0].T
    for axis in range(2):
        assert stats.kstest(placed[:, axis], "norm").pvalue > 1e-4
    turned = bases[:, 0] @ bases[0].T
    angles = np.arctan2(turned[:, 1], turned[:, 0]) / (2 * np.pi) + 0.5
    assert stats.kstest(angles, "uniform").pvalue > 1e-4


def test_two_lifts_of_one_descriptor_differ_everywhere_else() -> None:
    features = some_features(30)
    lifting = SubspaceLifting("random", 3)
    first, second = (lifting.lift(features.descriptors, RNG) for _ in range(2))
    assert np.abs(first[0] - second[0]).min(axis=1).max() > 0
    truth = units(features.descriptors.astype(float))
    assert residual(*second, truth).max() < 1e-9
    assert residual(*second, first[0]).min() > 1e-6


def test_a_line_is_refused_unless_it_was_asked_for() -> None:
    with pytest.raises(InvalidInput, match=r"at least 2, got 1; a line meets the unit sphere"):
        SubspaceLifting("random", 1)
    release = SubspaceLifting("random", 1, allow_line=True).release(some_features(5), rng=RNG)
    assert release.dimension == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("sideways", 2), "strategy must be one of random, adversarial"),
        (("random", 0), "dimension must be at least 1, got 0"),
        (("random", 2.0), "dimension must be a whole number"),
        (("hybrid", 2), "needs database=, a Dictionary"),
        (("adversarial", 65, DATABASE), "at least 65 words, got 64"),
        (("sub-hybrid", 10, DATABASE), "at least 5 words in each of 16 sub-databases, got 4"),
        (("sub-hybrid", 2, DATABASE, 7), "64 words cannot be split in 7 equal parts"),
    ],
)
def test_what_cannot_be_lifted_is_refused_at_once(arguments: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        SubspaceLifting(*arguments)


def test_a_subspace_must_not_fill_the_space() -> None:
    for dimension in (12, 13):
        with pytest.raises(InvalidInput, match=f"between 1 and 11, got {dimension}"):
            SubspaceLifting("random", dimension).release(some_features(3), rng=RNG)
    assert SubspaceLifting("random", 11).release(some_features(3), rng=RNG).dimension == 11


def test_a_descriptor_of_zeros_is_refused_with_what_to_do() -> None:
    values = np.ones((4, 12), dtype=np.float32)
    values[2] = 0
    with pytest.raises(InvalidInput, match="1 of 4 are and have no direction; drop those"):
        SubspaceLifting("random", 2).release(features_of(values), rng=RNG)


def test_packed_bits_and_other_extractors_are_refused() -> None:
    bits = features_of(np.ones((3, 64), dtype=np.uint8), extractor="freak")
    with pytest.raises(InvalidInput, match="freak gives packed bits"):
        SubspaceLifting("random", 2).release(bits, rng=RNG)
    with pytest.raises(Mismatch, match="holds 'tiny' features, the picture 'sift'"):
        SubspaceLifting("hybrid", 2, DATABASE).release(
            features_of(np.ones((3, 128), dtype=np.uint8), extractor="sift"), rng=RNG
        )


def test_a_word_equal_to_the_descriptor_is_drawn_again() -> None:
    words = np.vstack([np.eye(12)[:1], np.random.default_rng(1).random((3, 12))])
    database = Dictionary.from_words(words.astype(np.float32), extractor="tiny", metric="l2")
    features = features_of(np.tile(np.eye(12, dtype=np.float32)[:1], (200, 1)))
    offsets, bases = SubspaceLifting("adversarial", 2, database).lift(features.descriptors, RNG)
    assert np.isfinite(bases).all()
    assert residual(offsets, bases, features.descriptors.astype(float)).max() < 1e-9


def test_a_database_of_one_word_many_times_ends_with_a_sentence() -> None:
    database = Dictionary.from_words(np.ones((8, 12), dtype=np.float32), extractor="tiny")
    with pytest.raises(InvalidInput, match="more words that differ from each other"):
        SubspaceLifting("adversarial", 2, database).release(some_features(3), rng=RNG)


def test_no_epsilon_is_ever_shown(tmp_path: Any) -> None:
    lifting = SubspaceLifting("sub-hybrid", 2, DATABASE)
    features = some_features(7)
    event = lifting.event(features)
    assert event.epsilon is None
    assert not event.is_private
    assert "the descriptors, against known attacks" in event.not_protected
    facts = explain(lifting.release(features, rng=RNG), event, None)
    assert facts["subspace_dimension"] == 2
    assert not [key for key in facts if "epsilon" in key]
    text = explanation_text(facts)
    assert text["guarantee"] == "none"
    assert "ε" not in " ".join(text.values())
    ledger = Ledger(tmp_path / "ledger", caps=Caps(session=100))
    with pytest.raises(BudgetSpent, match="no guarantee that could be counted"):
        ledger.charge(event)


def test_half_precision_halves_the_payload_and_stays_near() -> None:
    features = some_features(50)
    lifting = SubspaceLifting("hybrid", 4, DATABASE, precision="float16")
    half = lifting.release(features, rng=SeededRandom(1))
    full = SubspaceLifting("hybrid", 4, DATABASE).release(features, rng=SeededRandom(1))
    assert half.offsets.dtype == half.bases.dtype == np.float16
    payload = 5 * 12 * 50
    assert len(full.to_bytes()) - len(half.to_bytes()) == 2 * payload
    assert np.abs(half.bases.astype(float) - full.bases).max() < 1e-3
    with pytest.raises(InvalidInput, match="float32 or float16"):
        SubspaceLifting("random", 2, precision="float64")


def test_a_dependent_row_is_not_sound() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 3, 6))
    rows[1, 2] = rows[1, 0] - 2 * rows[1, 1]
    rows[2, 0] = 0
    basis, sound = orthonormal_rows(rows)
    assert sound.tolist() == [True, False, False]
    assert np.abs(basis[0] @ basis[0].T - np.eye(3)).max() < 1e-14


def test_one_keypoint_and_none_are_lifted_too() -> None:
    for count in (0, 1):
        release = SubspaceLifting("sub-hybrid", 4, DATABASE).release(some_features(count), rng=RNG)
        assert isinstance(release, SubspaceRelease)
        assert release.bases.shape == (count, 4, 12)


def test_dither_moves_the_descriptor_by_what_it_says_and_stays_on_the_sphere() -> None:
    features = some_features(400, dimension=128)
    lifting = SubspaceLifting("random", 2, dither=0.1)
    offsets, bases = lifting.lift(features.descriptors, RNG)
    away = residual(offsets, bases, units(features.descriptors.astype(float)))
    assert 0.08 < away.mean() < 0.11  # two of 128 dimensions are hidden by the subspace
    again = residual(*lifting.lift(features.descriptors, RNG), offsets)
    assert again.min() > 1e-3  # two lifts no longer meet
    for wrong in (-0.1, 1.5, float("nan"), "much"):
        with pytest.raises(InvalidInput, match="dither must be"):
            SubspaceLifting("random", 2, dither=wrong)  # type: ignore[arg-type]
