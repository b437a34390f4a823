"""The database attack: whoever knows the words of a lifting takes them out again. [ldp-feat §4.1]

A subspace was drawn through the descriptor d and ⌊m/2⌋ words of a database W. Those words are at
distance zero, so they are found exactly; what else is near the subspace is near d.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered, check_kind, with_keypoints
from sfumato.adversary.recover.geometry import (
    FLOOR,
    Lifted,
    database_points,
    nearest_of_each,
    tolerance_of,
)
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import Release, SubspaceRelease
from sfumato.dictionary import Dictionary

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """What of a database lies near each subspace, nearest first.

    rows       (N, k) rows of the database
    distances  (N, k) in double precision
    is_word    (N, k) at distance zero and of the picture's sub-database: used by the lifting
    part       the sub-database of the picture, None where it cannot be known
    """

    rows: Rows
    distances: Doubles
    is_word: NDArray[np.bool_]
    part: int | None


@with_keypoints
def database_attack(
    release: Release,
    *,
    database: Dictionary | NDArray[Any],
    num_sub_databases: int = 16,
    num_neighbours: int = 50,
    num_used: int = 10,
    tolerance: float | None = None,
    seed: int = 0,  # noqa: ARG001  one signature for all attacks
    progress: Progress = silent,
) -> Recovered:
    """Find the words W that a lifting used, and average what else is near the subspace.

    The words at distance 0 are the adversarial â. Of the next |V| nearest the |U| farthest from
    all â (largest min_j ‖â_j − v‖) are kept, and
    d̂ = P_D( Σ_U u/dist(D, u) / Σ_U 1/dist(D, u) )                            [ldp-feat, eq. 1]
    moved along D to unit length.

    database           W, the words the lifting drew from: a Dictionary or (P, n)
    num_sub_databases  parts of W (word i lies in part i mod count); 1 if there are none. The part
                       of the picture is found from its words, and zeros of other parts are chance
    num_neighbours     |V|
    num_used           |U|
    tolerance          what counts as distance 0; by default 1e-3, 0.03 for float16 releases
    seed               not used: nothing is random here
    Confidence: 1 − d̂'s distance to the nearest of W used / distance to the nearest â.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> words = sf.Dictionary.load("bsds-16k")
    >>> release = sf.SubspaceLifting("hybrid", 2, words).release(features, rng=sf.SeededRandom(1))
    >>> sf.attacks.database(release, database=words, num_sub_databases=1)
    Recovered(16 descriptors, 0 certified)
    """
    lifted = check_kind(release, SubspaceRelease, "database")
    check_count("num_used", num_used, low=1, high=num_neighbours)
    points = database_points(database, lifted)
    subspaces = Lifted.of(lifted)
    near = neighbours_of(
        lifted,
        points,
        num_neighbours=num_neighbours,
        num_sub_databases=num_sub_databases,
        tolerance=tolerance,
        progress=progress,
    )
    descriptors = np.zeros(lifted.offsets.shape, dtype=np.float32)
    confidence = np.zeros(len(lifted), dtype=np.float32)
    for i in range(len(lifted)):
        words = points[near.rows[i, near.is_word[i]]].astype(np.float64)
        others = np.flatnonzero(~near.is_word[i])[:num_neighbours]
        if not len(others):
            others = np.arange(near.rows.shape[1])  # the whole database was at distance zero
        around = points[near.rows[i, others]].astype(np.float64)
        used = farthest_from(words, around, num_used)
        estimate = weighted_mean(around[used], near.distances[i, others][used])
        descriptor = subspaces.take([i]).on_sphere(estimate[None])[0]
        descriptors[i] = descriptor
        confidence[i] = _confidence(descriptor, around[used], words)
    return Recovered(descriptors, confidence)


def neighbours_of(
    release: SubspaceRelease,
    points: NDArray[np.float32],
    *,
    num_neighbours: int = 50,
    num_sub_databases: int = 16,
    tolerance: float | None = None,
    progress: Progress = silent,
) -> Neighbours:
    """The words of the lifting and the next |V| descriptors near each subspace."""
    check_count("num_neighbours", num_neighbours, low=1)
    check_count("num_sub_databases", num_sub_databases, low=1)
    zero = tolerance_of(release, tolerance)
    if not zero > 0:
        raise InvalidInput(f"tolerance must be above 0, got {tolerance!r}.")
    # All m directions may be adversarial; float32 could rank a zero behind a close neighbour.
    count = num_neighbours + 2 * release.dimension
    rows = nearest_of_each(release, points, count, progress)
    subspaces = Lifted.of(release)
    distances = np.zeros(rows.shape)
    for start in range(0, len(rows), 256):
        part = slice(start, start + 256)
        near = points[rows[part]].astype(np.float64)
        distances[part] = subspaces.take(part).distances(near)
    order = np.argsort(distances, axis=1, kind="stable")
    rows, distances = np.take_along_axis(rows, order, 1), np.take_along_axis(distances, order, 1)
    is_word = distances < zero
    part_used = _sub_database(rows[is_word], num_sub_databases)
    if part_used is not None:
        is_word &= rows % num_sub_databases == part_used
    # No subspace passes through more than m words; the surplus is chance.
    is_word &= np.cumsum(is_word, axis=1) <= release.dimension
    return Neighbours(rows, distances, is_word, part_used)


def _sub_database(words: Rows, num_sub_databases: int) -> int | None:
    """The part most words of the picture lie in, if it holds more than half of them.

    Without sub-databases the words lie in all parts alike, and none is singled out.
    """
    if num_sub_databases == 1 or len(words) < 4:
        return None
    votes = np.bincount(words % num_sub_databases, minlength=num_sub_databases)
    best = int(votes.argmax())
    return best if 2 * votes[best] > len(words) else None


def farthest_from(words: Doubles, points: Doubles, count: int) -> Rows:
    """The rows of the points farthest from all words; the first ones where there are no words."""
    if not len(words):
        return np.arange(min(count, len(points)))
    away = np.linalg.norm(points[:, None] - words[None], axis=2).min(axis=1)
    return np.argsort(-away, kind="stable")[:count]


def weighted_mean(points: Doubles, distances: Doubles) -> Doubles:
    """Σ u/dist / Σ 1/dist; distances are floored."""
    weight = 1 / np.maximum(distances, FLOOR)
    return np.asarray(weight @ points / weight.sum())


def _confidence(descriptor: Doubles, used: Doubles, words: Doubles) -> float:
    if not len(words):
        return 0.5
    own = np.linalg.norm(used - descriptor, axis=1).min()
    other = np.linalg.norm(words - descriptor, axis=1).min()
    return float(np.clip(1 - own / max(other, FLOOR), 0, 1))
