"""Decoys in the hole that suppression leaves, so that the hole does not show.

The hole is covered with small patches of what lies around it, each turned, scaled and shaken at
random. So decoys are as dense, as near each other and as strong as keypoints outside are. Nothing
about them depends on what was hidden, not even their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_same_extractor
from sfumato.core.positions import position_shift, snap
from sfumato.core.randomness import RandomSource
from sfumato.core.types import Features
from sfumato.dictionary import Dictionary

_CELLS = 256  # along the longer side, on which free places are looked for
_PER_PATCH = 6  # keypoints on average: few enough that a patch is not known again
_SMALLEST = 12.0  # pixels
_CHOICES = 5  # sources drawn for each patch, of which the nearest is taken
_SCALES = (0.85, 1 / 0.85)
_SHAKE = 1.0  # pixels each way
_STEPS = 1 << 16  # of random angles, scales and shakes

Hole = Callable[[NDArray[np.float64]], NDArray[np.bool_]]


@dataclass(frozen=True)
class Decoys:
    """Fill a hole with keypoints that are none, each a uniformly drawn word.

    The ω-subset mechanism answers a uniform word with a uniform set, so a decoy carries no
    information. It is charged like a keypoint. Where hardly anything is left outside there is
    nothing to imitate, and no decoys are made. Someone who has the scene from elsewhere, or a
    second picture of it, can tell decoys by what they do not match.

    >>> from sfumato.detectors import GivenBoxes
    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> left = GivenBoxes(sf.Boxes(np.array([[0.0, 0.0, 20.0, 63.0]]), ("left",), np.ones(1)))
    >>> hidden = sf.Suppress(left, decoys=sf.Decoys(sf.Dictionary.load("bsds-16k")))
    >>> sf.protect(picture, sf.Pipeline(sf.Plain(), filters=(hidden,))).extractor
    'sift'
    """

    dictionary: Dictionary

    def fill(self, kept: Features, hole: Hole, *, rng: RandomSource) -> Features:
        """The features outside, and decoys where `hole` says that keypoints were dropped."""
        check_same_extractor(
            "the dictionary", self.dictionary.extractor, "the picture", kept.extractor
        )
        places, like = _patchwork(kept, hole, rng)
        words = rng.below(self.dictionary.num_words, len(places))
        described = np.asarray(self.dictionary.words[words]).astype(
            kept.descriptors.dtype, copy=False
        )
        return Features(
            keypoints=np.concatenate([kept.keypoints, places.astype(np.float32)]),
            descriptors=np.concatenate([kept.descriptors, described]),
            scores=np.concatenate([kept.scores, kept.scores[like]]),
            scales=np.concatenate([kept.scales, kept.scales[like]]),
            angles=np.concatenate([kept.angles, kept.angles[like]]),
            image_size=kept.image_size,
            extractor=kept.extractor,
        )


def _patchwork(
    kept: Features, hole: Hole, rng: RandomSource
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Places of decoys on the grid of the release, and the keypoint each was copied from."""
    nothing = np.zeros((0, 2)), np.zeros(0, dtype=np.int64)
    if len(kept) < 2:
        return nothing
    ground = _Ground.survey(kept, hole)
    side = max(math.sqrt(_PER_PATCH * ground.open_area / len(kept)), _SMALLEST)
    sources = ground.sources(side)
    while not len(sources) and side > _SMALLEST:
        side = max(side / 2, _SMALLEST)
        sources = ground.sources(side)
    targets = ground.targets(side, rng)
    if not len(sources) or not len(targets):
        return nothing
    places, like = [], []
    for target in targets:
        drawn = sources[rng.below(len(sources), _CHOICES).astype(np.int64)]
        source = drawn[np.linalg.norm(drawn - target, axis=1).argmin()]
        moved, rows = _patch(ground.points, source, side, rng)
        places.append(moved + target)
        like.append(rows)
    shift = position_shift(kept.image_size)
    spots = np.concatenate(places)
    rows = np.concatenate(like)
    fits = ((spots >= ground.low) & (spots <= ground.high)).all(axis=1)
    spots, rows = spots[fits], rows[fits]
    spots = np.asarray(snap(spots, kept.image_size) / (1 << shift))
    inside = hole(spots)
    return spots[inside], rows[inside]


