"""The compiled inner loops of `dcaconv.py`.

Pictures lie innermost: (h, w, pictures). A row of the picture is then one long run of memory,
and a filter adds shifted runs to each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]

#: Pictures side by side: a row of 28 pixels of them stays in a core's first cache.
LANES = 64


@njit(cache=True, nogil=True, fastmath={"contract"})
def _add_shifted(
    out: Array, a: Array, b: Array, c: Array, d: Array, weights: Array
) -> None:  # pragma: no cover - compiled
    """out += Σ weight·run, four runs at a time so that the sum is fetched once for four."""
    u, v, w, z = weights[0], weights[1], weights[2], weights[3]
    for x in range(out.size):
        out[x] += u * a[x] + v * b[x] + w * c[x] + z * d[x]


@njit(cache=True, nogil=True)
def _correlate(padded: Array, kernel: Array, out: Array) -> None:  # pragma: no cover - compiled
    """out (h, w, lanes) = padded (h + k − 1, w + k − 1, lanes) ⋆ kernel (k, k)."""
    height, width, lanes = out.shape
    size = kernel.shape[0]
    taps = (size * size + 3) // 4 * 4
    weights = np.zeros(taps, dtype=padded.dtype)
    weights[: size * size] = kernel.ravel()
    run = width * lanes
    source, target = padded.ravel(), out.ravel()
    starts = np.zeros(taps, dtype=np.int64)
    for y in range(height):
        for t in range(size * size):
            starts[t] = ((y + t // size) * padded.shape[1] + t % size) * lanes
        row = target[y * run : (y + 1) * run]
        row[:] = 0
        for t in range(0, taps, 4):
            _add_shifted(
                row,
                source[starts[t] : starts[t] + run],
                source[starts[t + 1] : starts[t + 1] + run],
                source[starts[t + 2] : starts[t + 2] + run],
                source[starts[t + 3] : starts[t + 3] + run],
                weights[t : t + 4],
            )


@njit(cache=True, nogil=True)
def correlate_all(pictures: Array, kernel: Array) -> Array:  # pragma: no cover - compiled
    """Every picture ⋆ kernel, zeros around; (h, w, N) in and out."""
    height, width, count = pictures.shape
    half, size = kernel.shape[0] // 2, kernel.shape[0]
    out = np.empty_like(pictures)
    padded = np.zeros((height + size - 1, width + size - 1, LANES), dtype=pictures.dtype)
    response = np.empty((height, width, LANES), dtype=pictures.dtype)
    for start in range(0, count, LANES):
        lanes = min(LANES, count - start)
        padded[half : half + height, half : half + width, :lanes] = pictures[
            :, :, start : start + lanes
        ]
        _correlate(padded, kernel, response)
        out[:, :, start : start + lanes] = response[:, :, :lanes]
    return out


@njit(cache=True, nogil=True)
def pool_patches(moment: Array, size: int) -> Array:  # pragma: no cover - compiled
    """Σ_j P_j·M·P_jᵀ over all positions j: the second moment of patches from that of pictures.

    moment (h, w, h, w); P_j cuts the size×size patch around pixel j, zeros outside the picture.
    """
    height, width = moment.shape[:2]
    half = size // 2
    out = np.zeros((size, size, size, size))
    for i in range(size):
        for j in range(size):
            for k in range(size):
                top, bottom = max(half - min(i, k), 0), height + min(half - max(i, k), 0)
                for m in range(size):
                    left, right = max(half - min(j, m), 0), width + min(half - max(j, m), 0)
                    total = 0.0
                    for y in range(top, bottom):
                        for x in range(left, right):
                            total += moment[y + i - half, x + j - half, y + k - half, x + m - half]
                    out[i, j, k, m] = total
    return out.reshape(size * size, size * size)


@njit(cache=True, nogil=True)
def encode(
    pictures: Array, first: Array, second: Array, zero: float, pool: int, out: Array
) -> None:  # pragma: no cover - compiled
    """Fill out (L1, h − pool + 1, w − pool + 1, LANES) with the max-pooled codes of LANES pictures.

    pictures (h, w, LANES), first (L1, k, k), second (L1, L2, k, k). A response within `zero` of
    the picture's largest value counts as 0, so that rounding never decides a bit on a flat part
    of the picture.
    """
    height, width, lanes = pictures.shape
    size = first.shape[1]
    half = size // 2
    outer = np.zeros((height + size - 1, width + size - 1, lanes), dtype=pictures.dtype)
    inner = np.zeros_like(outer)
    response = np.empty_like(pictures)
    codes = np.empty(pictures.shape, dtype=np.uint8)
    limits = np.zeros(lanes, dtype=pictures.dtype)
    outer[half : half + height, half : half + width] = pictures
    for y in range(height):
        for x in range(width):
            for n in range(lanes):
                limits[n] = max(limits[n], zero * abs(pictures[y, x, n]))
    for a in range(first.shape[0]):
        _correlate(outer, first[a], response)
        inner[half : half + height, half : half + width] = response
        codes[:] = 0
        for b in range(second.shape[1]):
            _correlate(inner, second[a, b], response)
            for y in range(height):
                for x in range(width):
                    for n in range(lanes):
                        codes[y, x, n] |= np.uint8(response[y, x, n] > limits[n]) << np.uint8(b)
        for y in range(height - pool + 1):
            for x in range(width - pool + 1):
                for n in range(lanes):
                    best = codes[y, x, n]
                    for i in range(pool):
                        for j in range(pool):
                            best = max(best, codes[y + i, x + j, n])
                    out[a, y, x, n] = best
