"""Angle and size of every keypoint, inferred from what a release does carry; no torch needed.

A release has descriptors and positions. SIFT turns each patch upright before describing it, so
a descriptor alone does not say how its patch lay in the picture. Its neighbours do: where they
lie, and what they show, must fit together. A small network asks the nearest ones a few times.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.neighbours import nearest_others
from sfumato.core.checks import check_count, check_finite, check_shape
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.files import parse_json
from sfumato.core.frozen import check_image_size, check_keypoints
from sfumato.core.onnx_file import OnnxFile

SHIPPED = Path(__file__).parent / "shipped" / "sift-frames.onnx"
INPUTS = ("rows", "index", "edges", "border")
METADATA = "sfumato.frames"
EXTRACTOR = "sift"
COLUMNS = 128
#: The angle is a choice between this many directions, then refined between them.
BINS = 36
#: Beyond this many pixels a keypoint does not see the border of the picture.
_SIGHT = 64.0
_LARGEST_ROW = 16.0  # scaled SIFT ends at 1, scaled unit vectors at √128
_SAME_PLACE = 0.05  # pixels; SIFT repeats a keypoint that has two main directions


@dataclass(frozen=True)
class Neighbourhood:
    """Who is near whom, for one picture.

    index   (N, k) int64, the rows of the nearest other keypoints; 0 where there are fewer
    edges   (N, k, 4) float32: direction to the neighbour as cosine and sine, both 0 at the same
            place; log2 of the distance; 1 where there is a neighbour
    border  (N, 4) float32, how near the left, right, upper and lower border are, 0…1: patches
            that reach over it have empty cells
    """

    index: NDArray[np.int64]
    edges: NDArray[np.float32]
    border: NDArray[np.float32]


def find_neighbourhood(
    keypoints: NDArray[Any], image_size: tuple[int, int], neighbours: int
) -> Neighbourhood:
    """The nearest other keypoints of each, and the way to them."""
    width, height = check_image_size(image_size)
    points = np.asarray(keypoints, dtype=np.float64)
    count = len(points)
    index = np.zeros((count, neighbours), dtype=np.int64)
    edges = np.zeros((count, neighbours, 4), dtype=np.float32)
    reach = min(neighbours, count - 1)
    if reach > 0:
        near = nearest_others(points, reach)
        away = points[near] - points[:, None]
        distance = np.linalg.norm(away, axis=2)
        unit = away / np.maximum(distance, _SAME_PLACE)[..., None]
        index[:, :reach] = near
        edges[:, :reach, :2] = np.where(distance[..., None] < _SAME_PLACE, 0, unit)
        edges[:, :reach, 2] = np.log2(distance + 0.5)
        edges[:, :reach, 3] = 1
    x, y = points.reshape(count, 2).T
    sides = np.stack([x, width - 1 - x, y, height - 1 - y], axis=1)
    border = (1 - np.clip(sides, 0, _SIGHT) / _SIGHT).astype(np.float32)
    return Neighbourhood(index, edges, border)


def infer_frames(
    rows: NDArray[Any],
    keypoints: NDArray[Any],
    image_size: tuple[int, int],
    extractor: str = EXTRACTOR,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Guess (sizes, angles) of SIFT keypoints from descriptors and positions alone.

    rows       (N, 128) descriptors as `encoders.scale_descriptors` gives them
    keypoints  (N, 2) positions in pixels
    returns    diameters in pixels, and angles in degrees, 0 ≤ angle < 360, as OpenCV has them:
               clockwise, y down

    Angles are mostly right, sizes only roughly. No keypoints give two empty arrays; a keypoint
    without neighbours gets the likeliest frame of its descriptor.
    """
    if extractor != EXTRACTOR:
        raise Mismatch(
            f"frames can be inferred from {EXTRACTOR} descriptors, these are {extractor}; "
            "leave frames out."
        )
    return _shipped().infer(rows, keypoints, image_size)


class FrameNetwork:
    """An exported network for frames, loaded once."""

    def __init__(self, path: str | Path, *, threads: int | None = None) -> None:
        self._file = OnnxFile(path, threads=threads, what="a network for frames")
        try:
            description = parse_json(self._file.metadata[METADATA])
            self.neighbours = check_count("neighbours", description["neighbours"], low=1, high=256)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"{path} is not a network for frames of sfumato.") from error

    def infer(
        self, rows: NDArray[Any], keypoints: NDArray[Any], image_size: tuple[int, int]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """See `infer_frames`."""
        table, points = _check(rows, keypoints, image_size)
        near = find_neighbourhood(points, image_size, self.neighbours)
        if not len(table):
            empty = np.empty(0, dtype=np.float32)
            return empty, empty.copy()
        values = (table, near.index, near.edges, near.border)
        logits, sizes = self._file.run(dict(zip(INPUTS, values, strict=True)))
        return np.exp2(sizes).astype(np.float32), peak_angles(logits)


def peak_angles(logits: NDArray[Any]) -> NDArray[np.float32]:
    """Degrees of the likeliest direction of each row, refined by the weight around it."""
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    smooth = odds + np.roll(odds, 1, axis=1) + np.roll(odds, -1, axis=1)
    around = (smooth.argmax(axis=1)[:, None] + np.arange(-2, 3)) % BINS
    turn = np.deg2rad(around * (360 / BINS))
    weight = np.take_along_axis(odds, around, axis=1)
    angle = np.arctan2((weight * np.sin(turn)).sum(axis=1), (weight * np.cos(turn)).sum(axis=1))
    degrees = np.asarray(np.rad2deg(angle) % 360, dtype=np.float32)
    return np.where(degrees >= 360, np.float32(0), degrees)  # rounding may reach the full turn


def turn_errors(angles: NDArray[Any], truth: NDArray[Any]) -> NDArray[np.float64]:
    """Degrees between angles, 0…180, the short way round."""
    apart = (np.asarray(angles, np.float64) - np.asarray(truth, np.float64) + 180) % 360
    return np.abs(apart - 180)


def _check(
    rows: NDArray[Any], keypoints: NDArray[Any], image_size: tuple[int, int]
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    table = np.asarray(rows)
    points = np.asarray(keypoints, dtype=np.float64)
    check_shape("rows", table, (None, COLUMNS))
    check_shape("keypoints", points, (len(table), 2))
    check_finite("rows", table)
    check_finite("keypoints", points)
    largest = float(np.abs(table).max(initial=0))
    if largest > _LARGEST_ROW:
        raise InvalidInput(
            f"rows must be numbers of order 1, the largest is {largest:g}; "
            "pass descriptors through scale_descriptors first."
        )
    check_keypoints(points, check_image_size(image_size))
    return table.astype(np.float32), points


@cache
def _shipped() -> FrameNetwork:
    return FrameNetwork(SHIPPED)
