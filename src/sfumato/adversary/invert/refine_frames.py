"""Frames that a release does not carry, found by painting: ours.

A painting made with roughly right frames shows roughly the right picture. SIFT of the *painting*,
taken at a keypoint with the right size and angle, then resembles the descriptor that was sent;
taken with a wrong one it does not. So: paint, try sizes and angles on the painting, keep the one
that agrees best, paint again. No training, no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.encoders import FRAME, Encoded, with_frames
from sfumato.core.geometry import unit_vectors

Floats = NDArray[np.float32]

# SIFT's own numbers, as OpenCV has them: blur of the first layer, layers of an octave.
_SIGMA, _LAYERS = 1.6, 3
_SMALLEST, _LARGEST = 1.85, 64.0  # diameters, in pixels
_BLOCK = 1000  # keypoints tried at once
_WHITE = 255


@dataclass(frozen=True)
class Search:
    """Frames to try: octaves above the smallest or around the present size, turns in degrees."""

    octaves: tuple[float, ...]
    turns: tuple[float, ...]
    around: bool = False


_SIZES = tuple(np.arange(0, 4.3, 0.25))
_ANY_ANGLE = tuple(range(0, 360, 30))
#: Wide at first, since some inferred angles are wild; then near the frames found.
ROUNDS = (
    Search(_SIZES[::2], _ANY_ANGLE),
    Search(_SIZES[::2], _ANY_ANGLE),
    Search(_SIZES, (-15, 0, 15)),
    Search((-1, -0.6, -0.35, -0.15, 0, 0.15, 0.35, 0.6, 1), (-8, 0, 8), around=True),
)


def refine_frames(
    seen: Encoded, paint: Callable[[Encoded], Floats], rounds: tuple[Search, ...] = ROUNDS
) -> Encoded:
    """SIFT rows with the frames that agree best with what is painted from them.

    seen   rows with frames to begin with, inferred ones
    paint  makes a picture (H, W, 3) in 0…1 of such rows
    """
    bare = Encoded(seen.rows[:, :-FRAME], seen.keypoints, seen.image_size)
    certainty = np.hypot(seen.rows[:, -2], seen.rows[:, -1])
    sent = unit_vectors(bare.rows, np.float32)
    for search in rounds:
        grey = cv2.cvtColor(np.asarray(paint(seen), np.float32), cv2.COLOR_RGB2GRAY)
        eight_bits = np.rint(np.clip(grey, 0, 1) * _WHITE).astype(np.uint8)
        parts = [
            _best_frames(eight_bits, sent[begin : begin + _BLOCK], seen, begin, search)
            for begin in range(0, len(seen), _BLOCK)
        ]
        sizes, angles = (np.concatenate(part) for part in zip(*parts, strict=True))
        seen = with_frames(bare, sizes, angles, certainty=certainty)
    return seen


def _best_frames(
    grey: NDArray[np.uint8], sent: Floats, seen: Encoded, begin: int, search: Search
) -> tuple[Floats, Floats]:
    """Sizes and angles of some keypoints under which the painting's SIFT is nearest to theirs."""
    rows = slice(begin, begin + len(sent))
    assert seen.scales is not None
    assert seen.angles is not None
    base = seen.scales[rows] if search.around else np.full(len(sent), _SMALLEST, np.float32)
    octaves = np.repeat(search.octaves, len(search.turns))[:, None]
    turns = np.tile(search.turns, len(search.octaves))[:, None]
    sizes = np.clip(base * np.exp2(octaves), _SMALLEST, _LARGEST)
    angles = (seen.angles[rows] + turns) % 360
    sizes, angles = (np.broadcast_to(x, sizes.shape).astype(np.float32) for x in (sizes, angles))
    places = np.tile(seen.keypoints[rows], (len(sizes), 1))
    shown = describe(grey, places, sizes.ravel(), angles.ravel())
    alike = np.einsum("cnd,nd->cn", shown.reshape(*sizes.shape, -1), sent)
    best = alike.argmax(axis=0), np.arange(len(sent))
    return sizes[best], angles[best]


def describe(grey: NDArray[np.uint8], places: Floats, sizes: Floats, angles: Floats) -> Floats:
    """SIFT of a picture at given frames: square roots of unit length, as rows are scaled."""
    octave = np.floor(np.log2(sizes / _SIGMA) - 0.5 / _LAYERS + 1e-6)
    layer = np.clip(np.rint((np.log2(sizes / _SIGMA) - octave) * _LAYERS), 1, _LAYERS)
    # OpenCV packs which picture of its pyramid a keypoint is of; −1 is the doubled one.
    packed = ((octave.astype(int) - 1) & 255) | (layer.astype(int) << 8)
    columns: Any = (places[:, 0], places[:, 1], sizes, angles)
    points = [
        cv2.KeyPoint(x, y, size, angle, 1.0, which)
        for x, y, size, angle, which in zip(*(c.tolist() for c in (*columns, packed)), strict=True)
    ]
    found, descriptors = cv2.SIFT.create().compute(grey, points)
    if len(found) != len(points):
        raise RuntimeError("OpenCV's SIFT dropped keypoints that it was given")
    return np.asarray(unit_vectors(np.sqrt(descriptors), np.float32))
