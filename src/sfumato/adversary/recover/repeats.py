"""Repeats: what the same picture gives away when it is released more than once.

Two lifts of one descriptor are two subspaces that meet in it. Repeated LDP answers vote: the true
word comes again, the others are drawn anew. Memoised releases answer alike every time and teach
nothing new; a ledger refuses before the votes suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered, with_keypoints
from sfumato.adversary.recover.bounds import finite_epsilon
from sfumato.adversary.recover.meeting import meeting_points
from sfumato.adversary.recover.posterior import dictionary_of, lots, prior_of
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import KeypointRelease, Release, SubspaceRelease, WordRelease
from sfumato.dictionary import Dictionary

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Vote:
    """The word with most votes at each row of the first release.

    words        (N,) int64
    probability  (N,) posterior probability; approximate where keypoints share a position
    is_alone     (N,) no other word has as many votes
    """

    words: Rows
    probability: Doubles
    is_alone: NDArray[np.bool_]


@with_keypoints
def repeats_attack(
    releases: Sequence[Release],
    *,
    dictionary: Dictionary | None = None,
    prior: NDArray[Any] | None = None,
    tolerance: float | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Recovered:
    """Combine releases of one picture; rows are those of the first, found again by position.

    Subspaces: the point x with least Σ_k dist(x, D_k)². Certified: the subspaces of a keypoint
    that is alone at its position meet in one single point, and it has unit length.
    Words: the largest posterior log π(v) + Σ_k ε_k·[v ∈ Z_k], exact from ε, |K| and ω.

    dictionary  the public words; for words only
    prior       (|K|,) frequencies of words, uniform by default; for words only
    tolerance   what counts as meeting; for subspaces only
    seed        decides between words with equally many votes
    Equal releases count once: the same bytes sent again, or memoised answers.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> lifting = sf.SubspaceLifting("random", 2)
    >>> again = [lifting.release(features, rng=sf.SeededRandom(seed)) for seed in (1, 2)]
    >>> sf.attacks.repeats(again)
    Recovered(16 descriptors, 6 certified)
    """
    if not releases:
        raise InvalidInput("the repeats attack needs at least one release, got none.")
    kinds = {getattr(release, "kind", type(release).__name__) for release in releases}
    if len(kinds) > 1:
        raise Mismatch(f"repeats must be of one kind, got {', '.join(sorted(kinds))}.")
    words = [release for release in releases if isinstance(release, WordRelease)]
    if words:
        if dictionary is None:
            raise InvalidInput("votes are for words; give the dictionary they come from.")
        public = dictionary_of(words[0], dictionary)
        vote = vote_words(words, prior=prior, seed=seed)
        return Recovered(
            unit_vectors(public.words[vote.words]).astype(np.float32),
            vote.probability.astype(np.float32),
        )
    lifts = [release for release in releases if isinstance(release, SubspaceRelease)]
    if not lifts:
        raise InvalidInput(
            f"the repeats attack needs releases of words or subspaces, got {kinds.pop()}."
        )
    return meeting_points(lifts, rows_by_position(lifts), tolerance=tolerance, progress=progress)


def vote_words(
    releases: Sequence[WordRelease], *, prior: NDArray[Any] | None = None, seed: int = 0
) -> Vote:
    """The likeliest word of each row after all releases.

    Keypoints that share a position cannot be told apart between releases: their votes are
    pooled, and the g best words go to the g rows, each to a row that sent it where possible.
    """
    first = releases[0]
    for other in releases:
        if other.dictionary != first.dictionary or other.num_words != first.num_words:
            raise Mismatch("repeated releases must be of one dictionary; they are not.")
        if other.image_size != first.image_size:
            raise Mismatch("repeated releases must be of one picture; their sizes differ.")
    distinct = [
        release
        for k, release in enumerate(releases)
        if not any(_same_answers(release, earlier) for earlier in releases[:k])
    ]
    law = prior_of(first, prior)
    words = np.zeros(len(first), dtype=np.int64)
    probability = np.zeros(len(first))
    is_alone = np.zeros(len(first), dtype=np.bool_)
    weights = [finite_epsilon(release.epsilon) for release in distinct]
    for group in rows_by_position(distinct):
        sent = [release.words[rows].ravel() for release, rows in zip(distinct, group, strict=True)]
        heard, place = np.unique(np.concatenate(sent).astype(np.int64), return_inverse=True)
        each = np.repeat(np.array(weights), [len(part) for part in sent])
        votes = np.bincount(place, weights=each)
        score = np.asarray(votes + np.log(np.maximum(law[heard], 1e-300)), dtype=np.float64)
        most = score.max()
        unheard = np.log(max(1 - law[heard].sum(), 1e-300))
        total = np.logaddexp(np.logaddexp.reduce(score), unheard)
        chosen = _assign(first.words[group[0]], heard, score, seed)
        words[group[0]] = heard[chosen]
        probability[group[0]] = np.exp(score[chosen] - total)
        is_alone[group[0]] = (score >= most - 1e-9).sum() <= len(group[0])
    return Vote(words, np.clip(probability, 0, 1), is_alone)


def _assign(sent: NDArray[Any], heard: Rows, score: Doubles, seed: int) -> Rows:
    """For each of g rows that sent these words, one of the g best words, different ones."""
    order = np.lexsort((lots(heard[None], seed)[0], -np.round(score, 9)))
    best = [int(word) for word in order[: len(sent)]]
    result = np.full(len(sent), -1, dtype=np.int64)
    for row in range(len(sent)):
        own = [word for word in best if heard[word] in sent[row]]
        if own:
            result[row] = own[0]
            best.remove(own[0])
    for empty in np.flatnonzero(result < 0):
        result[empty] = best.pop(0) if best else int(order[0])
    return result


def _same_answers(a: KeypointRelease, b: KeypointRelease) -> bool:
    return (
        isinstance(a, WordRelease)
        and isinstance(b, WordRelease)
        and np.array_equal(a.keypoints, b.keypoints)
        and np.array_equal(a.words, b.words)
    )


def rows_by_position(releases: Sequence[KeypointRelease]) -> list[list[Rows]]:
    """For every position of the first release, its rows in each of the releases."""
    groups: dict[bytes, list[list[int]]] = {}
    for k, release in enumerate(releases):
        if release.image_size != releases[0].image_size:
            raise Mismatch("repeated releases must be of one picture; their sizes differ.")
        for row, position in enumerate(release.keypoints):
            key = position.tobytes()
            if k == 0 or key in groups:
                groups.setdefault(key, [[] for _ in releases])[k].append(row)
    return [[np.array(rows, dtype=np.int64) for rows in group] for group in groups.values()]
