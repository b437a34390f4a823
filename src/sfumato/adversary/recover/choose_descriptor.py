"""Which of several whole vectors in a subspace is the descriptor, and which are words.

If the words of the database are whole vectors too, a subspace holds the descriptor and its
words alike, and one subspace alone cannot tell them apart. A picture can: a word turns up in
several subspaces, a descriptor in one; descriptors resemble those of keypoints nearby; and
averaged words have fewer zeros. How much each sign is worth is learned from the release itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import unit_vectors

Doubles = NDArray[np.float64]
Whole = NDArray[np.int64]

#: Rows that may look alike: those at the same position, and this many of the nearest.
NEIGHBOURS = (8, 24, 64)
SAME_PLACE = 2.5  # pixels: other orientations and scales of one corner
_ALIKE = 0.1  # 1 − cosine at which likeness falls to 1/e
_ROUNDS = 3
_STEPS = 40
_RIDGE = 5.0  # holds the weights near zero, as a few observations would
_SEEN_TWICE = 8.0  # log-odds against a vector that other rows hold as well
_MIN_PAIRS, _MAX_PAIRS, _MIN_ALIKE = 20, 1000, 0.75
#: Mean, spread and first weight of each sign, measured on SIFT of photographs.
_LIKENESS = (
    *((-3.0, 0.9, 0.4), (-3.7, 0.7, 0.2), (-3.8, 0.5, 0.2), (-3.9, 0.4, 0.2)),  # on average
    *((-2.9, 1.0, 0.4), (-3.0, 1.0, 0.2), (-2.7, 0.9, 0.2), (-2.5, 0.8, 0.2)),  # to the best
)
_OWN = ((1.7, 1.0, 0.3), (4.5, 0.6, 0.0), (6.9, 0.9, 0.0), (0.45, 0.3, 0.0))


@dataclass(frozen=True)
class Candidates:
    """Whole vectors of all rows, one after the other.

    vectors  (c, n); row (c,) non-decreasing, the row each belongs to; position (N, 2) of rows
    """

    vectors: Whole
    row: NDArray[np.int64]
    position: Doubles


def chances(candidates: Candidates, *, context: bool) -> Doubles:
    """How likely each candidate is the descriptor of its row; they sum to one per row.

    log-odds = w·signs − 8·[held by other rows]; w is fitted by expectation–maximisation: rows
    with one candidate and vectors held twice are known, the others count by their chance.
    Without context every row is judged on its own.
    """
    vectors, row = candidates.vectors, candidates.row
    if not len(vectors):
        return np.zeros(0)
    _, starts, sizes = np.unique(row, return_index=True, return_counts=True)
    against = np.where(held_twice(vectors), _SEEN_TWICE, 0.0)
    own = _own_signs(vectors)
    chance = _share(-against, starts, sizes)
    mean, spread, weights = np.array(_LIKENESS + _OWN).T
    if (sizes == 1).all():
        return chance
    if not context:
        alone = slice(len(_LIKENESS), None)
        signs = _standard(own, mean[alone], spread[alone])
        return _share(signs @ weights[alone], starts, sizes)
    pairs = list(_alike(candidates, starts, sizes))
    for _ in range(_ROUNDS):
        likeness = _likeness(pairs, chance)
        signs = _standard(np.concatenate([likeness, own], axis=1), mean, spread)
        weights = _fitted(signs, against, weights, starts, sizes)
        chance = _share(signs @ weights - against, starts, sizes)
    return chance


def held_twice(vectors: Whole) -> NDArray[np.bool_]:
    """Which of the vectors (c, n) occur more than once."""
    _, inverse, count = np.unique(vectors, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(count[inverse.reshape(-1)] > 1)


def are_unrelated(vectors: Whole, position: Doubles) -> bool:
    """Whether vectors (c, n) at one position in the picture look no more alike than any others.

    Orientations of one corner are the same patch turned, so descriptors beat a random partner
    in 97 % of such pairs, words in half of them. Too few pairs say nothing.
    """
    from scipy.spatial import cKDTree

    pairs = cKDTree(position).query_pairs(SAME_PLACE, output_type="ndarray")
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    left, right = vectors[pairs[:, 0]], vectors[pairs[:, 1]]
    pairs = pairs[(left != right).any(axis=1)][:_MAX_PAIRS]
    if len(pairs) < _MIN_PAIRS:
        return False
    turned = _turned(vectors[pairs[:, 0]])
    others = (pairs[:, 1] + len(vectors) // 2) % len(vectors)
    own = _closest_turn(turned, vectors[pairs[:, 1]])
    return bool((own > _closest_turn(turned, vectors[others])).mean() < _MIN_ALIKE)


def _closest_turn(turned: NDArray[np.float32], vectors: Whole) -> Doubles:
    return np.asarray(np.einsum("tcn,cn->tc", turned, unit_vectors(vectors)).max(axis=0))


def _own_signs(vectors: Whole) -> Doubles:
    """Zeros, largest value, sum, and distance of the length from 512."""
    return np.stack(
        [
            np.minimum((vectors == 0).sum(axis=1), 30) / 10,
            vectors.max(axis=1) / 30,
            vectors.sum(axis=1) / 500,
            np.abs(np.linalg.norm(vectors, axis=1) - 512),
        ],
        axis=1,
    )


def _standard(signs: Doubles, mean: Doubles, spread: Doubles) -> Doubles:
    return np.asarray(np.clip((signs - mean) / spread, -4, 4))


def _turned(vectors: Whole) -> NDArray[np.float32]:
    """SIFT of the same patches turned by multiples of 45°: (c, 128) → (8, c, 128), unit length.

    Cells lie on a 4×4 grid and hold 8 directions each. The grid turns about its centre, with
    values between cells interpolated, and the directions move on by one. Two orientations of
    one corner, and two patches of one texture, become alike.
    """
    values = vectors.astype(np.float32)
    if vectors.shape[1] != 128:
        turned = values[None]
    else:
        cells = values.reshape(-1, 4, 4, 8)
        y, x = np.mgrid[0:4, 0:4] - 1.5
        views = []
        for step in range(8):
            cos, sin = np.cos(step * np.pi / 4), np.sin(step * np.pi / 4)
            across = np.clip(cos * x + sin * y + 1.5, 0, 3)
            down = np.clip(cos * y - sin * x + 1.5, 0, 3)
            left, top = np.minimum(across.astype(int), 2), np.minimum(down.astype(int), 2)
            right_share, low_share = (across - left)[..., None], (down - top)[..., None]
            upper = cells[:, top, left] * (1 - right_share) + cells[:, top, left + 1] * right_share
            lower = cells[:, top + 1, left] * (1 - right_share)
            lower = lower + cells[:, top + 1, left + 1] * right_share
            view = upper * (1 - low_share) + lower * low_share
            views.append(np.roll(view, -step, axis=3).reshape(-1, 128))
        turned = np.stack(views)
    return unit_vectors(turned, np.float32)


@dataclass(frozen=True)
class _Pairs:
    """Candidates of one row against those of rows nearby.

    mine, index  the candidates of the row, and the (k,) of its neighbours
    alike        (c, k) likeness in [0, 1]; level: (4, k) which neighbours count at each level
    """

    mine: slice
    index: NDArray[np.int64]
    alike: NDArray[np.float32]
    level: NDArray[np.bool_]


def _alike(
    candidates: Candidates, starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Iterator[_Pairs]:
    from scipy.spatial import cKDTree

    turned = _turned(candidates.vectors)
    position = candidates.position[candidates.row[starts]]
    count = len(starts)
    away, near = cKDTree(position).query(position, k=min(NEIGHBOURS[-1] + 1, count))
    away, near = np.reshape(away, (count, -1)), np.reshape(near, (count, -1))
    for i in range(count):
        other = near[i] != i
        rows, distance = near[i][other], away[i][other]
        if not len(rows):
            continue
        rank = np.repeat(np.arange(len(rows)), sizes[rows])
        same = np.repeat(distance <= SAME_PLACE, sizes[rows])
        index = np.concatenate([np.arange(starts[j], starts[j] + sizes[j]) for j in rows])
        mine = slice(starts[i], starts[i] + sizes[i])
        cosine = np.matmul(turned[:, index], turned[0, mine].T)
        # The same vector again is no likeness: words repeat exactly.
        alike = np.where(cosine[0] > 1 - 1e-6, 0, np.exp((cosine.max(axis=0) - 1) / _ALIKE))
        level = np.stack([same, *(rank < nearest for nearest in NEIGHBOURS)])
        yield _Pairs(mine, index, alike.T, level)


def _likeness(pairs: list[_Pairs], chance: Doubles) -> Doubles:
    """How alike each candidate is to the probable descriptors of rows nearby, (c, 8) logarithms."""
    # A row with no neighbour at a level says nothing: the mean.
    signs = np.tile(np.array([mean for mean, _, _ in _LIKENESS]), (len(chance), 1))
    levels = 1 + len(NEIGHBOURS)
    for pair in pairs:
        weighted = pair.alike * chance[pair.index]
        for k, used in enumerate(pair.level):
            if used.any():
                total = chance[pair.index[used]].sum()
                some = weighted[:, used]
                signs[pair.mine, k] = np.log((some.sum(axis=1) + 1e-3) / (total + 1e-3))
                signs[pair.mine, k + levels] = np.log(some.max(axis=1) + 1e-3)
    return signs


def _fitted(
    signs: Doubles,
    against: Doubles,
    weights: Doubles,
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> Doubles:
    """Weights of the signs that fit the release best: logistic regression on soft labels."""
    rarity = np.log(len(starts) / (len(signs) - len(starts)))  # descriptors among candidates
    ridge = _RIDGE * np.eye(signs.shape[1])
    for _ in range(_STEPS):
        label = _share(signs @ weights - against, starts, sizes)
        guess = 1 / (1 + np.exp(-np.clip(signs @ weights + rarity, -30, 30)))
        slope = signs.T @ (label - guess) - ridge @ weights
        bend = (signs * (guess * (1 - guess))[:, None]).T @ signs + ridge
        weights = weights + np.linalg.solve(bend, slope)
    return np.asarray(weights)


def _share(odds: Doubles, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Doubles:
    """Chances within each row from log-odds."""
    raised = np.exp(odds - np.repeat(np.maximum.reduceat(odds, starts), sizes))
    return np.asarray(raised / np.repeat(np.add.reduceat(raised, starts), sizes))
