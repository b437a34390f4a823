"""Words as a person can see them: the gradients of a SIFT descriptor, drawn as stars.

A word is 4×4 cells with the strength of 8 directions each. The device sends neither scale nor
rotation, so a word is drawn upright and in one size: that is all the server knows of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.releases import WordRelease
from sfumato.dictionary import Dictionary

_CELLS, _DIRECTIONS = 4, 8
_FAINT = 0.12  # of the strongest direction: shorter strokes would only blur the star
_GLYPH = 34.0  # pixels of the picture that one word is drawn in
_SPACING = 44.0


def star_path(word: NDArray[Any], left: float, top: float, size: float) -> str:
    """SVG path data of one word in a square: a stroke per cell and direction."""
    strength = np.asarray(word, dtype=np.float64).reshape(_CELLS, _CELLS, _DIRECTIONS)
    strength = strength / max(float(strength.max()), 1e-9)
    cell = size / _CELLS
    path = []
    for row, column, direction in np.argwhere(strength >= _FAINT).tolist():
        x, y = left + (column + 0.5) * cell, top + (row + 0.5) * cell
        length = 0.56 * cell * float(strength[row, column, direction])
        angle = direction * math.pi / 4  # counter-clockwise, while y points down
        dx, dy = length * math.cos(angle), -length * math.sin(angle)
        path.append(f"M{x:.1f} {y:.1f}l{dx:.1f} {dy:.1f}")
    return "".join(path)


def stars_path(release: WordRelease, rows: NDArray[np.int64], dictionary: Dictionary) -> str:
    """The first word of each of these rows, small, at its position."""
    half = _GLYPH / 2
    return "".join(
        star_path(dictionary.words[release.words[row, 0]], x - half, y - half, _GLYPH)
        for row, (x, y) in zip(rows.tolist(), release.keypoints[rows].tolist(), strict=True)
    )


def dots_path(positions: NDArray[Any]) -> str:
    """A dot for each position."""
    return "".join(f"M{x:.0f} {y:.0f}h0" for x, y in positions.tolist())


def roomy_rows(
    keypoints: NDArray[np.float32], image_size: tuple[int, int], spacing: float = _SPACING
) -> NDArray[np.int64]:
    """Rows that lie apart from each other and from the border, taken one after the other."""
    width, height = image_size
    taken: list[int] = []
    places = np.empty((0, 2))
    for row in np.random.default_rng(0).permutation(len(keypoints)).tolist():
        x, y = keypoints[row].tolist()
        inside = (
            spacing / 2 <= x <= width - spacing / 2 and spacing / 2 <= y <= height - spacing / 2
        )
        if inside and (np.abs(places - (x, y)).max(axis=1, initial=0) >= spacing).all():
            taken.append(row)
            places = np.vstack([places, (x, y)])
    return np.array(sorted(taken), dtype=np.int64)
