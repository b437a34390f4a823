"""What the attacks on subspaces share: a database door, and points that lie in a subspace.

A lifted descriptor lies in its subspace D and has unit length. D meets the unit sphere in a
sphere of radius √(1 − ‖d0‖²) around its point d0 nearest to the origin; every estimate is
moved there. The papers project on D only and leave the length to the reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_finite, check_same_extractor, check_shape
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.progress import Progress
from sfumato.core.releases import SubspaceRelease
from sfumato.dictionary import Dictionary
from sfumato.matching.subspace import Subspaces, k_nearest

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

#: A distance that counts as zero: [ldp-feat] needs exact zeros, numbers sent are rounded.
TOLERANCES = {np.dtype(np.float32): 1e-3, np.dtype(np.float16): 3e-2}
#: Distances are floored here before they divide anything (eq. 1 and 2).
FLOOR = 1e-6
#: Subspaces searched between two reports of progress.
BLOCK = 128


@dataclass(frozen=True, eq=False)
class Lifted:
    """The subspaces of a release in double precision, canonical: d0 orthogonal to D.

    points  (N, n)    the point of each subspace nearest to the origin
    bases   (N, m, n) orthonormal rows
    """

    points: Doubles
    bases: Doubles

    @staticmethod
    def of(release: SubspaceRelease) -> Lifted:
        if not len(release):
            return Lifted(release.offsets.astype(np.float64), release.bases.astype(np.float64))
        points, bases = Subspaces(release.offsets, release.bases).canonical(np.arange(len(release)))
        return Lifted(points, bases)

    def take(self, rows: Any) -> Lifted:
        return Lifted(self.points[rows], self.bases[rows])

    def project(self, points: Doubles) -> Doubles:
        """Points (N, n), or several of each (N, k, n), moved into their subspace."""
        many = points if points.ndim == 3 else points[:, None]
        away = many - self.points[:, None]
        inside = (away @ self.bases.transpose(0, 2, 1)) @ self.bases
        return np.asarray((self.points[:, None] + inside).reshape(points.shape))

    def distances(self, points: Doubles) -> Doubles:
        """Distances of several points of each, (N, k, n) → (N, k), free of cancellation."""
        return np.asarray(np.linalg.norm(points - self.project(points), axis=2))

    def on_sphere(self, points: Doubles) -> Doubles:
        """The point of the subspace with unit length in the direction of each given point.

        A subspace that misses the sphere by rounding answers with its nearest point.
        """
        many = points if points.ndim == 3 else points[:, None]
        away = self.project(many) - self.points[:, None]
        length = np.linalg.norm(away, axis=2, keepdims=True)
        away = np.where(length > FLOOR, away, self.bases[:, None, 0])
        away /= np.where(length > FLOOR, length, 1)
        radius = np.sqrt(np.maximum(1 - (self.points**2).sum(axis=1), 0))
        found = self.points[:, None] + radius[:, None, None] * away
        return unit_vectors(found.reshape(points.shape))


def tolerance_of(release: SubspaceRelease, tolerance: float | None) -> float:
    """The tolerance given, or the one that fits the precision of the release."""
    return TOLERANCES[release.offsets.dtype] if tolerance is None else tolerance


def database_points(
    database: Dictionary | NDArray[Any], release: SubspaceRelease
) -> NDArray[np.float32]:
    """A public database as unit-length descriptors (P, n) of the release's kind."""
    if isinstance(database, Dictionary):
        if database.metric != "l2":
            raise Mismatch(
                f"the database holds packed bits of {database.extractor}, subspaces hold none."
            )
        check_same_extractor("the database", database.extractor, "the release", release.extractor)
        database = database.words
    values = np.asarray(database)
    check_shape("database", values, (None, release.offsets.shape[1]))
    check_finite("database", values)
    if not len(values):
        raise InvalidInput("the database must hold at least one descriptor, got none.")
    return unit_vectors(values, np.float32)


def nearest_of_each(
    release: SubspaceRelease, points: NDArray[np.float32], count: int, progress: Progress
) -> Rows:
    """Rows (N, count) of the points nearest to each subspace, without a full matrix."""
    count = min(count, len(points))
    total = len(release)
    nearest = np.zeros((total, count), dtype=np.int64)
    prepared = Subspaces.points(points)
    for rows in blocks(total):
        few = Subspaces(release.offsets[rows], release.bases[rows])
        nearest[rows] = k_nearest(few, prepared, count)[0]
        progress("searching the database", rows.stop, total)
    return nearest


def blocks(total: int) -> Iterator[slice]:
    return (slice(i, min(i + BLOCK, total)) for i in range(0, total, BLOCK))


def sure_of(best: Doubles, second: Doubles) -> NDArray[np.float32]:
    """How much the best stands out: 1 − best/second for distances, in [0, 1]."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(second > 0, best / np.maximum(second, FLOOR), 1.0)
    return np.asarray(np.clip(1 - share, 0, 1), dtype=np.float32)
