"""Lattice reduction and enumeration, compiled. `lattice.py` says what they are for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

_SHORT_ENOUGH = 0.501  # |μ| after size reduction; exactly ½ would loop on rounding errors
_UNSAFE = 1e4  # a multiple this large was computed with few correct digits: measure again
_PASSES = 20


@njit(cache=True, nogil=True, fastmath=True)
def dot(a: Doubles, b: Doubles) -> float:  # pragma: no cover - compiled
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True)
def reduce_rows(rows: Doubles, delta: float) -> Any:  # pragma: no cover - compiled
    """Make the rows short and nearly orthogonal, in place (Lenstra, Lenstra, Lovász).

    Returns the squared lengths of their Gram–Schmidt vectors and the coefficients μ. Any
    lattice vector outside the span of the first r rows is at least as long as the shortest
    Gram–Schmidt vector from r on. Whole numbers stay exact as long as they are below 2^53.
    """
    count, width = rows.shape
    star = np.zeros((count, width))
    square = np.zeros(count)
    mu = np.zeros((count, count))
    star[0] = rows[0]
    square[0] = dot(rows[0], rows[0])
    k = 1
    while k < count:
        left = star[k]
        for _ in range(_PASSES):
            left[:] = rows[k]
            for j in range(k):
                share = dot(left, star[j]) / square[j]
                mu[k, j] = share
                for i in range(width):
                    left[i] -= share * star[j, i]
            largest = 0.0
            for j in range(k - 1, -1, -1):
                if abs(mu[k, j]) > _SHORT_ENOUGH:
                    times = np.rint(mu[k, j])
                    largest = max(largest, abs(times))
                    for i in range(width):
                        rows[k, i] -= times * rows[j, i]
                    for i in range(j):
                        mu[k, i] -= times * mu[j, i]
                    mu[k, j] -= times
            if largest < _UNSAFE:
                break
        square[k] = dot(left, left)
        if square[k] >= (delta - mu[k, k - 1] ** 2) * square[k - 1]:
            k += 1
            continue
        for i in range(width):
            kept = rows[k, i]
            rows[k, i] = rows[k - 1, i]
            rows[k - 1, i] = kept
        k -= 1
        if k == 0:
            star[0] = rows[0]
            square[0] = dot(rows[0], rows[0])
            k = 1
    return square, mu


@njit(cache=True, nogil=True)
def centre_of(x: Any, mu: Doubles, level: int) -> Any:  # pragma: no cover - compiled
    """The real coefficient of a row that is best beside those above it; are these all zero?"""
    centre, zero_above = 0.0, True
    for j in range(level + 1, x.shape[0]):
        centre -= x[j] * mu[j, level]
        if x[j] != 0:
            zero_above = False
    return centre, zero_above


@njit(cache=True, nogil=True)
def short_combinations(
    square: Doubles, mu: Doubles, max_square: float, max_nodes: int, max_found: int
) -> Any:  # pragma: no cover - compiled
    """Every combination of reduced rows with squared length ≤ max_square, one of ±v each.

    Depth first over the coefficients from the last row to the first (Fincke, Pohst; Schnorr,
    Euchner). Returns (found, r) coefficients and whether the search came to its end.
    """
    r = square.shape[0]
    found = np.zeros((max_found, r), dtype=np.int64)
    num_found = 0
    x = np.zeros(r, dtype=np.int64)
    low = np.zeros(r, dtype=np.int64)
    high = np.zeros(r, dtype=np.int64)
    partial = np.zeros(r + 1)
    nodes = 0
    level = r - 1
    limit = np.sqrt(max_square / square[level])
    # Signs come in pairs: the last coefficient that is not zero may be taken positive.
    low[level], high[level] = 0, int(np.floor(limit))
    x[level] = low[level] - 1
    while level < r:
        x[level] += 1
        if x[level] > high[level]:
            level += 1
            continue
        nodes += 1
        if nodes > max_nodes:
            return found[:num_found], False
        centre, zero_above = centre_of(x, mu, level)
        length = partial[level + 1] + (x[level] - centre) ** 2 * square[level]
        if length > max_square:
            continue
        if level > 0:
            partial[level] = length
            level -= 1
            centre, zero_above = centre_of(x, mu, level)
            reach = np.sqrt((max_square - length) / square[level])
            low[level] = 0 if zero_above else int(np.ceil(centre - reach))
            high[level] = int(np.floor(centre + reach))
            x[level] = low[level] - 1
            continue
        if zero_above and x[0] == 0:
            continue
        if num_found == max_found:
            return found[:num_found], False
        found[num_found] = x
        num_found += 1
    return found[:num_found], True
