"""Positions as the wire format has them: on a grid of 16-bit numbers, and in one order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def position_shift(image_size: tuple[int, int]) -> int:
    """Positions are 16-bit multiples of 2^−shift pixels: 1/8 px up to 8192 px, then coarser."""
    longest = max(image_size)
    return min(3, 16 - (longest - 1).bit_length())


def snap(keypoints: NDArray[Any], image_size: tuple[int, int]) -> NDArray[np.uint16]:
    """Put positions on the grid of the wire format, as whole multiples of its step."""
    scale = 1 << position_shift(image_size)
    limit = np.array([image_size[0] - 1, image_size[1] - 1]) * scale
    steps = np.rint(np.asarray(keypoints, dtype=np.float64) * scale)
    return np.clip(steps, 0, limit).astype(np.uint16)


def unsnap(steps: NDArray[Any], image_size: tuple[int, int]) -> NDArray[np.float32]:
    """Positions on the grid, in pixels."""
    return np.asarray(steps / np.float32(1 << position_shift(image_size)), dtype=np.float32)


def canonical_order(
    steps: NDArray[np.uint16], contents: Sequence[NDArray[Any]]
) -> NDArray[np.intp]:
    """The one order of rows: by y, by x, then by the bytes of their contents."""
    place = steps[:, 1].astype(np.uint32) << 16 | steps[:, 0]
    order = np.argsort(place, kind="stable")
    ranked = place[order]
    tied = np.zeros(len(order), dtype=bool)
    tied[1:] = ranked[1:] == ranked[:-1]
    tied[:-1] |= tied[1:]
    if tied.any():  # several orientations at one position: their content decides
        rows = order[tied]
        content = np.concatenate([_row_bytes(values[rows]) for values in contents], axis=1)
        keys = np.ascontiguousarray(content).view(f"S{content.shape[1]}")[:, 0]
        order[tied] = rows[np.lexsort((keys, place[rows]))]
    return order


def _row_bytes(rows: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(rows).reshape(len(rows), -1).view(np.uint8)
