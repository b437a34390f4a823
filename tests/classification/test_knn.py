"""Nearest neighbours among perturbed pictures: kernels against the definition, noise, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from sfumato.classification.knn import PerturbedKNN, neighbours_for
from sfumato.classification.match_weights import answer_shares, log_odds, match_weights
from sfumato.classification.neighbours import bit_planes
from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.core.codes import Codes
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom

PIXELS, LABELS = load_digits(return_X_y=True)
CODES = np.minimum(PIXELS // 4, 3).astype(np.uint8)
TRAIN, TEST = slice(0, 1400), slice(1400, None)


@pytest.mark.parametrize("num_values", [2, 3, 4, 16, 256, 1000])
@pytest.mark.parametrize("metric", ["hamming", "l2"])
def test_neighbours_are_those_of_the_definition(num_values: int, metric: str) -> None:
    """Also beyond one tile of known pictures, and where the last word is not full."""
    rng = np.random.default_rng(num_values)
    known = rng.integers(0, num_values, (1100, 70))
    asked = rng.integers(0, num_values, (140, 70))
    learner = PerturbedKNN(9, metric=metric, num_values=num_values)
    places, _ = learner.fit(known, np.arange(1100) % 3).kneighbors(asked)
    if metric == "hamming":
        distances = (asked[:, None] != known).sum(axis=2)
    else:
        distances = np.square(asked[:, None] - known).sum(axis=2)
    expected = np.argsort(distances, axis=1, kind="stable")[:, :9]
    np.testing.assert_array_equal(places, expected)


def test_weighted_matches_are_sums_of_rounded_weights() -> None:
    rng = np.random.default_rng(5)
    known, asked = rng.integers(0, 4, (300, 100)), rng.integers(0, 4, (20, 100))
    learner = PerturbedKNN(300, weights="log-odds", num_values=4, epsilon=1.0)
    places, scores = learner.fit(known, np.arange(300) % 2).kneighbors(asked)
    weights = match_weights(learner.codes_)
    rounded_weights = np.rint(weights * (31 / weights.max()))
    own = rounded_weights[np.arange(100), asked]
    expected = ((asked[:, None] == known) * own[:, None]).sum(axis=2)
    np.testing.assert_array_equal(scores, np.take_along_axis(expected, places, axis=1))
    assert (np.diff(scores, axis=1) <= 0).all()


def test_weights_are_log_likelihood_ratios() -> None:
    """A rare answer is worth more; alike and chance are both laws of the answer."""
    values = np.tile(np.array([[0, 1]] * 9 + [[1, 1]]), (100, 1))
    codes = Codes(values=values, num_values=2, num_positions=2, epsilon=1.0)
    share = answer_shares(codes)
    np.testing.assert_allclose(share.sum(axis=1), 1)
    match, mismatch = log_odds(codes)
    np.testing.assert_allclose(np.exp(match) * share + np.exp(mismatch) * (1 - share), 1)
    weights = match_weights(codes)
    assert weights[0, 1] > weights[0, 0]
    assert (weights >= 0).all()


def test_bits_are_laid_out_code_by_code() -> None:
    planes = bit_planes(np.array([[1, 2, 3] + [0] * 62], dtype=np.uint8), 2)
    np.testing.assert_array_equal(planes, [[[0b101, 0], [0b110, 0]]])


def test_clean_codes_give_scikit_learns_answers() -> None:
    ours = PerturbedKNN(1, metric="l2").fit(CODES[TRAIN], LABELS[TRAIN])
    theirs = KNeighborsClassifier(1).fit(CODES[TRAIN].astype(float), LABELS[TRAIN])
    same = ours.predict(CODES[TEST]) == theirs.predict(CODES[TEST].astype(float))
    assert same.mean() > 0.98  # ties may fall differently
    assert ours.score(CODES[TEST], LABELS[TEST]) > 0.94


@pytest.mark.parametrize("options", [{}, {"weights": "log-odds"}, {"metric": "l2"}])
def test_digits_are_told_apart_under_noise(options: dict[str, Any]) -> None:
    released = RandomizedResponse(1.5, 4).perturb(CODES[TRAIN], rng=SeededRandom(0))
    learner = PerturbedKNN(**options).fit(released, LABELS[TRAIN])
    assert learner.num_neighbours_ == neighbours_for(1.5, 4, 1400)
    assert learner.score(CODES[TEST], LABELS[TEST]) > 0.65
    few = PerturbedKNN(1, **options).fit(released, LABELS[TRAIN])
    assert few.score(CODES[TEST], LABELS[TEST]) < learner.score(CODES[TEST], LABELS[TEST])


@pytest.mark.parametrize("options", [{}, {"weights": "log-odds"}, {"metric": "l2"}])
def test_partial_releases_teach_too(options: dict[str, Any]) -> None:
    sent = RandomizedResponse(3.0, 4, num_sent=48).perturb(CODES[TRAIN], rng=SeededRandom(0))
    learner = PerturbedKNN(30, **options).fit(sent, LABELS[TRAIN])
    assert learner.score(CODES[TEST], LABELS[TEST]) > 0.7
    every = np.broadcast_to(np.arange(64, dtype=np.uint32), CODES[TRAIN].shape)
    whole = Codes(values=CODES[TRAIN], positions=every, num_values=4, num_positions=64)
    plain = Codes(values=CODES[TRAIN], num_values=4, num_positions=64)
    if not options.get("weights"):
        by_table, _ = PerturbedKNN(5, **options).fit(whole, LABELS[TRAIN]).kneighbors(CODES[TEST])
        by_plane, _ = PerturbedKNN(5, **options).fit(plain, LABELS[TRAIN]).kneighbors(CODES[TEST])
        np.testing.assert_array_equal(by_table, by_plane)


@pytest.mark.parametrize("num_sent", [None, 20])
def test_a_stream_teaches_as_much_as_all_at_once(num_sent: int | None) -> None:
    sent = RandomizedResponse(2.0, 4, num_sent=num_sent).perturb(CODES[TRAIN], rng=SeededRandom(1))
    at_once = PerturbedKNN(20).fit(sent, LABELS[TRAIN])
    stream = PerturbedKNN(20)
    for start in range(0, 1400, 500):
        rows = slice(start, min(start + 500, 1400))
        stream.partial_fit(sent.take(rows), LABELS[rows], classes=range(10))
    np.testing.assert_array_equal(stream.predict(CODES[TEST]), at_once.predict(CODES[TEST]))
    with pytest.raises(Mismatch, match="codes"):
        stream.partial_fit(
            RandomizedResponse(2.0, 4, num_sent=7).perturb(CODES[:5], rng=SeededRandom(1)),
            LABELS[:5],
        )
    with pytest.raises(Mismatch, match="classes"):
        stream.partial_fit(sent.take(slice(0, 5)), LABELS[:5], classes=range(11))


def test_several_counts_from_one_search_agree_with_one_each() -> None:
    learner = PerturbedKNN(9).fit(CODES[TRAIN], LABELS[TRAIN])
    shares = learner.votes(CODES[TEST], (3, 9))
    np.testing.assert_array_equal(shares[1], learner.predict_proba(CODES[TEST]))
    alone = PerturbedKNN(3).fit(CODES[TRAIN], LABELS[TRAIN])
    np.testing.assert_array_equal(shares[0], alone.predict_proba(CODES[TEST]))


def test_more_noise_asks_more_neighbours() -> None:
    counts = [neighbours_for(epsilon, 2, 60_000) for epsilon in (0.1, 0.5, 1.0, 4.0, math.inf)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == round(8 + 1.5)
    assert neighbours_for(0.1, 2, 50) == 50


def test_what_cannot_be_answered_is_refused() -> None:
    with pytest.raises(InvalidInput, match="got 1401 of 1400"):
        PerturbedKNN(1401).fit(CODES[TRAIN], LABELS[TRAIN])
    with pytest.raises(InvalidInput, match="num_neighbours"):
        PerturbedKNN(0).fit(CODES[TRAIN], LABELS[TRAIN])
    with pytest.raises(InvalidInput, match="at least 2 classes"):
        PerturbedKNN(1).fit(CODES[TRAIN], np.zeros(1400))
    choices: list[dict[str, Any]] = [
        {"metric": "cosine"},
        {"weights": "all"},
        {"metric": "l2", "weights": "log-odds"},
    ]
    for options in choices:
        with pytest.raises(InvalidInput, match=r"metric|weights"):
            PerturbedKNN(1, **options).fit(CODES[TRAIN], LABELS[TRAIN])
    learner = PerturbedKNN(3, num_values=4).fit(CODES[TRAIN], LABELS[TRAIN])
    with pytest.raises(InvalidInput, match="between 0 and 3"):
        learner.predict(CODES[TEST] + 1)
    with pytest.raises(InvalidInput, match="64 features"):
        learner.predict(CODES[TEST][:, :60])
    part = RandomizedResponse(1.0, 4, num_sent=3).perturb(CODES[:5], rng=SeededRandom(0))
    with pytest.raises(InvalidInput, match="all 64 codes"):
        learner.predict(part)
