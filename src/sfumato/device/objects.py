"""How many descriptors see one object: the number a guarantee for a face depends on.

A descriptor measures more than the spot where its keypoint lies. Whoever asks what a release says
about a face must count every descriptor whose support touches the face, wherever its keypoint is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number, check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Features
from sfumato.detectors.base import Detector
from sfumato.detectors.run import TIMEOUT, detect

#: How far a descriptor sees, in diameters of its keypoint. Of OpenCV's SIFT: the corner of the
#: turned 4×4 grid with its interpolation is at 3·½·√2·2.5 = 5.3, the blur before it reaches four or
#: five standard deviations further, 2 to 2.5. A test changes everything beyond in several ways and
#: finds the same descriptor.
REACH = {"sift": 8.0, "rootsift": 8.0, "sift-harris": 8.0}
_CELLS = 1 << 22  # of the raster on which windows are counted


def support_radius(features: Features, reach: float | None = None) -> NDArray[np.float64]:
    """How far from its keypoint each descriptor sees, in pixels.

    reach  in diameters of the keypoint; needed for extractors whose reach is not known here
    """
    if reach is None:
        reach = REACH.get(features.extractor)
        if reach is None:
            raise InvalidInput(
                f"how far {features.extractor!r} descriptors see is not known; give reach, in "
                "diameters of a keypoint (SIFT: 8)."
            )
    if not 0 < as_number("reach", reach) < math.inf:
        raise InvalidInput(f"reach must be a positive number of diameters, got {reach!r}.")
    return features.scales.astype(np.float64) * reach


def _check_size(size: tuple[float, float]) -> tuple[float, float]:
    if not isinstance(size, tuple | list) or len(size) != 2:
        raise InvalidInput(f"an object needs a width and a height in pixels, got {size!r}.")
    for name, side in zip(("width", "height"), size, strict=True):
        if not 0 < as_number(f"the {name} of an object", side) < math.inf:
            raise InvalidInput(f"an object needs a positive {name} in pixels, got {side!r}.")
    return size[0], size[1]


def count_in_boxes(
    features: Features, boxes: NDArray[np.float64], reach: float | None = None
) -> NDArray[np.int64]:
    """For each box (left, top, right, bottom): how many descriptors see into it."""
    radius = support_radius(features, reach)
    x, y = features.keypoints.astype(np.float64).T
    counts = [
        np.count_nonzero(
            np.hypot(
                np.maximum(np.maximum(left - x, x - right), 0),
                np.maximum(np.maximum(top - y, y - bottom), 0),
            )
            <= radius
        )
        for left, top, right, bottom in np.asarray(boxes, dtype=np.float64).reshape(-1, 4)
    ]
    return np.array(counts, dtype=np.int64)


def most_in_window(
    features: Features, size: tuple[float, float], reach: float | None = None
) -> int:
    """The most descriptors that see into any window of this width and height; never too few."""
    if not len(features):
        return 0
    raster = _Raster(features, size, reach)
    for left, top, right, bottom in raster.spans:
        raster.counts[top, left] += 1
        raster.counts[top, right] -= 1
        raster.counts[bottom, left] -= 1
        raster.counts[bottom, right] += 1
    return int(raster.counts.cumsum(axis=0).cumsum(axis=1).max())


@dataclass(frozen=True)
class CapDensity:
    """Keep keypoints, strongest first, as long as no window is seen by more than `count`.

    size   width and height of the window in pixels: an object that must stay private
    reach  how far a descriptor sees, in diameters of its keypoint

    With a mechanism of ε per descriptor, whatever stands in any such window is protected as
    `count` answers are: a promise that holds for every picture, before it is taken. Positions and
    their number stay outside it.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> sf.protect(picture, sf.Pipeline(sf.Plain(), filters=(sf.CapDensity(2, (8, 8)),)))
    PlainRelease(2 keypoints, raw sift descriptors, not private)
    """

    count: int
    size: tuple[float, float]
    reach: float | None = None

    def __post_init__(self) -> None:
        check_count("count", self.count, low=1, why="a cap below one keypoint would send nothing")
        _check_size(self.size)

    def __call__(self, features: Features, *, rng: object = None) -> Features:
        if not len(features):
            return features
        raster = _Raster(features, self.size, self.reach)
        kept = []
        for row in np.argsort(-features.scores, kind="stable"):
            left, top, right, bottom = raster.spans[row]
            windows = raster.counts[top:bottom, left:right]
            if windows.max() < self.count:
                windows += 1
                kept.append(row)
        return features.take(np.array(kept, dtype=np.int64))


@dataclass(frozen=True)
class CountSeen:
    """Keep every keypoint, and report the most that see into any window of this size."""

    size: tuple[float, float]
    report: Callable[[int], None]

    def __call__(self, features: Features, *, rng: object = None) -> Features:
        self.report(most_in_window(features, self.size))
        return features


@dataclass(frozen=True)
class SeenObject:
    """One object that a detector found. For the device's own eyes: it says where something is.

    what     its class, such as "face"
    box      left, top, right, bottom in pixels
    seen_by  descriptors that see into the box
    """

    what: str
    box: tuple[float, float, float, float]
    seen_by: int


@dataclass(frozen=True)
class CountObjects:
    """Keep every keypoint, and report each object that detectors find and how many see into it.

    report   is told on the device; nothing of it is released
    reach    how far a descriptor sees, in diameters of its keypoint
    timeout  seconds for each detector

    It counts the keypoints that reach it: put it behind the filters that drop some. A detector
    that raises, hangs or answers nonsense stops the release.

    >>> from sfumato.detectors import GivenBoxes
    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> corner = GivenBoxes(sf.Boxes(np.array([[0.0, 0.0, 9.0, 9.0]]), ("logo",), np.ones(1)))
    >>> found = []
    >>> count = sf.CountObjects(corner, found.extend)
    >>> release = sf.protect(picture, sf.Pipeline(sf.Plain(), filters=(count,)))
    >>> [(one.what, one.seen_by) for one in found], len(release)
    ([('logo', 8)], 16)
    """

    detectors: Detector | Sequence[Detector]
    report: Callable[[Sequence[SeenObject]], None]
    reach: float | None = None
    timeout: float = TIMEOUT

    def look(
        self, features: Features, picture: NDArray[np.uint8], *, rng: object = None
    ) -> Features:
        """The features as they are, after a look at the picture they come from."""
        many = self.detectors
        detectors = tuple(many) if isinstance(many, Sequence) else (many,)
        found = []
        for boxes in detect(detectors, picture, timeout=self.timeout):
            counts = count_in_boxes(features, boxes.corners, self.reach)
            for what, box, count in zip(boxes.classes, boxes.corners, counts, strict=True):
                left, top, right, bottom = map(float, box)
                found.append(SeenObject(what, (left, top, right, bottom), int(count)))
        self.report(found)
        return features


class _Raster:
    """Counts for windows by their upper left corner, on cells of one or more pixels.

    A descriptor sees the windows whose corner lies in one rectangle. It is rounded outwards to
    whole cells, so a count is never too small.
    """

    def __init__(self, features: Features, size: tuple[float, float], reach: float | None) -> None:
        # An object larger than the picture is all of it.
        width, height = map(min, _check_size(size), features.image_size)
        radius = support_radius(features, reach)
        x, y = features.keypoints.astype(np.float64).T
        # Windows lie within the picture: a corner beyond it sees no more than one inside.
        most_x, most_y = features.image_size[0] - width, features.image_size[1] - height
        cell = max(1.0, math.sqrt((most_x + 1) * (most_y + 1) / _CELLS))
        columns, rows = int(most_x / cell) + 1, int(most_y / cell) + 1
        left = np.clip(np.floor((x - radius - width) / cell), 0, columns - 1)
        right = np.clip(np.floor((x + radius) / cell), 0, columns - 1) + 1
        top = np.clip(np.floor((y - radius - height) / cell), 0, rows - 1)
        bottom = np.clip(np.floor((y + radius) / cell), 0, rows - 1) + 1
        self.spans = np.stack([left, top, right, bottom], axis=1).astype(np.intp)
        self.counts = np.zeros((rows + 1, columns + 1), dtype=np.int32)