def _patch(
    points: NDArray[np.float64], source: NDArray[np.float64], side: float, rng: RandomSource
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The keypoints of a square around `source` as offsets, turned, scaled and shaken."""
    turn, size, mirror = (float(value) / _STEPS for value in rng.below(_STEPS, 3))
    scale = _SCALES[0] * (_SCALES[1] / _SCALES[0]) ** size
    cosine, sine = math.cos(2 * math.pi * turn), math.sin(2 * math.pi * turn)
    matrix = scale * np.array([[cosine, -sine], [sine, cosine]])
    if mirror < 0.5:
        matrix[0] *= -1
    offsets = (points - source) @ matrix.T
    rows = np.flatnonzero((np.abs(offsets) <= side / 2).all(axis=1))
    # Keypoints that share a place (SIFT gives one for each orientation) are shaken as one.
    _, shared = np.unique(points[rows], axis=0, return_inverse=True)
    shakes = rng.below(_STEPS, 2 * len(rows)).reshape(-1, 2) / _STEPS * 2 - 1
    return offsets[rows] + _SHAKE * shakes[shared.ravel()], rows


@dataclass(frozen=True, eq=False)
class _Ground:
    """Where patches can come from and must go.

    low, high  the outermost keypoints: detectors find nothing at the border of a picture
    hidden     (rows, columns) cells of `step` pixels in the hole
    clear      how far, in pixels, each cell is from the hole and from the border
    """

    points: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    step: int
    hidden: NDArray[np.bool_]
    clear: NDArray[np.float64]

    @classmethod
    def survey(cls, kept: Features, hole: Hole) -> _Ground:
        width, height = kept.image_size
        step = -(-max(width, height) // _CELLS)
        shape = (-(-height // step), -(-width // step))
        rows, columns = np.indices(shape).reshape(2, -1)
        centres = np.column_stack([columns, rows]) * step + (step - 1) / 2
        points = np.asarray(kept.keypoints, dtype=np.float64)
        low, high = points.min(axis=0), points.max(axis=0)
        usable = ((centres >= low) & (centres <= high)).all(axis=1).reshape(shape)
        hidden = hole(centres.astype(np.float64)).reshape(shape) & usable
        framed = np.pad(usable & ~hidden, 1)
        distance = cv2.distanceTransform(
            framed.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE
        )
        clear = distance[1:-1, 1:-1].astype(np.float64) * step
        return cls(points, low, high, step, hidden, clear)

    @property
    def open_area(self) -> float:
        return float(np.count_nonzero(self.clear)) * self.step**2

    def sources(self, side: float) -> NDArray[np.float64]:
        """(N, 2) places around which a turned and scaled patch is wholly outside the hole."""
        reach = side / math.sqrt(2) / _SCALES[0]
        return self._centres(self.clear >= reach)

    def targets(self, side: float, rng: RandomSource) -> NDArray[np.float64]:
        """(N, 2) middles of patches that cover the hole, a grid begun at a random place."""
        cells = self._centres(self.hidden)
        if not len(cells):
            return cells
        begin = cells.min(axis=0) - side * (rng.below(_STEPS, 2) / _STEPS)
        corners = np.unique(np.floor((cells - begin) / side), axis=0) * side + begin
        return np.asarray(corners + side / 2)

    def _centres(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        rows, columns = np.nonzero(chosen)
        corners = np.column_stack([columns, rows]).astype(np.float64) * self.step
        return np.asarray(corners + (self.step - 1) / 2, dtype=np.float64)
