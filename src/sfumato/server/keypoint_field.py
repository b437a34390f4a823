"""Where the keypoints of a query lie, in a picture without distortion, ready to look up."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.core.lens import focal_lengths, unproject
from sfumato.core.types import Camera

#: Share of the points that should be seen at whose place the query has a keypoint; measured at
#: true poses: .2 to .4.
DETECTED = 0.25
_CELL = 8  # pixels; the density of keypoints is kept on a coarse grid
_LARGEST = 4096  # pixels of a side of the undistorted picture


class KeypointField:
    """Keypoints by place.

    lens      focal length and middle of the picture without distortion
    shape     its rows and columns
    rays      (N, 3) unit direction of each keypoint
    places    (P, 2) positions that differ; place_of (N,) and row_of (P,) lead there and back
    nearest   place of the nearest keypoint, at each pixel, and distance to it
    density   (P,) keypoints per square pixel around each place
    """

    def __init__(self, keypoints: NDArray[np.float32], camera: Camera) -> None:
        flat = unproject(camera, keypoints)
        reached: NDArray[Any] = np.asarray(np.isfinite(flat).all(axis=1))
        focal = focal_lengths(camera)[0]
        half = np.array([camera.width, camera.height]) / 2
        half = np.minimum(half, _LARGEST / 2)
        self.lens = np.array([focal, half[0] - 0.5, half[1] - 0.5])
        self.shape = (int(2 * half[1]), int(2 * half[0]))
        self.rays = np.column_stack([np.nan_to_num(flat), np.ones(len(flat))])
        self.rays /= np.linalg.norm(self.rays, axis=1, keepdims=True)
        places = np.where(reached[:, None], flat * focal + self.lens[1:], -1.0).round(2)
        unique, row, inverse = np.unique(places, axis=0, return_index=True, return_inverse=True)
        self.places: NDArray[np.float64] = np.ascontiguousarray(unique)
        self.row_of = row  # a keypoint of the query at each place
        self.place_of = inverse.reshape(-1).astype(np.int64)
        pixel = np.rint(unique).astype(np.int64)
        bounds = np.array(self.shape[::-1])
        inside: NDArray[Any] = np.logical_and(pixel >= 0, pixel < bounds).all(axis=1)
        mask = np.full(self.shape, 255, dtype=np.uint8)
        mask[pixel[inside, 1], pixel[inside, 0]] = 0
        self.distance, label = cv2.distanceTransformWithLabels(
            mask, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL
        )
        names = np.zeros(int(label.max()) + 1, dtype=np.int32)
        names[label[pixel[inside, 1], pixel[inside, 0]]] = np.flatnonzero(inside)
        self.nearest: NDArray[np.int32] = names[label]
        self._density = self._smoothed(pixel[inside])
        cell = np.clip(pixel // _CELL, 0, np.array(self._density.shape[::-1]) - 1)
        self.density: NDArray[np.float64] = self._density[cell[:, 1], cell[:, 0]].astype(float)

    def _smoothed(self, pixel: NDArray[np.int64]) -> NDArray[np.float32]:
        """Keypoints per square pixel around each cell of a coarse grid."""
        height, width = (side // _CELL + 1 for side in self.shape)
        counts = np.zeros((height, width), dtype=np.float32)
        np.add.at(counts, (pixel[:, 1] // _CELL, pixel[:, 0] // _CELL), 1)
        smooth = cv2.GaussianBlur(counts, (0, 0), 3.0, borderType=cv2.BORDER_REFLECT) / _CELL**2
        mean = max(len(pixel), 1) / (self.shape[0] * self.shape[1])
        return np.asarray(0.9 * smooth + 0.1 * mean, dtype=np.float32)

    def gain(self, spread: float) -> NDArray[np.float32]:
        """At each pixel: how much likelier a point there makes its nearest keypoint."""
        height, width = self.shape
        fine = cv2.resize(self._density, None, fx=_CELL, fy=_CELL)[:height, :width]
        bell = np.exp(-(self.distance**2) / (2 * spread**2)) / (2 * np.pi * spread**2)
        return np.asarray(DETECTED * bell / fine, dtype=np.float32)

    def chance(self, spread: float) -> float:
        """What a point gains on average where keypoints lie but the pose is wrong."""
        gain = self.gain(spread)
        generator = np.random.default_rng(0)
        values = []
        for far in np.linspace(25, 80, 8):
            angle = generator.uniform(0, 2 * np.pi)
            shift = far * np.array([np.cos(angle), np.sin(angle)])
            pixel = np.rint(self.places + shift).astype(np.int64)
            pixel = pixel[((pixel >= 0) & (pixel < self.shape[::-1])).all(axis=1)]
            values.append(np.log1p(gain[pixel[:, 1], pixel[:, 0]]))
        gathered = np.concatenate(values)
        return float(gathered.mean()) if len(gathered) else 0.0
