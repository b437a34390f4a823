"""Which keypoints touch what a detector found: inside it, in a margin around it, or reaching in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.detectors.base import Boxes

#: A keypoint lies up to .71 pixels from the centre of its pixel, so does the edge of a mask.
_PIXEL = 1.5


def touches(
    found: Boxes,
    keypoints: NDArray[Any],
    *,
    margin: float = 0.0,
    reach: NDArray[Any] | float = 0.0,
) -> NDArray[np.bool_]:
    """(N,) whether a keypoint lies in a region, nearer than its margin, or reaches into that.

    margin  the share of a region's shorter side that is added on every side
    reach   (N,) pixels that each keypoint sees around itself
    """
    points = np.asarray(keypoints, dtype=np.float64).reshape(-1, 2)
    around = np.broadcast_to(np.asarray(reach, dtype=np.float64), (len(points),))
    if found.mask is not None:
        return _touches_mask(found, points, margin, around)
    hit = np.zeros(len(points), dtype=np.bool_)
    for box in grow(found.corners, margin):
        gaps = np.maximum(box[:2] - points, points - box[2:])
        distance = np.linalg.norm(np.maximum(gaps, 0), axis=1)
        hit |= distance <= around
    return hit


def grow(corners: NDArray[Any], margin: float) -> NDArray[np.float64]:
    """Boxes with the margin on every side: a share of their shorter side."""
    boxes = np.asarray(corners, dtype=np.float64).reshape(-1, 4)
    more = margin * (boxes[:, 2:] - boxes[:, :2]).min(axis=1)[:, None]
    return np.hstack([boxes[:, :2] - more, boxes[:, 2:] + more])


def covered(found: Boxes, image_size: tuple[int, int], *, margin: float = 0.0) -> NDArray[np.bool_]:
    """(H, W) the pixels whose centre lies in a region or its margin."""
    width, height = image_size
    y, x = np.indices((height, width)).reshape(2, -1)
    return touches(found, np.column_stack([x, y]), margin=margin).reshape(height, width)


def _touches_mask(
    found: Boxes, points: NDArray[np.float64], margin: float, around: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """The same for an outline: its distance everywhere, and the margin of the nearest region."""
    import cv2

    mask = np.asarray(found.mask)
    if not mask.any():
        return np.zeros(len(points), dtype=np.bool_)
    distance, label = cv2.distanceTransformWithLabels(
        (~mask).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE
    )
    shortest = _shorter_sides(label, mask)
    height, width = mask.shape
    x = np.clip(np.rint(points[:, 0]), 0, width - 1).astype(np.int64)
    y = np.clip(np.rint(points[:, 1]), 0, height - 1).astype(np.int64)
    gap = np.maximum(distance[y, x] - _PIXEL, 0)
    return np.asarray(gap <= margin * shortest[label[y, x]] + around)


def _shorter_sides(label: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Of each region the shorter side of the box around it, by the region's label."""
    regions = label[mask]
    sides = []
    for positions in np.nonzero(mask):
        low = np.full(label.max() + 1, np.inf)
        high = np.full(label.max() + 1, -np.inf)
        np.minimum.at(low, regions, positions)
        np.maximum.at(high, regions, positions)
        sides.append(high - low + 1)
    return np.asarray(np.minimum(*sides))
