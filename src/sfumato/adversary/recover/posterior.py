"""The best guess of the true word behind an LDP release: Bayes, and nothing better exists.

Pr(v | Z) ∝ π(v)·e^ε for the words sent and π(v) for all others. With a uniform prior the guess is
any word of Z; with frequencies or with spatial context the likeliest one. What ε allows each of
them is in `bounds.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered, check_kind, with_keypoints
from sfumato.adversary.recover.bounds import check_prior, finite_epsilon
from sfumato.adversary.recover.context import WordContext, context_priors
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import Release, WordRelease
from sfumato.dictionary import Dictionary

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

_BLOCK = 64


@dataclass(frozen=True, eq=False)
class Guess:
    """The likeliest true word of each row.

    words        (N,) int64
    probability  (N,) its posterior probability under the prior that was used
    """

    words: Rows
    probability: Doubles


@with_keypoints
def posterior_attack(
    release: Release,
    *,
    dictionary: Dictionary,
    prior: NDArray[Any] | None = None,
    context: WordContext | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Recovered:
    """Answer each keypoint of a WordRelease with the vector of its likeliest word.

    dictionary  the public words
    prior       (|K|,) how frequent each word is; uniform if not given
    context     neighbouring words of public pictures (`learn_context`); replaces the prior
    seed        decides between equally likely words, by the content of the row
    Confidence: the posterior probability of that word.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> words = sf.Dictionary.load("bsds-16k")
    >>> release = sf.SubsetMechanism(8, 2, words).release(features, rng=sf.SeededRandom(1))
    >>> sf.attacks.posterior(release, dictionary=words)
    Recovered(16 descriptors, 0 certified)
    """
    words = check_kind(release, WordRelease, "posterior")
    public = dictionary_of(words, dictionary)
    guess = guess_words(words, prior=prior, context=context, seed=seed, progress=progress)
    return Recovered(
        unit_vectors(public.words[guess.words]).astype(np.float32),
        guess.probability.astype(np.float32),
    )


def guess_words(
    release: WordRelease,
    *,
    prior: NDArray[Any] | None = None,
    context: WordContext | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Guess:
    """The likeliest true word of each row, and its posterior probability.

    Pr(v | Z) = π(v)·e^(ε·[v ∈ Z]) / (1 + (e^ε − 1)·π(Z))
    """
    total = len(release)
    if prior is not None and context is not None:
        raise InvalidInput("give a prior or a context, which carries its own; not both.")
    if context is None:
        law = prior_of(release, prior)
        return best_guess(release, np.arange(total), law[None], seed)
    guesses = []
    for start in range(0, total, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, total))
        guesses.append(best_guess(release, rows, context_priors(release, context, rows), seed))
        progress("reading the context", int(rows[-1]) + 1, total)
    return Guess(
        np.concatenate([np.zeros(0, dtype=np.int64), *(part.words for part in guesses)]),
        np.concatenate([np.zeros(0), *(part.probability for part in guesses)]),
    )


def prior_of(release: WordRelease, prior: NDArray[Any] | None) -> Doubles:
    """The prior given, checked, or the uniform one."""
    if prior is None:
        return np.full(release.num_words, 1 / release.num_words)
    law = check_prior(prior)
    if len(law) != release.num_words:
        raise Mismatch(f"the prior has {len(law)} words, the release {release.num_words}.")
    return law


def best_guess(release: WordRelease, rows: Rows, priors: Doubles, seed: int) -> Guess:
    """The likeliest words of these rows under priors (R, |K|), or (1, |K|) for all rows alike."""
    odds = math.exp(finite_epsilon(release.epsilon))
    sent = release.words[rows].astype(np.int64)
    place = np.arange(len(rows)) if len(priors) == len(rows) else np.zeros(len(rows), dtype=int)
    inside = priors[place[:, None], sent]
    slot = first_of_equals(inside, sent, seed)
    best, chance = sent[np.arange(len(rows)), slot], inside[np.arange(len(rows)), slot] * odds
    top = priors.argmax(axis=1)[place]
    outside = priors[place, top]
    is_outside = (outside > chance) & (top[:, None] != sent).all(axis=1)
    total = 1 + (odds - 1) * inside.sum(axis=1)
    return Guess(
        np.where(is_outside, top, best),
        np.minimum(np.where(is_outside, outside, chance) / total, 1.0),
    )


def first_of_equals(values: Doubles, sent: Rows, seed: int) -> Rows:
    """The column of the largest value of each row; equals are drawn by a hash of the row.

    The lowest index would favour some words over others; a generator would make the answer
    depend on the order of the rows.
    """
    drawn = lots(sent, seed)
    drawn[values < values.max(axis=1, keepdims=True, initial=-np.inf)] = 0
    return np.asarray(drawn.argmax(axis=1))


def lots(sent: Rows, seed: int) -> NDArray[np.uint64]:
    """A number above 0 for every word of every row, as if drawn, from all words of the row."""
    state = np.full(len(sent), seed & (2**64 - 1), dtype=np.uint64)
    for column in sent.astype(np.uint64).T:
        state = _mix(state ^ column)
    return _mix(state[:, None] ^ sent.astype(np.uint64)) | np.uint64(1)


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64: every bit of the input moves every bit of the output."""
    with np.errstate(over="ignore"):
        value = value + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return value ^ (value >> np.uint64(31))


def dictionary_of(release: WordRelease, dictionary: Dictionary) -> Dictionary:
    """The dictionary, or its level, that a release was made with; another one is refused."""
    if dictionary.num_words != release.num_words and release.num_words in dictionary.levels:
        dictionary = dictionary.at(release.num_words)
    if dictionary.fingerprint != release.dictionary:
        raise Mismatch(
            "the release was made with another dictionary; give the one whose fingerprint begins "
            f"with {release.dictionary[:12]}."
        )
    if dictionary.metric != "l2":
        raise Mismatch(f"words of {dictionary.extractor} are packed bits and have no unit length.")
    return dictionary
