"""History: what a server that keeps all authentications of one person learns. [affine §5]

Fresh lifts of one embedding meet in it, so two are enough. Lifts of several pictures of one person
nearly meet, in something near to all of them. Parallel subspaces, as a memoised lift gives them,
never meet: together they say no more than one alone. Words vote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered, with_keypoints
from sfumato.adversary.recover.bounds import finite_epsilon
from sfumato.adversary.recover.geometry import Lifted, database_points, nearest_of_each
from sfumato.adversary.recover.posterior import dictionary_of, lots
from sfumato.adversary.recover.repeats import repeats_attack
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.progress import silent
from sfumato.core.releases import KeypointRelease, Release, SubspaceRelease, WordRelease
from sfumato.dictionary import Dictionary

Doubles = NDArray[np.float64]

#: How far an embedding is expected from the mean of all faces, against how far from a subspace
#: that another picture of the same person was lifted to: the ratio of the two variances.
RIDGE = 0.01
#: How sure `repeats_attack` is where subspaces meet in a line: it takes one of two points.
MEET_IN_A_LINE = 0.5
_NEIGHBOURS = 10
_SAME = 1e-3
_NOT_SURE = np.zeros(1, dtype=np.float32)


@with_keypoints
def history_attack(
    releases: Sequence[Release],
    *,
    dictionary: Dictionary | None = None,
    public: NDArray[Any] | None = None,
    tolerance: float | None = None,
    seed: int = 0,
) -> Recovered:
    """The embedding behind k releases of one face each, all of the same person.

    Subspaces that meet in one point of unit length: that point, certified; in a line through one
    of the public faces: its other point of unit length, certified. Otherwise
    x = argmin Σ_k dist(x, D_k)² + RIDGE·‖x‖², brought to unit length; for one span only, the mean
    of the points on the sphere towards the public faces nearest to each. Words: most votes.

    dictionary  the public words; for words only
    public      (P, n) public faces, those of the lifting among them; without them, a guess within
                a single span or on a line is arbitrary
    seed        decides between words with equally many votes

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> face = sf.extract(picture, max_keypoints=1)
    >>> lifting = sf.SubspaceLifting("random", 4)
    >>> kept = [lifting.release(face, rng=sf.SeededRandom(seed)) for seed in (1, 2)]
    >>> sf.attacks.history(kept)
    Recovered(1 descriptors, 1 certified)
    """
    rows = [len(release) for release in releases if isinstance(release, KeypointRelease)]
    if not releases or rows != [1] * len(releases):
        raise InvalidInput(
            "a history is of releases of one face each, of words or subspaces, at least one."
        )
    lifts = [release for release in releases if isinstance(release, SubspaceRelease)]
    words = [release for release in releases if isinstance(release, WordRelease)]
    if len(words) == len(releases):
        return _voted(words, dictionary, seed)
    if len(lifts) != len(releases):
        raise Mismatch("a history must be of words or of subspaces, not of both or of others.")
    if len({release.offsets.shape[1] for release in lifts}) != 1:
        raise Mismatch("a history must be of embeddings of one dimension; these are not.")
    points = None if public is None else database_points(public, lifts[0])
    lifted = [Lifted.of(release) for release in lifts]
    if all(_is_parallel(lifted[0], other) for other in lifted[1:]):
        return _within_one_span(lifts, lifted, points)
    met = repeats_attack(lifts, tolerance=tolerance)
    if met.certified[0]:
        return met
    if met.confidence[0] == MEET_IN_A_LINE:
        return _not_the_word(met, lifted, points)
    return Recovered(unit_vectors(_nearly_meet(lifted)[None]).astype(np.float32), _NOT_SURE)


def _voted(releases: Sequence[WordRelease], dictionary: Dictionary | None, seed: int) -> Recovered:
    """The word with most votes, each worth the ε it was sent with.

    Equal answers count as often as they come: of one face, they are what the true word gives. If
    they were memoised, the vote is for the one answer there is, as it would be after the first.
    """
    if dictionary is None:
        raise InvalidInput("votes are for words; give the dictionary they come from.")
    public = dictionary_of(releases[0], dictionary)
    score = np.zeros(public.num_words)
    for release in releases:
        dictionary_of(release, dictionary)  # refuses another one
        score[release.words[0]] += finite_epsilon(release.epsilon)
    best = np.flatnonzero(score >= score.max() - 1e-9)
    chosen = int(best[lots(best[None], seed)[0].argmin()])
    sure = float(np.exp(score[chosen] - np.logaddexp.reduce(score)))
    descriptors = unit_vectors(public.words[chosen][None]).astype(np.float32)
    return Recovered(descriptors, np.array([sure], dtype=np.float32))


def _not_the_word(
    met: Recovered, lifted: list[Lifted], points: NDArray[np.float32] | None
) -> Recovered:
    """Lifts that drew one word alike meet in a line, with two points of unit length.

    One is the word, the other the embedding; whoever has the words knows which.
    """
    shared = np.sum([subspace.bases[0].T @ subspace.bases[0] for subspace in lifted], axis=0)
    along = np.linalg.eigh(shared)[1][:, -1]
    first = met.descriptors[0].astype(np.float64)
    both = unit_vectors(np.stack([first, first - 2 * (first @ along) * along]))
    if points is None:
        return met
    gaps = np.linalg.norm(both[:, None] - points[None], axis=2).min(axis=1)
    is_word = gaps < _SAME
    if is_word.sum() != 1:
        return met
    answer = both[~is_word].astype(np.float32)
    return Recovered(answer, np.ones(1, dtype=np.float32), np.ones(1, dtype=np.bool_))


def _is_parallel(a: Lifted, b: Lifted) -> bool:
    if a.bases.shape != b.bases.shape:
        return False
    values = np.linalg.svd(a.bases[0] @ b.bases[0].T, compute_uv=False)
    return bool(values.min() > 1 - 1e-6)


def _within_one_span(
    lifts: list[SubspaceRelease], lifted: list[Lifted], points: NDArray[np.float32] | None
) -> Recovered:
    """The mean of the guesses from each lift alone: together they say no more."""
    guesses = []
    for release, subspace in zip(lifts, lifted, strict=True):
        target = subspace.points + subspace.bases[:, 0]
        if points is not None:
            near = nearest_of_each(release, points, _NEIGHBOURS, silent)[0]
            target = points[near].astype(np.float64).mean(axis=0)[None]
        guesses.append(subspace.on_sphere(target))
    return Recovered(unit_vectors(np.mean(guesses, axis=0)).astype(np.float32), _NOT_SURE)


def _nearly_meet(lifted: list[Lifted]) -> Doubles:
    ambient = lifted[0].points.shape[1]
    matrix, target = RIDGE * np.eye(ambient), np.zeros(ambient)
    for subspace in lifted:
        matrix += np.eye(ambient) - subspace.bases[0].T @ subspace.bases[0]
        target += subspace.points[0]  # orthogonal to its subspace: already what is left of it
    return np.asarray(np.linalg.solve(matrix, target))
