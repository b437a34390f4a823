"""Which few keypoints leave: those that would be found and matched again from elsewhere.

The device turns its own picture into what other views of it might be, squeezed as a wall is when
seen from the side, or smaller as from farther away. A keypoint survives a view if its descriptor
there is nearest to its own, and at the right place. Strength alone predicts this badly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import RandomSource
from sfumato.core.types import Features
from sfumato.features import EXTRACTORS, extract
from sfumato.features.extractors import Extractor

#: Views that are tried: direction of the squeeze in degrees, squeeze, then scale of the whole.
VIEWS = (
    (0, 0.6, 1.0),
    (90, 0.6, 1.0),
    (45, 0.6, 1.0),
    (135, 0.6, 1.0),
    (0, 0.4, 1.0),
    (0, 1.0, 0.6),
)
_MAX_DISTANCE = 2.0  # pixels of the view
_BLUR = 0.8  # of a camera, in pixels: what is squeezed must not alias
_BLOCK = 512  # rows of one product
_MIN_SIDE = 16  # a view is never made smaller than this


@dataclass(frozen=True)
class KeepStable:
    """Keep the `count` keypoints that survive most views of the picture, the strongest of equals.

    For queries against a map that has all keypoints of its own pictures. Where both sides keep
    few, they should keep the same ones, and strength agrees better. Takes some seconds a
    picture. Fewer keypoints cost less, N·ε per picture; positions are not protected.

    extractor  what described the picture, where that is your own or a network; others are known
               by the features' name

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> len(sf.protect(picture, sf.Pipeline(sf.Plain(), filters=(sf.KeepStable(5),))))
    5
    """

    count: int
    extractor: str | Extractor | None = None

    def __post_init__(self) -> None:
        check_count("count", self.count, low=0)

    def look(
        self, features: Features, picture: NDArray[np.uint8], *, rng: RandomSource
    ) -> Features:
        kept = stable_order(features, survivals(features, picture, self.extractor))[: self.count]
        strength = np.argsort(-features.scores[kept], kind="stable")
        return features.take(kept[strength])


def stable_order(features: Features, survived: NDArray[np.int64]) -> NDArray[np.int64]:
    """All rows: those that survived most views first, then by strength."""
    return np.asarray(np.lexsort((-features.scores, -survived)), dtype=np.int64)


def survivals(
    features: Features, picture: NDArray[np.uint8], extractor: str | Extractor | None = None
) -> NDArray[np.int64]:
    """In how many of VIEWS each keypoint is found and matched again; (N,)."""
    height, width = picture.shape[:2]
    if features.image_size != (width, height):
        raise InvalidInput(
            f"the features are of a picture of {features.image_size[0]}×{features.image_size[1]}, "
            f"this one has {width}×{height}; give the picture they were extracted from."
        )
    times_seen = np.zeros(len(features), dtype=np.int64)
    if not len(features):
        return times_seen
    own = _vectors(features)
    for view in VIEWS:
        seen, affine = _seen_from(picture, *view)
        there = extract(seen, extractor or features.extractor)
        if not len(there):
            continue
        expected = features.keypoints @ affine[:, :2].T + affine[:, 2]
        nearest, is_mutual = _mutual_nearest(own, _vectors(there))
        away = np.linalg.norm(there.keypoints[nearest] - expected, axis=1)
        times_seen += is_mutual & (away <= _MAX_DISTANCE)
    return times_seen


def _seen_from(
    picture: NDArray[np.uint8], direction_deg: float, squeeze: float, scale: float
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The picture squeezed along a direction, blurred first, and the map (2, 3) of its pixels."""
    height, width = picture.shape[:2]
    angle = math.radians(direction_deg)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    sizes = np.array([squeeze, 1.0]) * scale
    linear = turn @ np.diag(sizes) @ turn.T
    corners = np.array([[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]])
    placed = corners @ linear.T
    low = placed.min(axis=0)
    size = np.maximum(np.ceil(placed.max(axis=0) - low).astype(int) + 1, _MIN_SIDE)
    affine = np.hstack([linear, -low[:, None]])
    variances = _BLUR**2 * (1 / sizes**2 - 1) + 1e-4
    spread = turn @ np.diag(variances) @ turn.T
    blurred = cv2.filter2D(picture, -1, _gaussian(spread))
    seen = cv2.warpAffine(blurred, affine, (int(size[0]), int(size[1])), flags=cv2.INTER_LINEAR)
    return np.asarray(seen, dtype=np.uint8), affine


def _gaussian(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    reach = math.ceil(3 * math.sqrt(float(covariance.max())))
    grid = np.stack(np.meshgrid(*2 * [np.arange(-reach, reach + 1)]), axis=-1)
    inverse = np.linalg.inv(covariance)
    kernel = np.exp(-0.5 * np.einsum("...i,ij,...j->...", grid, inverse, grid))
    return np.asarray(kernel / kernel.sum())


def _vectors(features: Features) -> NDArray[np.float32]:
    """Descriptors of unit length, so that the nearest has the largest product."""
    spec = EXTRACTORS.get(features.extractor)
    if spec is not None and spec.binary:
        # ±1 for each bit: all have one length already.
        values = 2 * np.unpackbits(features.descriptors, axis=1).astype(np.float32) - 1
    else:
        values = features.descriptors.astype(np.float32)
    return unit_vectors(values, np.float32)


def _mutual_nearest(
    first: NDArray[np.float32], second: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each row of first its nearest in second, and whether that is mutual."""
    nearest = np.empty(len(first), dtype=np.int64)
    best = np.full(len(second), -np.inf, dtype=np.float32)
    back = np.zeros(len(second), dtype=np.int64)
    for start in range(0, len(first), _BLOCK):
        block = first[start : start + _BLOCK] @ second.T
        nearest[start : start + len(block)] = block.argmax(axis=1)
        row = block.argmax(axis=0)
        value = block[row, np.arange(len(second))]
        better = value > best
        best[better], back[better] = value[better], row[better] + start
    return nearest, back[nearest] == np.arange(len(first))
