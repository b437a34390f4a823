"""The clustering attack: no word is known, but many lifts share their words. [ldp-feat §4.2]

What is near a subspace lies around the descriptor or around one of its ⌊m/2⌋ words. Other
subspaces that pass through the same words meet this one in them, and hardly ever in the
descriptor: the cluster that no other subspace comes near is the descriptor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered, check_kind, with_keypoints
from sfumato.adversary.recover.database import weighted_mean
from sfumato.adversary.recover.geometry import (
    FLOOR,
    Lifted,
    blocks,
    database_points,
    nearest_of_each,
    tolerance_of,
)
from sfumato.core.checks import check_count
from sfumato.core.errors import Mismatch
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import Release, SubspaceRelease
from sfumato.dictionary import Dictionary
from sfumato.matching.subspace import Subspaces, closer_than

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

_ROUNDS = 20


@with_keypoints
def clustering_attack(
    release: Release,
    *,
    database: Dictionary | NDArray[Any],
    others: Sequence[Release] = (),
    num_adversarial: int | None = None,
    num_neighbours: int = 50,
    tolerance: float | None = None,
    seed: int = 0,  # noqa: ARG001  one signature for all attacks
    progress: Progress = silent,
) -> Recovered:
    """Cluster what is near a subspace; the cluster no other subspace passes is the descriptor's.

    The |V| nearest of Z fall into ⌊m/2⌋ + 1 groups; each gives a candidate
    d̂_i = P_D( Σ_{v in group i} v/dist(D, v) / Σ 1/dist(D, v) )               [ldp-feat, eq. 2]
    (printed there with v_i for v_j), moved along D to unit length. With Q′ the other subspaces
    that meet D, the answer is the d̂_i with the largest min_{Q′} dist(d̂_i, Q′).

    database         Z, public descriptors: (P, n) or a Dictionary
    others           |Q|: further releases lifted with the same words; the other keypoints of this
                     picture are used too. A word is shared with probability
                     1 − exp(−|Q|·(m/2)/|W_sub|), so many are needed
    num_adversarial  words per subspace, by default ⌊m/2⌋
    num_neighbours   |V|
    tolerance        what counts as meeting; by default 1e-3, 0.03 for float16 releases
    seed             not used: groups start from the farthest points
    Confidence: 1 − second best score / best score; 1/groups where no subspace meets this one.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> release = sf.SubspaceLifting("random", 2).release(features, rng=sf.SeededRandom(1))
    >>> public = sf.Dictionary.load("bsds-16k")
    >>> sf.attacks.clustering(release, database=public)
    Recovered(16 descriptors, 0 certified)
    """
    lifted = check_kind(release, SubspaceRelease, "clustering")
    further = [check_kind(other, SubspaceRelease, "clustering") for other in others]
    for other in further:
        if (other.extractor, other.offsets.shape[1]) != (
            lifted.extractor,
            lifted.offsets.shape[1],
        ):
            raise Mismatch(
                f"the other subspaces hold {other.extractor!r} descriptors, the release "
                f"{lifted.extractor!r}; give lifts of the same extractor."
            )
    if num_adversarial is None:
        num_adversarial = lifted.dimension // 2
    check_count("num_adversarial", num_adversarial, low=0, high=lifted.dimension)
    check_count("num_neighbours", num_neighbours, low=1)
    points = database_points(database, lifted)
    candidates, weights = _candidates(lifted, points, num_adversarial + 1, num_neighbours, progress)
    scores = _distance_to_others(lifted, further, candidates, tolerance, progress)
    return _choose(candidates, weights, scores)


def _candidates(
    release: SubspaceRelease,
    points: NDArray[np.float32],
    num_groups: int,
    num_neighbours: int,
    progress: Progress,
) -> tuple[Doubles, Doubles]:
    """One point of D per group, (N, groups, n), and the weight of each group, 0 if it is empty."""
    rows = nearest_of_each(release, points, num_neighbours, progress)
    subspaces = Lifted.of(release)
    total, ambient = release.offsets.shape
    candidates = np.zeros((total, num_groups, ambient))
    weights = np.zeros((total, num_groups))
    for i in range(total):
        own = subspaces.take([i])
        near = points[rows[i]].astype(np.float64)
        distance = own.distances(near[None])[0]
        label = group(near, num_groups)
        for g in range(num_groups):
            members = label == g
            if members.any():
                weights[i, g] = (1 / np.maximum(distance[members], FLOOR)).sum()
                candidates[i, g] = weighted_mean(near[members], distance[members])
    return subspaces.on_sphere(candidates) if total else candidates, weights


def group(points: Doubles, num_groups: int) -> Rows:
    """k-means that starts from points far from each other: the same answer for the same points."""
    centres = points[:1].copy()
    for _ in range(1, min(num_groups, len(points))):
        away = ((points[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1)
        centres = np.concatenate([centres, points[away.argmax()][None]])
    label = np.full(len(points), -1, dtype=np.int64)
    for _ in range(_ROUNDS):
        product = points @ centres.T
        fresh = (product - (centres**2).sum(axis=1) / 2).argmax(axis=1)
        if np.array_equal(fresh, label):
            break
        label = fresh
        for g in range(len(centres)):
            if (label == g).any():
                centres[g] = points[label == g].mean(axis=0)
    return label


def meeting_pairs(
    release: SubspaceRelease,
    other: SubspaceRelease,
    tolerance: float,
    progress: Progress = silent,
) -> tuple[Rows, Rows]:
    """Q′: pairs (row, row of the other release) of subspaces that meet; never a row with itself."""
    pairs = []
    prepared = Subspaces(other.offsets, other.bases)
    for rows in blocks(len(release)):
        few = Subspaces(release.offsets[rows], release.bases[rows])
        row, column, _ = closer_than(few, prepared, tolerance)
        pairs.append((row + rows.start, column))
        progress("looking for shared words", rows.stop, len(release))
    none = np.zeros(0, dtype=np.int64)
    row, column = (np.concatenate([none, *part]) for part in zip(*pairs, strict=True))
    different = row != column if other is release else np.ones(len(row), dtype=np.bool_)
    return row[different], column[different]


def _distance_to_others(
    release: SubspaceRelease,
    others: list[SubspaceRelease],
    candidates: Doubles,
    tolerance: float | None,
    progress: Progress,
) -> Doubles:
    """min over Q′ of the distance to each candidate, (N, groups); ∞ where nothing meets D."""
    zero = tolerance_of(release, tolerance)
    scores = np.full(candidates.shape[:2], np.inf)
    for other in [release, *others] if len(release) else []:
        row, column = meeting_pairs(release, other, zero, progress)
        lifted = Lifted.of(other)
        for start in range(0, len(row), 1024):
            part = slice(start, start + 1024)
            distance = lifted.take(column[part]).distances(candidates[row[part]])
            np.minimum.at(scores, row[part], distance)
    return scores


def _choose(candidates: Doubles, weights: Doubles, scores: Doubles) -> Recovered:
    total, num_groups, _ = candidates.shape
    if not total:
        empty = np.zeros((0, candidates.shape[2]), dtype=np.float32)
        return Recovered(empty, np.zeros(0, dtype=np.float32))
    met = np.isfinite(scores[:, 0])
    merit = np.where(weights > 0, np.where(met[:, None], scores, weights), -1.0)
    ranked = np.sort(merit, axis=1)[:, ::-1]
    best = merit.argmax(axis=1)
    confidence = np.full(total, 1 / num_groups)
    if num_groups > 1:
        margin = 1 - np.maximum(ranked[:, 1], 0) / np.maximum(ranked[:, 0], FLOOR)
        confidence[met] = np.clip(margin[met], 0, 1)
    chosen = candidates[np.arange(total), best]
    return Recovered(chosen.astype(np.float32), confidence.astype(np.float32))
