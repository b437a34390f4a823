"""Where several subspaces meet: the descriptor that was lifted more than once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered
from sfumato.adversary.recover.geometry import Lifted, tolerance_of
from sfumato.core.errors import Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import SubspaceRelease

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

#: Below this sine two subspaces count as sharing a direction, and do not meet in one point only.
SHARED = 1e-3


def meeting_points(
    releases: Sequence[SubspaceRelease],
    groups: list[list[Rows]],
    *,
    tolerance: float | None = None,
    progress: Progress = silent,
) -> Recovered:
    """The point nearest to all subspaces of each keypoint of the first release.

    groups  for each position the rows that lie there, in each release (`rows_by_position`)
    A single point of unit length at distance 0 has confidence 1, and is certified if its keypoint
    is alone at its position. Where the subspaces share a direction as well, through a word drawn
    twice, they meet in a line: it holds two points of unit length, the descriptor and that word.
    """
    first = releases[0]
    if any(other.offsets.shape[1] != first.offsets.shape[1] for other in releases):
        raise Mismatch("repeated lifts must be of descriptors of one dimension; they are not.")
    lifted = [Lifted.of(release) for release in releases]
    zero = tolerance_of(first, tolerance)
    descriptors = np.zeros(first.offsets.shape, dtype=np.float32)
    confidence = np.zeros(len(first), dtype=np.float32)
    certified = np.zeros(len(first), dtype=np.bool_)
    for done, group in enumerate(groups):
        for row, partners in zip(group[0], _partners(lifted, group), strict=True):
            point, sure, single = _meet(lifted[0].take(row), partners, zero)
            descriptors[row], confidence[row] = point, sure
            alone = all(len(rows) <= 1 for rows in group)
            certified[row] = single and alone and first.offsets.dtype == np.float32
        progress("intersecting", done + 1, len(groups))
    return Recovered(descriptors, confidence, certified)


def _partners(lifted: list[Lifted], group: list[Rows]) -> list[list[Lifted]]:
    """For each row of the first release its subspace in every other one.

    Several keypoints at one position: the pairs that come closest belong together.
    """
    found: list[list[Lifted]] = [[] for _ in group[0]]
    for k, rows in enumerate(group[1:], start=1):
        distance = np.array(
            [
                [_gap(lifted[0].take(a), lifted[k].take(b)) for b in rows]
                if len(rows) > 1 or len(group[0]) > 1
                else [0.0] * len(rows)
                for a in group[0]
            ]
        ).reshape(len(group[0]), len(rows))
        while distance.size and np.isfinite(distance).any():
            a, b = np.unravel_index(distance.argmin(), distance.shape)
            found[int(a)].append(lifted[k].take(rows[b]))
            distance[a], distance[:, b] = np.inf, np.inf
    return found


def _gap(a: Lifted, b: Lifted) -> float:
    """Distance of two subspaces, plus what their nearest point lacks to unit length."""
    coordinates, residual, _, _ = _solve(a, [b])
    point = a.points + coordinates @ a.bases
    return residual + abs(float(np.linalg.norm(point)) - 1)


def _solve(own: Lifted, partners: list[Lifted]) -> tuple[Doubles, float, Doubles, Doubles]:
    """Least squares in the coordinates y of the first subspace, x = d0 + Dᵀy.

    minimise Σ_k ‖(I − E_kᵀE_k)(d0 + Dᵀy − e0_k)‖²: y, the root mean square distance, the
    singular values (falling) and the right singular vectors.
    """
    rows: list[Any] = []
    right: list[Any] = []
    for other in partners:
        rows.append((own.bases - (own.bases @ other.bases.T) @ other.bases).T)
        away = other.points - own.points
        right.append(away - (away @ other.bases.T) @ other.bases)
    matrix, target = np.concatenate(rows), np.concatenate(right)
    left, values, vectors = np.linalg.svd(matrix, full_matrices=False)
    kept = values > SHARED
    y = ((left.T @ target)[kept] / values[kept]) @ vectors[kept]
    residual = float(np.linalg.norm(matrix @ y - target)) / max(len(partners), 1) ** 0.5
    return y, residual, values, vectors


def _meet(own: Lifted, partners: list[Lifted], zero: float) -> tuple[Doubles, float, bool]:
    if not partners:
        return _on_sphere(own, own.bases[0]), 0.0, False
    y, residual, values, vectors = _solve(own, partners)
    point = own.points + y @ own.bases
    free = values <= SHARED
    if free.any():
        # Along the shared directions: on to the sphere.
        direction = vectors[free][0] @ own.bases
        left = max(1 - float(point @ point), 0.0)
        along = float(point @ direction)
        point = point + (np.sqrt(along**2 + left) - along) * direction
        fits = residual < zero and int(free.sum()) == 1
        return unit_vectors(point), 0.5 if fits else 0.0, False
    length = float(np.linalg.norm(point))
    meets = residual < zero and abs(length - 1) < zero
    sure = 1.0 if meets else float(np.exp(-((residual + abs(length - 1)) / zero)))
    return unit_vectors(point), sure, meets


def _on_sphere(own: Lifted, direction: Doubles) -> Doubles:
    radius = np.sqrt(max(1 - float(own.points @ own.points), 0.0))
    return unit_vectors(own.points + radius * direction)
