"""What an empty region gives away: where someone or something was hidden, and how large it was.

Positions are sent in the clear. Suppression leaves a rectangle without keypoints amid keypoints,
and its sides are straight. This attack needs nothing but one release: it looks at all largest
empty rectangles and asks how many keypoints each would hold if it were like what lies around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.releases import KeypointRelease
from sfumato.detectors.base import Boxes, drop_repeats

_CELLS = 128  # along the longer side
_RING = 0.6  # how far around is looked, as a share of the shorter side
_SMALLEST = 0.05  # the shorter side, as a share of the picture's longer one
_LARGEST = 0.5  # of the picture's area; more is a blank picture
_SAME = 0.3
_SPARSE = 1e-3  # keypoints to a cell, so that one empty side is not all
_FEWEST = 20  # keypoints; with fewer, emptiness means nothing


@dataclass(frozen=True)
class HolesAttack:
    """Guess hidden boxes from positions alone, the likeliest first.

    min_missing  keypoints that must be missing from a rectangle to call it a hole
    max_guesses  how many are given at most
    """

    min_missing: float = 6.0
    max_guesses: int = 10

    def guess(self, release: KeypointRelease) -> Boxes:
        """Boxes where something may have been hidden; the score is the chance that it was."""
        return self.guess_from(release.keypoints, release.image_size)

    def guess_from(self, keypoints: NDArray[Any], image_size: tuple[int, int]) -> Boxes:
        if len(keypoints) < _FEWEST:
            return Boxes(np.zeros((0, 4)), (), np.zeros(0))
        width, height = image_size
        step = max(width, height) / _CELLS
        shape = (max(round(height / step), 1), max(round(width / step), 1))
        counts = np.zeros(shape)
        cells = np.floor((np.asarray(keypoints, dtype=np.float64) + 0.5) / step).astype(np.int64)
        rows = np.clip(cells[:, 1], 0, shape[0] - 1)
        columns = np.clip(cells[:, 0], 0, shape[1] - 1)
        np.add.at(counts, (rows, columns), 1.0)
        rectangles = np.array(list(empty_rectangles(counts > 0)), dtype=np.int64).reshape(-1, 4)
        sides = rectangles[:, 2:] - rectangles[:, :2]
        fits = sides.min(axis=1, initial=1 << 30) >= _SMALLEST * max(shape)
        fits &= sides.prod(axis=1) <= _LARGEST * counts.size
        rectangles = rectangles[fits]
        missing = missing_keypoints(counts, rectangles)
        chosen = missing >= self.min_missing
        rectangles, missing = rectangles[chosen], missing[chosen]
        best = drop_repeats(rectangles, missing, max_overlap=_SAME)[: self.max_guesses]
        corners = np.clip(rectangles[best] * step - 0.5, -0.5, np.array([width, height] * 2) - 0.5)
        scores = 1 - np.exp(-missing[best])  # a Poisson count would not be 0 with this chance
        return Boxes(corners, ("hole",) * len(best), scores)


def empty_rectangles(taken: NDArray[np.bool_]) -> Iterator[tuple[int, int, int, int]]:
    """Every rectangle of free cells that cannot grow: left, top, right, bottom (exclusive).

    One pass over rows with the heights of free columns, as the largest rectangle in a histogram
    is found; those that could still grow downward are left for a later row.
    """
    num_rows, num_columns = taken.shape
    heights = np.zeros(num_columns, dtype=np.int64)
    for row in range(num_rows):
        heights = np.where(taken[row], 0, heights + 1)
        below = np.zeros(num_columns + 1, dtype=np.int64)
        if row + 1 < num_rows:
            below[1:] = np.cumsum(taken[row + 1])
        else:
            below[1:] = np.arange(1, num_columns + 1)  # the border is as good as taken
        stack: list[tuple[int, int]] = []  # where a rectangle begins, and its height
        for column, height in enumerate([*heights.tolist(), 0]):
            start = column
            while stack and stack[-1][1] > height:
                start, tall = stack.pop()
                if below[column] > below[start]:
                    yield start, row + 1 - tall, column, row + 1
            if height and (not stack or stack[-1][1] < height):
                stack.append((start, height))


def missing_keypoints(counts: NDArray[np.float64], boxes: NDArray[np.int64]) -> NDArray[np.float64]:
    """How many keypoints each empty box would hold, were it like its surroundings.

    Density is taken on each side apart, and their geometric mean counts: sky above a roof is
    empty too, but it has few keypoints on three of its sides. Sides beyond the picture are left
    out.
    """
    table = np.zeros((counts.shape[0] + 1, counts.shape[1] + 1))
    table[1:, 1:] = counts.cumsum(axis=0).cumsum(axis=1)
    rows, columns = counts.shape
    left, top, right, bottom = boxes.T
    ring = np.maximum((_RING * np.minimum(right - left, bottom - top)).astype(np.int64), 2)
    sides = (
        (left - ring, top, left, bottom),
        (right, top, right + ring, bottom),
        (left, top - ring, right, top),
        (left, bottom, right, bottom + ring),
    )
    total, sides_seen = np.zeros(len(boxes)), np.zeros(len(boxes))
    for a, b, c, d in sides:
        a, c = np.clip(a, 0, columns), np.clip(c, 0, columns)
        b, d = np.clip(b, 0, rows), np.clip(d, 0, rows)
        number = table[d, c] - table[b, c] - table[d, a] + table[b, a]
        area = (c - a) * (d - b)
        total += np.where(area > 0, np.log(number / np.maximum(area, 1) + _SPARSE), 0.0)
        sides_seen += area > 0
    density = np.where(sides_seen > 0, np.exp(total / np.maximum(sides_seen, 1)), 0.0)
    return np.asarray(density * (right - left) * (bottom - top))
