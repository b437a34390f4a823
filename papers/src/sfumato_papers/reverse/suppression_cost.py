"""Reverse engineering, Table 2: what suppression costs, by matching a picture with a changed copy.

The copy is seen from elsewhere (a homography), in another light, with noise, and is suppressed by
itself. So boxes differ as they would between two photographs, and the truth is known exactly. The
people move with the picture here; in life they walk away, and their keypoints match nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import unit_vectors
from sfumato.core.types import Features
from sfumato.datasets.hpatches import transfer
from sfumato.detectors.base import Boxes, clip_boxes
from sfumato.matching.nearest import mutual_nearest

MIN_INLIERS = 20  # [reverse, §5.4]
MAX_ERROR = 3.0  # pixels
_SHIFT = 0.08  # how far corners move, as a share of the sides
_MAX_RATIO = 0.9


def changed_copy(
    picture: NDArray[np.uint8], seed: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Another view of the picture, and the homography from the picture to it."""
    import cv2

    generator = np.random.default_rng(seed)
    height, width = picture.shape[:2]
    corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]])
    inward = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    moved = corners + inward * generator.uniform(0, 2 * _SHIFT, (4, 2)) * (width, height)
    homography = np.asarray(
        cv2.getPerspectiveTransform(corners.astype(np.float32), moved.astype(np.float32)),
        dtype=np.float64,
    )
    seen: Any = cv2.warpPerspective(
        picture, homography, (width, height), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REFLECT
    )
    light = 255 * (seen / 255.0) ** generator.uniform(0.8, 1.25)
    noisy = light + generator.normal(0, 3, light.shape)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8), homography


def moved_boxes(found: Boxes, homography: NDArray[np.float64], shape: tuple[int, ...]) -> Boxes:
    """Upright boxes around the boxes as the copy shows them."""
    moved = np.zeros((len(found), 4))
    for row, (left, top, right, bottom) in enumerate(found.corners):
        corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
        places = transfer(homography, corners)
        moved[row] = [*places.min(axis=0), *places.max(axis=0)]
    return clip_boxes(moved, found.classes, found.scores, shape)


def count_inliers(first: Features, second: Features, homography: NDArray[np.float64]) -> int:
    """Mutual nearest neighbours, distinct by a ratio, that obey the known homography."""
    here, there = mutual_nearest(
        unit_vectors(first.descriptors, np.float32),
        unit_vectors(second.descriptors, np.float32),
        max_ratio=_MAX_RATIO,
    )
    expected = transfer(homography, first.keypoints[here])
    error = np.linalg.norm(expected - second.keypoints[there], axis=1)
    return int((error <= MAX_ERROR).sum())
