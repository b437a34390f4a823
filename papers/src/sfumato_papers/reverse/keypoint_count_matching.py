"""Reverse engineering, Fig. 5: how many matches of N keypoints, or of N against all, are right.

Distances are computed once for the largest N. Keypoints are in the order in which they would be
kept, so that every smaller N is a corner of the same table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.lens import focal_lengths, unproject
from sfumato.core.types import Camera, Features, Pose
from sfumato.server.mapping.correspondences import epipolar_errors, is_binary
from sfumato.server.mapping.two_view import PairOptions, View, relative_pose

#: A match is right within this distance of the known epipolar lines, in pixels (Sampson).
MAX_ERROR = 2.0
RATIO = 0.8
_RANSAC = PairOptions(max_error=MAX_ERROR, max_iterations=1000)

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Counts:
    """What one pair gave.

    num_matches    mutual nearest neighbours
    num_right      of those, on the known epipolar lines; with_ratio: also with a ratio test
    num_ransac     inliers of the server's own RANSAC, which knows no pose; None if not asked
    """

    num_matches: int
    num_right: int
    num_right_with_ratio: int
    num_ransac: int | None


@dataclass(frozen=True, eq=False)
class Side:
    """One picture: features in the order they would be kept, as vectors, camera and pose.

    points  of the map that they show, −1 for none; None where they are not those of the map
    """

    features: Features
    vectors: Floats
    camera: Camera
    pose: Pose
    points: NDArray[np.integer[Any]] | None = None

    @cached_property
    def rays(self) -> NDArray[np.float64]:
        return unproject(self.camera, self.features.keypoints)

    @property
    def focal(self) -> float:
        return float(np.sqrt(np.prod(focal_lengths(self.camera))))


def as_vectors(features: Features) -> Floats:
    """Descriptors whose squared distance ranks them: bits as 0 and 1, SIFT as RootSIFT."""
    if is_binary(features.extractor):
        return np.unpackbits(features.descriptors, axis=1).astype(np.float32)
    values = features.descriptors.astype(np.float32)
    if features.extractor == "sift":
        values = np.sqrt(values / np.maximum(values.sum(axis=1, keepdims=True), 1))
    return values


def compare(
    first: Side,
    second: Side,
    counts: Sequence[int],
    *,
    whole_second: bool = False,
    has_ransac: bool = True,
) -> dict[int, Counts]:
    """The counts for every N; whole_second: the second picture is the server's own, with all."""
    most = max(counts)
    a = first.vectors[:most]
    b = second.vectors if whole_second else second.vectors[:most]
    table = _distances(a, b)
    found = {}
    for count in counts:
        corner = table[:count] if whole_second else table[:count, :count]
        matches, clear = _mutual(corner, binary=is_binary(first.features.extractor))
        errors = epipolar_errors(
            first.rays[matches[:, 0]], second.rays[matches[:, 1]], first.pose, second.pose,
            (first.focal, second.focal),
        )  # fmt: skip
        right = errors <= MAX_ERROR
        ransac = _ransac_inliers(first, second, matches) if has_ransac else None
        found[count] = Counts(len(matches), int(right.sum()), int((right & clear).sum()), ransac)
    return found


def _distances(a: Floats, b: Floats) -> Floats:
    """Squared distances (n, m)."""
    table = -2 * (a @ b.T)
    table += np.einsum("nd,nd->n", a, a)[:, None]
    table += np.einsum("nd,nd->n", b, b)
    return np.asarray(np.maximum(table, 0, out=table))


def _mutual(table: Floats, *, binary: bool) -> tuple[Rows, NDArray[np.bool_]]:
    """Rows and columns that are each other's nearest, and which pass the ratio test."""
    if not table.size:
        return np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.bool_)
    nearest, back = table.argmin(axis=1), table.argmin(axis=0)
    rows = np.flatnonzero(back[nearest] == np.arange(len(table)))
    matches = np.stack([rows, nearest[rows]], axis=1)
    if table.shape[1] < 2:
        return matches, np.ones(len(matches), dtype=np.bool_)
    two = np.partition(table[rows], 1, axis=1)[:, :2]
    return matches, two[:, 0] <= (RATIO if binary else RATIO**2) * two[:, 1]


def _ransac_inliers(first: Side, second: Side, matches: Rows) -> int:
    if len(matches) < 6:  # five points fit some pose always
        return 0
    a, b = (View(side.features.keypoints, side.camera) for side in (first, second))
    found: Any = relative_pose(a, b, matches, _RANSAC)
    return 0 if found is None else int(found[1])
