"""A simulated map of any size: cameras one metre apart along a wall."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.types import Camera, Pose

CAMERA = Camera("PINHOLE", 640, 480, (800.0, 800.0, 320.0, 240.0))
PER_IMAGE, STEP = 2_000, 500  # observations of an image; points between one image and the next


def wall_fields(
    size: int, generator: np.random.Generator
) -> tuple[dict[str, Any], NDArray[np.int32]]:
    """All fields of a Map but descriptors and extractor, and the point of each observation.

    Each camera sees the next 2,000 points, so that four see each.
    """
    images = max(size // PER_IMAGE, 2)
    count = STEP * (images - 1) + PER_IMAGE
    points = np.column_stack(
        [
            np.arange(count) / STEP,
            generator.uniform(-1.4, 1.4, count),
            generator.uniform(5.0, 6.0, count),
        ]
    )
    seen = np.arange(PER_IMAGE, dtype=np.int32)
    point = (np.int32(STEP) * np.arange(images, dtype=np.int32)[:, None] + seen).reshape(-1)
    centers = np.arange(images, dtype=np.float64) + PER_IMAGE / STEP / 2
    keypoints = np.empty((len(point), 2), dtype=np.float32)
    for image, center in enumerate(centers):  # one by one: 10⁸ points at once take 2 GB
        rows = slice(image * PER_IMAGE, (image + 1) * PER_IMAGE)
        keypoints[rows] = pixels_of(points[point[rows]] - (center, 0.0, 0.0))
    fields = {
        "points": points,
        "rotations": np.tile(np.eye(3), (images, 1, 1)),
        "translations": np.outer(-centers, [1.0, 0.0, 0.0]),
        "camera_of_image": np.zeros(images, dtype=np.int32),
        "feature_start": PER_IMAGE * np.arange(images + 1, dtype=np.int64),
        "keypoints": keypoints,
        "point_of_feature": point,
        "image_names": tuple(f"{image}.png" for image in range(images)),
        "cameras": (CAMERA,),
    }
    return fields, point


def look_at(
    points: NDArray[Any], center: float
) -> tuple[Pose, NDArray[np.int64], NDArray[np.float64]]:
    """A camera that stands there: its pose, the points it sees, and where in the picture."""
    truth = Pose(np.eye(3), np.array([-(center + PER_IMAGE / STEP / 2), 0.0, 0.0]))
    inside = truth.apply(np.asarray(points))
    seen = np.flatnonzero(np.abs(inside[:, 0]) < 1.9)
    return truth, seen, pixels_of(inside[seen])


def pixels_of(inside: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(800.0 * inside[:, :2] / inside[:, 2:] + (319.5, 239.5))
