"""Naive Bayes and nearest centroid on randomized codes of scikit-learn's small digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sfumato.classification import Codes, DebiasedCentroid, DebiasedNaiveBayes
from sfumato.classification.counts import CodeCounts
from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom

PIXELS, LABELS = load_digits(return_X_y=True)
CODES = (PIXELS >= 8).astype(np.uint8)
GREY = np.minimum(PIXELS // 4, 3).astype(np.uint8)
TRAIN, TEST = slice(0, 1400), slice(1400, None)
SHAPE = (1, 8, 8)
BOTH = pytest.mark.parametrize("kind", [DebiasedNaiveBayes, DebiasedCentroid])


def answered(
    epsilon: float, num_sent: int | None = None, repeat: int = 1, codes: Any = GREY
) -> tuple[Codes, Any]:
    mechanism = RandomizedResponse(epsilon, int(codes.max()) + 1, num_sent)
    truth = np.tile(codes[TRAIN], (repeat, 1))
    sent = mechanism.perturb(truth, rng=SeededRandom(3), map_shape=SHAPE)
    return sent, np.tile(LABELS[TRAIN], repeat)


@BOTH
@pytest.mark.parametrize(("epsilon", "least"), [(math.inf, 0.8), (2.0, 0.78), (0.5, 0.6)])
def test_digits_are_told_apart_under_noise(kind: Any, epsilon: float, least: float) -> None:
    learner = kind().fit(*answered(epsilon))
    assert learner.score(GREY[TEST], LABELS[TEST]) > least


def test_a_single_code_per_picture_teaches() -> None:
    """Total ε = 2 for the whole picture; 14,000 pictures of ten times the small set."""
    sent, labels = answered(2.0, num_sent=1, repeat=10)
    assert sent.picture_epsilon == 2.0
    for kind in (DebiasedNaiveBayes, DebiasedCentroid):
        assert kind().fit(sent, labels).score(GREY[TEST], LABELS[TEST]) > 0.7


def test_neighbours_share_what_they_learnt() -> None:
    """Every cell of the small digits drawn as 3×3: what one knows helps the eight others."""
    drawn = np.kron(CODES.reshape(-1, 8, 8), np.ones((1, 3, 3), dtype=np.uint8)).reshape(-1, 576)
    truth, labels = np.tile(drawn[TRAIN], (4, 1)), np.tile(LABELS[TRAIN], 4)
    mechanism = RandomizedResponse(2.0, 2, num_sent=1)
    sent = mechanism.perturb(truth, rng=SeededRandom(3), map_shape=(1, 24, 24))
    apart = DebiasedNaiveBayes().fit(sent, labels).score(drawn[TEST], LABELS[TEST])
    shared = DebiasedNaiveBayes(spatial=1.0).fit(sent, labels).score(drawn[TEST], LABELS[TEST])
    assert shared > apart + 0.02


def test_without_debiasing_noise_would_be_learnt() -> None:
    """Frequencies come back to the truth, not to the mixture that was sent."""
    sent, labels = answered(1.0, repeat=20)
    found = DebiasedNaiveBayes(alpha=0.01, floor=0).fit(sent, labels).frequencies_
    clean = DebiasedNaiveBayes(alpha=0.01, floor=0).fit(GREY[TRAIN], LABELS[TRAIN]).frequencies_
    assert np.abs(found - clean).mean() < 0.03
    mixed = RandomizedResponse(1.0, 4).coin.probability
    assert np.abs(float(mixed) * clean + (1 - float(mixed)) / 4 - clean).mean() > 0.1


@BOTH
def test_a_stream_teaches_what_one_batch_does(kind: Any) -> None:
    sent, labels = answered(1.0, num_sent=20)
    whole = kind().fit(sent, labels)
    stream = kind()
    for start in range(0, len(sent), 300):
        rows = slice(start, start + 300)
        stream.partial_fit(sent.take(rows), labels[rows], classes=np.arange(10))
    assert (stream.class_scores(GREY[TEST]) == whole.class_scores(GREY[TEST])).all()


@BOTH
def test_releases_of_several_epsilons_are_joined(kind: Any) -> None:
    good, labels = answered(3.0, num_sent=10)
    poor, _ = answered(0.1, num_sent=10)
    alone = kind().fit(good, labels).score(GREY[TEST], LABELS[TEST])
    joined = kind().partial_fit(good, labels).partial_fit(poor, labels)
    # What is worth nothing does no harm.
    assert joined.score(GREY[TEST], LABELS[TEST]) > alone - 0.02


def test_noisy_test_pictures_are_scored_as_noisy() -> None:
    learner = DebiasedNaiveBayes().fit(GREY[TRAIN], LABELS[TRAIN])
    noisy = RandomizedResponse(1.0, 4).perturb(GREY[TEST], rng=SeededRandom(8))
    aware = learner.score(noisy, LABELS[TEST])
    assert aware > learner.score(noisy.values, LABELS[TEST]) + 0.1
    some = RandomizedResponse(math.inf, 4, 20).perturb(GREY[TEST], rng=SeededRandom(8))
    assert learner.score(some, LABELS[TEST]) > 0.6
    assert DebiasedCentroid().fit(GREY[TRAIN], LABELS[TRAIN]).score(some, LABELS[TEST]) > 0.5


def test_the_centroid_correction_is_unbiased_and_needed() -> None:
    """‖μ̂‖² exceeds ‖μ‖² by the summed variances; classes of unequal size show it."""
    rows = np.concatenate([np.flatnonzero(LABELS == 0)[:150], np.flatnonzero(LABELS == 1)[:15]])
    truth = [(GREY[rows[LABELS[rows] == c]].mean(axis=0) ** 2).sum() for c in (0, 1)]
    raw, right = [], []
    for seed in range(200):
        sent = RandomizedResponse(0.5, 4).perturb(GREY[rows], rng=SeededRandom(seed))
        learner = DebiasedCentroid().fit(sent, LABELS[rows])
        right.append(learner.squared_norms_)
        raw.append((learner.centroids_**2).sum(axis=1))
    error = np.std(right, axis=0, ddof=1) / math.sqrt(200)
    # The variance also takes out which pictures came: a known part, here their own spread.
    spread = [GREY[rows[LABELS[rows] == c]].var(axis=0).sum() for c in (0, 1)]
    chance = np.array(spread) / [150, 15]
    assert (np.abs(np.mean(right, axis=0) + chance - truth) < 5 * error).all()
    assert (np.mean(raw, axis=0) - truth)[1] > 20 * error[1]


def test_counts_hold_the_paper_s_estimate() -> None:
    codes = Codes(values=np.array([[0, 1], [0, 2], [1, 2]]), num_values=3, num_positions=2)
    counts = CodeCounts(2, 2, 3)
    counts.add(codes, np.array([0, 0, 1]))
    assert counts.tables[math.inf][0].tolist() == [[2, 0, 0], [0, 1, 1]]
    assert counts.answers().tolist() == [[2, 2], [1, 1]]
    means, variances = counts.means()
    assert means.tolist() == [[0.0, 1.5], [1.0, 2.0]]
    assert variances.tolist() == [[0.0, 0.125], [0.0, 0.0]]
    with pytest.raises(InvalidInput, match="counts; use fewer"):
        CodeCounts(1000, 10_000, 256)
    for i in range(15):
        noisy = Codes(values=codes.values, num_values=3, num_positions=2, epsilon=i + 1)
        counts.add(noisy, np.zeros(3, dtype=int))
    more = Codes(values=codes.values, num_values=3, num_positions=2, epsilon=30)
    with pytest.raises(InvalidInput, match="different ε"):
        counts.add(more, np.zeros(3, dtype=int))


@BOTH
@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda k: k().fit(GREY, np.zeros(len(GREY))), InvalidInput, "at least 2 classes"),
        (lambda k: k().fit(GREY, LABELS[:-1]), InvalidInput, "one label"),
        (lambda k: k().fit(GREY[0], LABELS), InvalidInput, "2D array"),
        (lambda k: k().fit(GREY + 0.5, LABELS), InvalidInput, "fractions"),
        (lambda k: k().fit(GREY * math.nan, LABELS), InvalidInput, "NaN"),
        (lambda k: k(num_values=3).fit(GREY, LABELS), InvalidInput, "between 0 and 2"),
        (lambda k: k(num_values=1).fit(GREY, LABELS), InvalidInput, "num_values must be"),
        (lambda k: k(epsilon=1.0).fit(GREY, LABELS), InvalidInput, "num_values must be given"),
        (lambda k: k(4, epsilon=-1.0).fit(GREY, LABELS), InvalidInput, "epsilon must be"),
        (lambda k: k(4, epsilon=math.nan).fit(GREY, LABELS), InvalidInput, "epsilon must be"),
        (lambda k: k(epsilon=2.0).fit(*answered(1.0)), Mismatch, "expects 2"),
        (lambda k: k(num_values=5).fit(*answered(1.0)), Mismatch, r"expects \[5\]"),
        (lambda k: k(map_shape=(1, 4, 16)).fit(*answered(1.0)), Mismatch, "form a map"),
        (lambda k: k().fit(GREY, LABELS).predict(GREY[:, :9]), InvalidInput, "is expecting 64"),
        (lambda k: k().fit(CODES, LABELS).predict(GREY), InvalidInput, "between 0 and 1"),
        (
            lambda k: k().partial_fit(GREY, LABELS).partial_fit(GREY[:1], [11]),
            InvalidInput,
            "none of the 10 classes",
        ),
        (
            lambda k: k().partial_fit(GREY, LABELS).partial_fit(GREY, LABELS, [1, 2]),
            Mismatch,
            "named at the first call",
        ),
    ],
)
def test_bad_input_is_refused(kind: Any, call: Any, error: Any, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call(kind)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"alpha": -1}, "alpha must be"),
        ({"alpha": math.nan}, "alpha must be"),
        ({"spatial": -1}, "spatial must be"),
        ({"spatial": 1.0}, "needs map_shape"),
        ({"spatial": 1.0, "map_shape": (1, 2, 3)}, "product of 64"),
        ({"floor": 1}, "floor must be"),
        ({"alpha": 0, "floor": 0}, "both be 0"),
    ],
)
def test_bad_settings_of_naive_bayes_are_refused(settings: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        DebiasedNaiveBayes(**settings).fit(GREY, LABELS)


def test_a_class_with_one_picture_is_learnt_with_care() -> None:
    rows = [*np.flatnonzero(LABELS == 0)[:50], int(np.flatnonzero(LABELS == 1)[0])]
    for kind in (DebiasedNaiveBayes, DebiasedCentroid):
        learner = kind().fit(GREY[rows], LABELS[rows])
        assert learner.score(GREY[rows], LABELS[rows]) > 0.9


def test_no_picture_gets_no_answer() -> None:
    learner = DebiasedNaiveBayes().fit(GREY, LABELS)
    none = Codes(values=GREY[:0], num_values=4, num_positions=64)
    assert learner.class_scores(none).shape == (0, 10)
    proba = learner.predict_proba(GREY[:5])
    assert proba.sum(axis=1) == pytest.approx(1)
