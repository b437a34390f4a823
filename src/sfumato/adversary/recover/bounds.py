"""What ε allows: how often any guess of the true word can be right.

The ω-subset mechanism answers a word v with a set Z, Pr(Z|v) = c·e^ε if v ∈ Z and c otherwise,
c = |K| / (ω·e^ε + |K| − ω) / C(|K|, ω). From this, exactly:

one release, uniform prior     right in at most p/ω = e^ε / (ω·e^ε + |K| − ω) of all cases
one release, prior π           Σ_Z max_v π(v)·Pr(Z|v), attained by the best guess (`best_accuracy`)
any ε-LDP release, prior π     posterior of v ≤ π·e^ε / (π·e^ε + 1 − π)
any knowledge C besides Z      right in at most R·a0 of all cases, R = |K|·e^ε / (ω·e^ε + |K| − ω),
                               a0 = how often the same guess is right when Z is replaced by a
                               uniform one;
                               and in at most p + (1 − p)·c, c = how often C alone names the word:
                               either the word was sent, or C must name it

The third line holds with π = the attacker's belief from everything else. So do the last two,
whatever C is, as long as the noise of Z is independent of C: Pr(Z|v) ≤ R/C(|K|, ω) for every Z.
They are the bounds for guesses from spatial context. The releases of *other* descriptors are part
of C and may tell any amount; ε bounds only what this descriptor's own release adds to them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.errors import InvalidInput

Doubles = NDArray[np.float64]

#: e^ε is needed as a number; at ε = ∞ this differs from certainty by less than 1e-20.
LARGEST = 64.0


def finite_epsilon(epsilon: float) -> float:
    return min(check_epsilon(epsilon, allow_infinite=True), LARGEST)


def gain(epsilon: float, num_words: int, subset_size: int) -> float:
    """R = |K|·e^ε / (ω·e^ε + |K| − ω) ≤ e^ε: the most a release multiplies a guess's chance by."""
    _check(num_words, subset_size)
    odds = math.exp(finite_epsilon(epsilon))
    return num_words * odds / (subset_size * odds + num_words - subset_size)


def uniform_accuracy(epsilon: float, num_words: int, subset_size: int) -> float:
    """p/ω: the best accuracy when every word is equally likely; R times the chance 1/|K|."""
    return gain(epsilon, num_words, subset_size) / num_words


def keep_probability(epsilon: float, num_words: int, subset_size: int) -> float:
    """p: how often the true word is among those sent."""
    return subset_size * uniform_accuracy(epsilon, num_words, subset_size)


def context_accuracy(
    alone: float, chance: float, epsilon: float, num_words: int, subset_size: int
) -> float:
    """The most a guess from Z and a context can be right: min(R·a0, p + (1 − p)·c).

    alone   c, how often the context alone names the true word
    chance  a0, how often the same guess is right with uniform words in place of Z
    """
    kept = keep_probability(epsilon, num_words, subset_size)
    return min(gain(epsilon, num_words, subset_size) * chance, kept + (1 - kept) * alone, 1.0)


def best_accuracy(prior: Doubles, epsilon: float, subset_size: int) -> float:
    """How often the best guess from Z is right, for words drawn from `prior` (|K|,): exact.

    Let π fall with its rank r. The best word of Z has rank r with probability
    q_r = C(|K| − r, ω − 1) / C(|K|, ω) if Z is uniform, and the best guess is that word or the
    most frequent of all, so Σ_Z max_v π(v)·Pr(Z|v) = R·e^−ε · Σ_r q_r · max(e^ε·π_r, π_1).
    """
    falling = -np.sort(-check_prior(prior))
    scale = finite_epsilon(epsilon)
    chance = top_rank_law(len(falling), subset_size)
    best = np.maximum(falling, falling[0] * math.exp(-scale))
    return min(float(gain(epsilon, len(falling), subset_size) * (chance * best).sum()), 1.0)


def chance_accuracy(priors: Doubles, truth: NDArray[Any], epsilon: float, size: int) -> Doubles:
    """a0 of each row: how often the best guess under its prior is right if Z is uniform; exact.

    priors (N, |K|) and true words (N,). Words of equal prior are taken to be chosen alike.
    """
    num_words = priors.shape[1]
    below = np.concatenate([[0.0], np.cumsum(top_rank_law(num_words, size))])
    accuracy = np.zeros(len(priors))
    odds = math.exp(finite_epsilon(epsilon))
    for i, (prior, word) in enumerate(zip(priors, truth, strict=True)):
        own, top = prior[word], prior.max()
        better = int((prior > own).sum())
        equal = int((prior == own).sum())
        if own * odds >= top:  # the true word is the best of Z
            accuracy[i] = (below[better + equal] - below[better]) / equal
        if better == 0:  # it is the most frequent, and nothing in Z can beat it
            accuracy[i] += (1 - below[int((prior * odds >= top).sum())]) / equal
    return accuracy


def top_rank_law(num_words: int, subset_size: int) -> Doubles:
    """q_r, r = 1 … |K|: the chance that the best-ranked of ω uniform words has rank r."""
    _check(num_words, subset_size)
    left = num_words - np.arange(1, num_words, dtype=np.float64)  # |K| − r
    ratio = np.maximum(left - subset_size + 1, 0) / left
    return np.concatenate([[1.0], np.cumprod(ratio)]) * subset_size / num_words


def check_prior(prior: Any) -> Doubles:
    """A law over the words: not negative, sum one."""
    values = np.asarray(prior, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2:
        raise InvalidInput(f"a prior must have shape (words,), got {values.shape}.")
    if not (values.min() >= 0 and abs(values.sum() - 1) < 1e-6):
        raise InvalidInput(
            f"a prior must not be negative and sum to 1, got a sum of {values.sum():g}."
        )
    return values


def _check(num_words: int, subset_size: int) -> None:
    check_count("num_words", num_words, low=2)
    check_count("subset_size", subset_size, low=1, high=num_words - 1)
