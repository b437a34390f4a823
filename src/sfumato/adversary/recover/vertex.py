"""The vertex attack: SIFT out of a lifted subspace, with no database at all.

SIFT is a vector of whole numbers k ∈ {0, …, 255}¹²⁸ before it is scaled to unit length. The
subspace that hides d = k/‖k‖ therefore holds, in the linear span of its offset and basis, a
short vector of whole numbers, and lattice reduction finds it (`lattice.py`). For RootSIFT
d² = k/|k|₁ is whole after scaling, and d² lies in the span of all products of two of the
m + 1 spanning vectors. What is on no lattice is searched by its exact zeros (`zeros.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered, check_kind, with_keypoints
from sfumato.adversary.recover.choose_descriptor import (
    Candidates,
    are_unrelated,
    chances,
    held_twice,
)
from sfumato.adversary.recover.geometry import database_points
from sfumato.adversary.recover.lattice import Precision, WholeVectors, whole_vectors
from sfumato.adversary.recover.zeros import sparsest_point
from sfumato.core.geometry import unit_vectors
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import Release, SubspaceRelease
from sfumato.core.threads import single_threaded_products
from sfumato.dictionary import Dictionary
from sfumato.execution import current

Doubles = NDArray[np.float64]
Whole = NDArray[np.int64]

#: k is 512·d rounded, so ‖k‖ differs from 512 by at most ‖(½, …, ½)‖ = √128/2 < 5.7.
SIFT_LENGTH, SIFT_SPREAD = 512.0, 5.7
MAX_LENGTH = SIFT_LENGTH + SIFT_SPREAD
#: Extractors whose descriptors are SIFT's whole numbers, or come from them.
WHOLE = ("sift", "sift-harris", "rootsift")

#: Shares of rows, of real pictures none, that hold no whole vector or share it with another.
_MAX_EMPTY, _MAX_SHARED = 0.1, 0.003
_BLOCK = 16
_STARTS = 60
#: How far from zero a zero may be: exactly sent, as float16, moved by noise.
_TOLERANCES = (1e-5, 1e-3, 6e-3)
_SURE_SURPLUS = 3  # zeros beyond m that do not meet by chance
#: Root mean square error of k in a subspace sent as float32 (at most 1.3e-5 in 300 lifts at
#: each m ≤ 64, RootSIFT alike) and as float16 (.02 at m = 2, .03 at 4, .05 at 16).
_FINE, _COARSE = 2e-5, 0.03
#: Coarse relations carry few bits each; more of them help until reduction gets too slow.
_COARSE_RELATIONS = 60
_COARSE_LIMIT = 20  # dimensions beyond which the coarse lattice has shorter vectors than k


@dataclass(frozen=True)
class _Row:
    """What one row may be: whole vectors, or if there are none a point with many zeros."""

    vectors: Whole  # (c, n)
    complete: bool  # proven that there are no others
    point: Doubles  # (n,), of unit length
    trust: float  # in the point


@with_keypoints
def vertex_attack(
    release: Release,
    *,
    database: Dictionary | NDArray[Any] | None = None,
    context: bool = True,
    seed: int = 0,
    progress: Progress = silent,
) -> Recovered:
    """Recover the descriptors of a SubspaceRelease exactly, from the subspaces alone.

    A certified answer is the only vector of whole numbers of SIFT's length in its subspace:
    proven by the reduced lattice, not guessed. It is the descriptor if that is SIFT as OpenCV
    gives it; a release that shows otherwise gets no certificates. Where words of whole numbers
    share the subspace, the answer is the likeliest and its chance the confidence (`choice.py`).

    database  the words used for lifting, if the attacker has them: a whole vector that is one
              of them is ruled out. Not needed where words are averages.
    context   weigh a vector also by the other rows and their positions; without it every row
              is judged on its own

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> release = sf.SubspaceLifting("random", 2).release(features, rng=sf.SeededRandom(1))
    >>> sf.attacks.vertex(release)
    Recovered(16 descriptors, 16 certified)
    """
    lifted = check_kind(release, SubspaceRelease, "vertex")
    count, ambient = lifted.offsets.shape
    if not count:
        return Recovered(np.zeros((0, ambient), dtype=np.float32), np.zeros(0, dtype=np.float32))
    rows: list[_Row] = []
    with single_threaded_products():
        for block in current().map(_attack_rows, _blocks(count), lifted, seed):
            rows.extend(block)
            progress("recovering descriptors", len(rows), count)
    kept = [_like_descriptors(row.vectors, lifted) for row in rows]
    if database is not None:
        kept = _without_words(kept, database_points(database, lifted), lifted)
    descriptors = np.zeros((count, ambient), dtype=np.float32)
    confidence = np.zeros(count, dtype=np.float32)
    sizes = np.array([len(vectors) for vectors in kept], dtype=np.int64)
    ends = np.cumsum(sizes)
    pool = Candidates(
        np.concatenate([np.zeros((0, ambient), dtype=np.int64), *kept]),
        np.repeat(np.arange(count), sizes),
        lifted.keypoints.astype(np.float64),
    )
    chance = chances(pool, context=context)
    certified, altered = _certified(rows, pool, sizes)
    certified &= lifted.extractor in WHOLE
    most = 0.5 if altered else 0.98  # words that pass for descriptors deserve no trust
    for i, row in enumerate(rows):
        if not sizes[i]:
            descriptors[i], confidence[i] = row.point, row.trust
            continue
        mine = slice(ends[i] - sizes[i], ends[i])
        best = int(np.argmax(chance[mine]))
        descriptors[i] = _scaled(pool.vectors[mine][best : best + 1], lifted)[0]
        confidence[i] = 1.0 if certified[i] else most * chance[mine][best]
    return Recovered(descriptors, confidence, certified)


def _blocks(count: int) -> Iterator[range]:
    return (range(start, min(start + _BLOCK, count)) for start in range(0, count, _BLOCK))


def _attack_rows(lifted: SubspaceRelease, seed: int, rows: Sequence[int]) -> list[_Row]:
    return [_attack_row(lifted, row, seed) for row in rows]


def _attack_row(release: SubspaceRelease, row: int, seed: int) -> _Row:
    offset, basis = _canonical(release.offsets[row], release.bases[row])
    dimension, ambient = basis.shape
    generator = np.random.default_rng(seed)  # the same for every row: their order is nothing
    order = generator.permutation(ambient)
    for precision, tolerance in _precisions(release):
        found = _whole_in(offset, basis, precision, order, release.extractor == "rootsift")
        vectors = _inside(found.vectors, offset, basis, release, tolerance)
        if len(vectors):
            return _Row(vectors, found.complete, offset, 0.0)
    starts = unit_vectors(generator.normal(size=(_STARTS, dimension)))
    nothing = np.zeros((0, ambient), dtype=np.int64)
    return _Row(nothing, False, *_by_zeros(offset, basis, starts))


def _by_zeros(offset: Doubles, basis: Doubles, starts: Doubles) -> tuple[Doubles, float]:
    """The point with the most zeros beyond m, and trust in it: exact ones say more."""
    best, most = sparsest_point(offset, basis, starts, _TOLERANCES[0]), 0.9
    for tolerance in _TOLERANCES[1:]:
        if best.surplus < _SURE_SURPLUS:  # zeros may have been moved a little
            wider = sparsest_point(offset, basis, starts, tolerance)
            best, most = (wider, 0.5) if wider.surplus > best.surplus else (best, most)
    return best.point, most * (1 - 0.5 ** max(best.surplus, 0))


def _precisions(release: SubspaceRelease) -> Iterator[tuple[Precision, float]]:
    """Precisions to try, and how far from the subspace a whole vector may then lie."""
    root = release.extractor == "rootsift"
    spanning = release.dimension + 1
    if root:
        spanning = spanning * (spanning + 1) // 2
    if release.offsets.dtype == np.float32:
        # Enough relations to prove completeness; their number is what reduction costs.
        yield Precision(_FINE, 10 + spanning * (3 if spanning < 20 else 4) // 2), 1e-5
    if spanning <= _COARSE_LIMIT:
        # float16 on the wire, or numbers that were rounded before they came here
        yield Precision(_COARSE, _COARSE_RELATIONS), 3e-3


def _whole_in(
    offset: Doubles, basis: Doubles, precision: Precision, order: NDArray[np.int64], root: bool
) -> WholeVectors:
    """Whole vectors in the span of the subspace, or of its products for RootSIFT."""
    height = max(float(np.linalg.norm(offset)), 1e-12)
    spanning = np.concatenate([offset[None] / height, basis])
    if root:
        first, second = np.triu_indices(len(spanning))
        spanning = spanning[first] * spanning[second]
    if len(spanning) >= len(offset):
        return WholeVectors(np.zeros((0, len(offset)), dtype=np.int64), False)
    return whole_vectors(np.linalg.qr(spanning.T)[0], precision, order, MAX_LENGTH)


def _canonical(offset: NDArray[Any], basis: NDArray[Any]) -> tuple[Doubles, Doubles]:
    """The same subspace through its point nearest to the origin, in double precision."""
    rows = np.ascontiguousarray(np.linalg.qr(basis.astype(np.float64).T)[0].T)
    point = offset.astype(np.float64)
    return point - (rows @ point) @ rows, rows


def _inside(
    vectors: Whole, offset: Doubles, basis: Doubles, release: SubspaceRelease, tolerance: float
) -> Whole:
    """Those that are bytes and, scaled to unit length, lie in the affine subspace."""
    whole = np.where(vectors.sum(axis=1, keepdims=True) < 0, -vectors, vectors)
    whole = whole[(whole.min(axis=1, initial=0) >= 0) & (whole.max(axis=1, initial=0) <= 255)]
    away = _scaled(whole, release) - offset
    away -= (away @ basis.T) @ basis
    return np.asarray(whole[np.linalg.norm(away, axis=1) < tolerance])


def _scaled(whole: Whole, release: SubspaceRelease) -> Doubles:
    """Whole vectors as the extractor would have given them, of unit length."""
    values = whole.astype(np.float64)
    if release.extractor == "rootsift":
        return np.asarray(np.sqrt(values / np.maximum(values.sum(axis=1, keepdims=True), 1)))
    return unit_vectors(values)


def _like_descriptors(vectors: Whole, release: SubspaceRelease) -> Whole:
    """Those of SIFT's length, which averaged words do not have; all of another extractor."""
    if release.extractor not in WHOLE:
        return vectors
    length = np.linalg.norm(vectors, axis=1)
    # Saturation at 255 may shorten a descriptor, nothing else can.
    like = (np.abs(length - SIFT_LENGTH) < SIFT_SPREAD) | (vectors.max(axis=1, initial=0) == 255)
    return np.asarray(vectors[like])


