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
_DOT = 3.2


def star_path(word: NDArray[Any], left: float, top: float, size: float) -> str:
    """SVG path data of one word in a square: a stroke per cell and direction."""
    strength = np.asarray(word, dtype=np.float64).reshape(_CELLS, _CELLS, _DIRECTIONS)
    strength = strength / max(float(strength.max()), 1e-9)
    cell = size / _CELLS
    path: list[str] = []
    for row in range(_CELLS):
        for column in range(_CELLS):
            x, y = left + (column + 0.5) * cell, top + (row + 0.5) * cell
            for direction in range(_DIRECTIONS):
                length = float(strength[row, column, direction])
                if length < _FAINT:
                    continue
                angle = direction * math.pi / 4  # counter-clockwise, while y points down
                dx = 0.56 * cell * length * math.cos(angle)
                dy = -0.56 * cell * length * math.sin(angle)
                path.append(f"M{x:.1f} {y:.1f}l{dx:.1f} {dy:.1f}")
    return "".join(path)


def star_tile(word: NDArray[Any], label: str) -> str:
    """One word, large, as an SVG of its own."""
    return (
        f'<svg class="tile" viewBox="0 0 100 100" role="img" aria-label="{label}">'
        '<rect class="ground" width="100" height="100" rx="10"/>'
        f'<path class="star" d="{star_path(word, 8, 8, 84)}"/></svg>'
    )


def release_figure(release: WordRelease, dictionary: Dictionary) -> str:
    """All a server receives of one picture: every position, and words where there is room."""
    width, height = release.image_size
    drawn = roomy_rows(release.keypoints, release.image_size, _SPACING)
    stars = "".join(
        star_path(dictionary.words[release.words[row, 0]], x - _GLYPH / 2, y - _GLYPH / 2, _GLYPH)
        for row in drawn.tolist()
        for x, y in [release.keypoints[row].tolist()]
    )
    dots = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in release.keypoints.tolist())
    label = (
        f"{len(release)} positions with {release.subset_size} random words each; "
        f"{len(drawn)} of the words are drawn as small stars"
    )
    return (
        f'<svg class="picture" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        f'<rect class="ground" width="{width}" height="{height}"/>'
        f'<path class="dots" d="{dots}" stroke-width="{_DOT}"/>'
        f'<path class="star" d="{stars}"/></svg>'
    )


def roomy_rows(
    keypoints: NDArray[np.float32], image_size: tuple[int, int], spacing: float
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
