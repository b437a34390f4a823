"""Pictures for the page: the photograph, its keypoints, and one keypoint from near by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.positions import position_shift, snap
from sfumato.core.releases import WordRelease
from sfumato.core.types import Features
from sfumato.datasets import View

_PATCH = 200  # pixels
_WINDOW = 6.0  # a SIFT descriptor looks at a square 6 diameters wide: 4 cells of 3σ
_LARGE = 6.0  # diameter of a keypoint whose patch is worth looking at
_WARM = (255, 196, 120)


def keypoint_picture(image: NDArray[Any], features: Features) -> NDArray[np.uint8]:
    """The photograph, dimmed, with a circle and a direction for every keypoint."""
    import cv2

    grey = np.asarray(image, dtype=np.float64).mean(axis=2, keepdims=True)
    canvas = np.ascontiguousarray(np.repeat(0.42 * grey + 12, 3, axis=2).astype(np.uint8))
    # Largest first: small ones stay visible on top. 4 bits of the coordinates are fractions.
    for row in np.argsort(-features.scales, kind="stable").tolist():
        x, y = features.keypoints[row].tolist()
        radius, angle = float(features.scales[row]) / 2, math.radians(features.angles[row])
        center = (round(16 * x), round(16 * y))
        tip = (
            round(16 * (x + radius * math.cos(angle))),
            round(16 * (y + radius * math.sin(angle))),
        )
        cv2.circle(canvas, center, max(round(16 * radius), 16), _WARM, 1, cv2.LINE_AA, 4)
        cv2.line(canvas, center, tip, _WARM, 1, cv2.LINE_AA, 4)
    return canvas


def patch_at(image: NDArray[Any], features: Features, row: int) -> NDArray[np.uint8]:
    """What a descriptor looks at, turned upright as the descriptor is."""
    import cv2

    step = _WINDOW * float(features.scales[row]) / _PATCH
    angle = math.radians(float(features.angles[row]))
    along = step * np.array([math.cos(angle), math.sin(angle)])
    across = step * np.array([-math.sin(angle), math.cos(angle)])
    middle = features.keypoints[row] - (along + across) * _PATCH / 2
    matrix = np.column_stack([along, across, middle])
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    patch = cv2.warpAffine(
        np.ascontiguousarray(image), matrix, (_PATCH, _PATCH), flags=flags, borderMode=1
    )
    return np.asarray(patch, dtype=np.uint8)


def clear_keypoint(view: View, features: Features, release: WordRelease) -> tuple[int, int] | None:
    """The strongest large keypoint on the visitor: its row in the features and in the release.

    Its position must be its own, or the device itself could not tell which row is whose.
    """
    left, top, right, bottom = view.person_box or (0, 0, *features.image_size)
    x, y = features.keypoints.T
    # Head and chest: the upper 40 % of her.
    on_person = (x > left) & (x < right) & (y > top) & (y < top + 0.4 * (bottom - top))
    on_person &= (features.scales >= _LARGE) & (features.scales <= 3 * _LARGE)
    ranked = np.argsort(~on_person, kind="stable")  # features come strongest first
    steps = snap(features.keypoints, features.image_size)
    sent = release.keypoints * (1 << position_shift(features.image_size))
    for row in ranked.tolist():
        rows = np.flatnonzero((sent == steps[row]).all(axis=1))
        if len(rows) == 1:
            return int(row), int(rows[0])
    return None