def _certified(
    rows: list[_Row], pool: Candidates, sizes: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], bool]:
    """Rows with one whole vector and the proof that there is no other; and whether to doubt all.

    The proof speaks of whole vectors; that the descriptor is one is a premise. If rows share
    theirs, or those at one position do not look alike, descriptors were altered before lifting and
    what is whole are words. Then, or if many rows hold none, nothing is certified.
    """
    alone = np.array([row.complete for row in rows], dtype=np.bool_) & (sizes == 1)
    repeated = np.zeros(len(rows), dtype=np.bool_)
    repeated[pool.row[held_twice(pool.vectors)]] = True
    single = alone[pool.row]
    altered = int((alone & repeated).sum()) > _MAX_SHARED * len(rows) or are_unrelated(
        pool.vectors[single], pool.position[pool.row[single]]
    )
    if altered or (sizes == 0).mean() > _MAX_EMPTY:
        return np.zeros(len(rows), dtype=np.bool_), altered
    return np.asarray(alone & ~repeated), False


def _without_words(
    kept: list[Whole], words: NDArray[np.float32], release: SubspaceRelease
) -> list[Whole]:
    """Leave out vectors that are words, in rows where something else remains.

    Words are found by their projection on one fixed direction, in a sorted list.
    """
    direction = np.random.default_rng(0).normal(size=words.shape[1])
    shadow = words @ direction
    order = np.argsort(shadow, kind="stable")
    shadow = shadow[order]
    remaining = []
    for vectors in kept:
        points = _scaled(vectors, release)
        own = points @ direction
        low, high = np.searchsorted(shadow, own - 1e-4), np.searchsorted(shadow, own + 1e-4)
        word = np.array(
            [
                bool((np.abs(words[order[a:b]] - point).max(axis=1, initial=0) < 1e-5).any())
                if b > a
                else False
                for a, b, point in zip(low, high, points, strict=True)
            ],
            dtype=np.bool_,
        )
        remaining.append(vectors[~word] if (~word).any() else vectors)
    return remaining
