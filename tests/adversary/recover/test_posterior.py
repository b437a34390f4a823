"""The posterior: the best guess there is, and the bound that ε sets it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from recoveries import WORDS, release_of, worded
from sfumato.adversary.neighbours import nearest_others
from sfumato.adversary.recover.bounds import (
    best_accuracy,
    chance_accuracy,
    context_accuracy,
    gain,
    keep_probability,
    top_rank_law,
    uniform_accuracy,
)
from sfumato.adversary.recover.context import context_priors, learn_context
from sfumato.adversary.recover.posterior import best_guess, guess_words, posterior_attack
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.privacy.audit import clopper_pearson
from sfumato.privacy.law import output_law
from support import tiny_dictionary

SMALL = [(6, 1), (6, 2), (7, 3)]


def law(num_words: int, size: int, epsilon: float) -> dict[tuple[int, ...], np.ndarray]:
    """Pr(Z|v) of every set Z, for all v, from the formula."""
    scale = num_words / (size * math.exp(epsilon) + num_words - size) / math.comb(num_words, size)
    table = {}
    for subset in itertools.combinations(range(num_words), size):
        inside = np.isin(np.arange(num_words), subset)
        table[subset] = scale * np.where(inside, math.exp(epsilon), 1.0)
    return table


@pytest.mark.parametrize(("num_words", "size"), SMALL)
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_bounds_are_exact_in_a_small_world(num_words: int, size: int, epsilon: float) -> None:
    table = law(num_words, size, epsilon)
    assert sum(table.values()) == pytest.approx(np.ones(num_words))
    for seed in range(5):
        prior = np.random.default_rng(seed).dirichlet(np.full(num_words, 0.5))
        exact = sum(float((prior * row).max()) for row in table.values())
        assert best_accuracy(prior, epsilon, size) == pytest.approx(exact)
        posteriors = np.array([prior * row / (prior * row).sum() for row in table.values()])
        raised = prior * np.exp(epsilon)
        assert (posteriors <= raised / (raised + 1 - prior) + 1e-12).all()
    uniform = np.full(num_words, 1 / num_words)
    assert best_accuracy(uniform, epsilon, size) == pytest.approx(
        uniform_accuracy(epsilon, num_words, size)
    )
    assert uniform_accuracy(epsilon, num_words, size) == pytest.approx(
        keep_probability(epsilon, num_words, size) / size
    )


@pytest.mark.parametrize(("num_words", "size"), SMALL)
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_guesses_are_the_best_and_their_chance_is_known(
    num_words: int, size: int, epsilon: float
) -> None:
    table = law(num_words, size, epsilon)
    release = release_of(list(table), num_words, epsilon)
    rows = np.arange(len(release))
    for seed in range(5):
        prior = np.random.default_rng(seed).dirichlet(np.full(num_words, 0.5))
        guess = best_guess(release, rows, prior[None], 0)
        reached = sum(
            prior[word] * table[tuple(int(w) for w in sent)][word]
            for word, sent in zip(guess.words, release.words, strict=True)
        )
        assert reached == pytest.approx(best_accuracy(prior, epsilon, size))
        # The chance of the same guesses if Z is uniform, for every true word.
        for truth in range(num_words):
            uniform = (guess.words == truth).mean()
            found = chance_accuracy(prior[None], np.array([truth]), epsilon, size)[0]
            assert found == pytest.approx(uniform)
            right = sum(
                table[tuple(int(w) for w in sent)][truth]
                for word, sent in zip(guess.words, release.words, strict=True)
                if word == truth
            )
            alone = float(prior.argmax() == truth)
            bound = context_accuracy(alone, found, epsilon, num_words, size)
            assert right <= bound + 1e-12
            assert right <= gain(epsilon, num_words, size) * found + 1e-12


def test_the_law_used_here_is_the_shipped_one() -> None:
    mechanism = SubsetMechanism(1.5, 2, tiny_dictionary(5))
    mine = law(5, 2, 1.5)
    for word in range(5):
        shipped = output_law(mechanism, word)
        assert {tuple(subset): float(chance) for subset, chance in shipped.items()} == (
            pytest.approx({subset: row[word] for subset, row in mine.items()})
        )


def test_probabilities_are_those_of_bayes() -> None:
    table = law(6, 2, 2.0)
    release = release_of(list(table), 6, 2.0)
    prior = np.random.default_rng(1).dirichlet(np.ones(6))
    guess = guess_words(release, prior=prior)
    for word, chance, sent in zip(guess.words, guess.probability, release.words, strict=True):
        row = prior * table[tuple(int(w) for w in sent)]
        assert chance == pytest.approx(row[word] / row.sum())


@pytest.mark.parametrize("epsilon", [2.0, 6.0, 10.0])
@pytest.mark.parametrize("size", [1, 2, 8])
def test_accuracy_stays_within_the_bound(epsilon: float, size: int) -> None:
    mechanism = SubsetMechanism(epsilon, size, WORDS)
    generator = np.random.default_rng(0)
    frequency = generator.dirichlet(np.full(WORDS.num_words, 0.2))
    truth = generator.choice(WORDS.num_words, size=60_000, p=frequency).astype(np.uint32)
    release = release_of(mechanism.draw(truth, SeededRandom(1)), WORDS.num_words, epsilon)
    seen = np.bincount(truth, minlength=WORDS.num_words) / len(truth)
    for prior, bound in (
        (None, uniform_accuracy(epsilon, WORDS.num_words, size)),
        (frequency, best_accuracy(seen, epsilon, size)),
    ):
        # Rows are ordered by place, which is how they were made.
        guess = guess_words(release, prior=prior)
        low, high = clopper_pearson(int((guess.words == truth).sum()), len(truth), 1e-3)
        assert low <= bound
        if prior is None:
            assert high >= bound  # and reached
        else:
            assert bound < 1.5 * high + 0.01


def test_equally_likely_words_are_drawn_without_favour() -> None:
    release = release_of(np.tile([[3, 7]], (4000, 1)), 10, 1.0)
    moved = release_of([[3 + i, 2000 + i] for i in range(2000)], 5000, 1.0)
    assert len(set(guess_words(release).words)) == 1  # the same row, the same answer
    first = (guess_words(moved).words < 2000).mean()
    assert 0.45 < first < 0.55
    assert (guess_words(moved, seed=1).words != guess_words(moved).words).mean() > 0.4


def test_quantised_words_are_read_as_they_are() -> None:
    release, truth = worded(epsilon=math.inf, subset_size=1)
    guess = guess_words(release)
    assert np.array_equal(guess.words, truth)
    assert guess.probability == pytest.approx(np.ones(len(truth)))


def paired(count: int, num_words: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures whose words come in pairs: 2k stands beside 2k + 1."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, num_words // 2, count) * 2
    words = np.stack([first, first + 1], axis=1).ravel()
    places = np.repeat(np.arange(count) * 10.0, 2) + np.tile([0.0, 1.0], count)
    return np.stack([places, np.zeros(2 * count)], axis=1), words


def test_neighbours_tell_what_a_release_alone_does_not() -> None:
    num_words, epsilon, size = 200, 5.0, 2
    context = learn_context(
        [paired(400, num_words, seed) for seed in range(3)],
        num_words,
        num_neighbours=1,
        smoothing=1.0,
        weight=1.0,
    )
    keypoints, truth = paired(60, num_words, 9)
    mechanism = SubsetMechanism(epsilon, size, tiny_dictionary(num_words))
    right = {"alone": 0, "context": 0}
    chance = named = 0.0
    for draw in range(5):
        release = replace(
            release_of(mechanism.draw(truth, SeededRandom(draw)), num_words, epsilon),
            keypoints=keypoints.astype(np.float32),
        )
        right["alone"] += int((guess_words(release).words == truth).sum())
        right["context"] += int((guess_words(release, context=context).words == truth).sum())
        priors = context_priors(release, context, np.arange(len(release)))
        assert priors.sum(axis=1) == pytest.approx(np.ones(len(release)))
        chance += chance_accuracy(priors, truth, epsilon, size).sum()
        named += (priors.argmax(axis=1) == truth).sum()
    total = 5 * len(truth)
    assert right["context"] > right["alone"] + 0.1 * total
    # More than one release may tell, and no more than it may add to its neighbours'.
    assert right["context"] / total > uniform_accuracy(epsilon, num_words, size)
    bound = context_accuracy(named / total, chance / total, epsilon, num_words, size)
    assert clopper_pearson(right["context"], total, 1e-3)[0] <= bound


def test_a_context_never_reads_the_keypoints_own_words() -> None:
    context = learn_context([paired(50, 20, 0)], 20)
    release = release_of([[1, 2], [3, 4], [5, 6]], 20, 3.0)
    other = release_of([[1, 2], [7, 8], [5, 6]], 20, 3.0)
    row = np.array([1])
    assert np.array_equal(
        context_priors(release, context, row), context_priors(other, context, row)
    )


def test_neighbours_are_others_even_at_the_same_place() -> None:
    beside = nearest_others(np.array([[0.0, 0], [0, 0], [0, 0], [5, 5]]), 2)
    assert beside.shape == (4, 2)
    assert all(row not in beside[row] for row in range(4))
    assert nearest_others(np.zeros((1, 2)), 3).shape == (1, 0)


def test_ranks_of_uniform_subsets_follow_their_law() -> None:
    chance = top_rank_law(7, 3)
    counted = [min(subset) for subset in itertools.combinations(range(7), 3)]
    assert chance == pytest.approx(np.bincount(counted, minlength=7) / len(counted))


def test_what_does_not_belong_together_is_refused() -> None:
    release, _ = worded(count=3)
    with pytest.raises(Mismatch, match="another dictionary"):
        posterior_attack(release, dictionary=tiny_dictionary(5))
    with pytest.raises(InvalidInput, match="sum to 1"):
        guess_words(release, prior=np.ones(WORDS.num_words))
    with pytest.raises(Mismatch, match="the prior has"):
        guess_words(release, prior=np.full(4, 0.25))
    context = learn_context([paired(5, 20, 0)], 20)
    with pytest.raises(InvalidInput, match="not both"):
        guess_words(release, prior=np.full(4, 0.25), context=context)
    with pytest.raises(InvalidInput, match="learned for 20"):
        guess_words(release, context=context)
    bits = Dictionary.from_words(np.eye(8, dtype=np.uint8), extractor="tiny", metric="hamming")
    packed = replace(release_of([[1, 2]], 8, 3.0), dictionary=bits.fingerprint)
    with pytest.raises(Mismatch, match="packed bits"):
        posterior_attack(packed, dictionary=bits)
