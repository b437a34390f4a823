"""Repeats: two lifts meet in the descriptor, answers vote; memoised ones and a ledger answer it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recoveries import WORDS, errors, lifted, picture, release_of, worded
from sfumato.adversary.recover.bounds import keep_probability
from sfumato.adversary.recover.repeats import repeats_attack, vote_words
from sfumato.core.errors import BudgetSpent, InvalidInput, Mismatch
from sfumato.core.odds import subset_coin
from sfumato.core.randomness import SecureRandom, SeededRandom
from sfumato.core.releases import WordRelease
from sfumato.device.ledger import Caps, Ledger
from sfumato.device.mechanisms import MemoisedSubset, SubsetMechanism, SubspaceLifting
from sfumato.device.protect import send


@pytest.mark.parametrize("dimension", [2, 4, 8, 16])
@pytest.mark.parametrize("strategy", ["sub-hybrid", "random"])
def test_two_lifts_of_a_picture_give_every_descriptor(strategy: str, dimension: int) -> None:
    lifts = [lifted(strategy, dimension, draw=draw) for draw in (0, 1)]
    found = repeats_attack([one.release for one in lifts])
    error = errors(found, lifts[0].truth)
    assert (error < 1e-3).mean() > 0.9  # in a line they meet where both drew the same word
    assert not (found.certified & (error >= 1e-3)).any()
    assert found.certified.mean() > 0.85


def test_a_third_lift_and_half_precision_work_too() -> None:
    lifts = [lifted(dimension=4, draw=draw) for draw in range(3)]
    found = repeats_attack([one.release for one in lifts])
    assert errors(found, lifts[0].truth).max() < 1e-3
    half = [lifted(dimension=4, draw=draw, precision="float16") for draw in range(3)]
    found = repeats_attack([one.release for one in half])
    assert np.median(errors(found, half[0].truth)) < 0.02
    assert not found.certified.any()


def test_the_same_lift_sent_again_teaches_nothing() -> None:
    case = lifted(dimension=4)
    found = repeats_attack([case.release, case.release])
    assert found.confidence.max() == 0
    assert not found.certified.any()


def test_keypoints_at_one_place_are_told_apart_by_where_they_meet() -> None:
    features = picture(20)
    places = features.keypoints.copy()
    places[1::2] = places[::2]
    doubled = replace(features, keypoints=places)
    lifting = SubspaceLifting("random", 4)
    lifts = [lifting.release(doubled, rng=SeededRandom(draw)) for draw in (0, 1)]
    found = repeats_attack(lifts)
    wide = features.descriptors.astype(np.float64)
    units = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    nearest = np.linalg.norm(found.descriptors[:, None] - units[None], axis=2).min(axis=1)
    assert nearest.max() < 1e-3
    assert not found.certified.any()


def answers(count: int, num_words: int, size: int, epsilon: float, draw: int) -> WordRelease:
    """Fresh answers to the true word 0 … of a large dictionary that nobody has to build."""
    truth = np.arange(count, dtype=np.uint32)
    stand_in: Any = object.__new__(SubsetMechanism)
    for name, value in (
        ("epsilon", epsilon),
        ("subset_size", size),
        ("coin", subset_coin(epsilon, num_words, size)),
        ("dictionary", type("Words", (), {"num_words": num_words})),
    ):
        object.__setattr__(stand_in, name, value)
    return release_of(stand_in.draw(truth, SeededRandom(draw)), num_words, epsilon)


@pytest.fixture(scope="module")
def twenty() -> list[WordRelease]:
    return [answers(2000, 256_000, 2, 10.0, draw) for draw in range(20)]


@pytest.mark.parametrize(("count", "share"), [(2, 0.02), (5, 0.15), (10, 0.43), (20, 0.81)])
def test_votes_of_fresh_answers_name_the_true_word(
    twenty: list[WordRelease], count: int, share: float
) -> None:
    vote = vote_words(twenty[:count])
    truth = np.arange(len(vote.words))
    alone = ((vote.words == truth) & vote.is_alone).mean()
    assert alone == pytest.approx(share, abs=0.035)  # four standard errors
    assert vote.probability.mean() == pytest.approx((vote.words == truth).mean(), abs=0.035)


def test_memoised_answers_do_not_add_up() -> None:
    features, mechanism = picture(200), SubsetMechanism(4.0, 2, WORDS)
    session = MemoisedSubset(mechanism)
    rng = SecureRandom()
    releases = [session.release(features, rng=rng) for _ in range(20)]
    once, often = (repeats_attack(some, dictionary=WORDS) for some in (releases[:1], releases))
    assert once == often
    fresh = [mechanism.release(features, rng=rng) for _ in range(20)]
    votes = repeats_attack(fresh, dictionary=WORDS)
    assert votes.confidence.mean() > 3 * often.confidence.mean()


def test_a_ledger_refuses_before_the_votes_suffice(tmp_path: Path) -> None:
    features, mechanism = picture(20), SubsetMechanism(4.0, 2, WORDS)
    ledger = Ledger(tmp_path / "ledger", session="one", caps=Caps(session=2 * 20 * 4.0))
    rng = SecureRandom()
    for _ in range(2):
        send(features, mechanism, rng=rng, ledger=ledger)
    with pytest.raises(BudgetSpent):
        send(features, mechanism, rng=rng, ledger=ledger)


def test_one_release_alone_is_guessed_as_well_as_its_law_allows() -> None:
    vote = vote_words([answers(300, 400, 2, 5.0, 0)])
    assert vote.probability == pytest.approx(np.full(300, keep_probability(5.0, 400, 2) / 2))


def test_releases_that_do_not_belong_together_are_refused() -> None:
    words, _ = worded()
    with pytest.raises(InvalidInput, match="none"):
        repeats_attack([])
    with pytest.raises(Mismatch, match="one kind"):
        repeats_attack([words, lifted().release], dictionary=WORDS)
    with pytest.raises(InvalidInput, match="dictionary"):
        repeats_attack([words])
    with pytest.raises(Mismatch, match="one dictionary"):
        repeats_attack([words, replace(words, dictionary="a" * 64)], dictionary=WORDS)
    with pytest.raises(Mismatch, match="one picture"):
        repeats_attack([words, replace(words, image_size=(700, 480))], dictionary=WORDS)
