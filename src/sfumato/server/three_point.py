"""The pose of a camera from three points, compiled: called hundreds of thousands of times a query.

Three rays of the camera and three points of the world fix up to four poses. The law of cosines
in the triangles (camera, point, point) leads to a polynomial of degree four in the ratio of two
distances (Grunert, 1841); from the distances the pose follows by laying one triangle on the other.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

_Array = NDArray[np.float64]


@njit(cache=True, nogil=True)
def three_point_poses(
    rays: _Array, points: _Array, rotations: _Array, translations: _Array
) -> int:  # pragma: no cover - compiled
    """Write the poses that see three points along three unit rays; return how many.

    rays, points  (3, 3), one a row
    rotations     (4, 3, 3) and translations (4, 3): filled from the front
    """
    cos_a, cos_b, cos_c = _dot(rays[1], rays[2]), _dot(rays[0], rays[2]), _dot(rays[0], rays[1])
    a2, b2, c2 = (
        _squared(points[1], points[2]),
        _squared(points[0], points[2]),
        _squared(points[0], points[1]),
    )
    world, seen = np.empty((3, 3)), np.empty((3, 3))
    if min(a2, b2, c2) < 1e-18 or not _frame(points, world):
        return 0
    a, c = a2 / b2, c2 / b2
    k, s = a - c, a + c
    roots = np.empty(4)
    num_roots = _real_roots(
        (k - 1) ** 2 - 4 * c * cos_a**2,
        4 * (k * (1 - k) * cos_b - (1 - s) * cos_a * cos_c + 2 * c * cos_a**2 * cos_b),
        2
        * (
            k * k
            - 1
            + 2 * k * k * cos_b**2
            + 2 * (1 - c) * cos_a**2
            - 4 * s * cos_a * cos_b * cos_c
            + 2 * (1 - a) * cos_c**2
        ),
        4 * (-k * (1 + k) * cos_b + 2 * a * cos_c**2 * cos_b - (1 - s) * cos_a * cos_c),
        (1 + k) ** 2 - 4 * a * cos_c**2,
        roots,
    )
    in_camera = np.empty((3, 3))
    count = 0
    for i in range(num_roots):
        v = roots[i]  # distance of the third point, by that of the first
        below = 2 * (cos_c - v * cos_a)
        square = 1 + v * v - 2 * v * cos_b
        if not v > 0 or abs(below) < 1e-12 or square < 1e-14:
            continue
        u = ((k - 1) * v * v - 2 * k * cos_b * v + 1 + k) / below
        if not u > 0:
            continue
        first = math.sqrt(b2 / square)
        for j in range(3):
            in_camera[0, j] = rays[0, j] * first
            in_camera[1, j] = rays[1, j] * first * u
            in_camera[2, j] = rays[2, j] * first * v
        if not _frame(in_camera, seen):
            continue
        rotation = rotations[count]
        for row in range(3):
            for column in range(3):
                rotation[row, column] = _dot(seen[row], world[column])
        for row in range(3):
            translations[count, row] = in_camera[0, row] - _dot(rotation[row], points[0])
        count += 1
    return count


@njit(cache=True, nogil=True)
def _dot(a: _Array, b: _Array) -> float:  # pragma: no cover - compiled
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@njit(cache=True, nogil=True)
def _squared(a: _Array, b: _Array) -> float:  # pragma: no cover - compiled
    return float((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@njit(cache=True, nogil=True)
def _frame(triangle: _Array, axes: _Array) -> bool:  # pragma: no cover - compiled
    """Write the axes of a triangle as columns: along a side, across it, and its normal."""
    ax, ay, az = triangle[1] - triangle[0]
    bx, by, bz = triangle[2] - triangle[0]
    length = math.sqrt(ax * ax + ay * ay + az * az)
    if length < 1e-12:
        return False
    ax, ay, az = ax / length, ay / length, az / length
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    if length < 1e-12:
        return False
    nx, ny, nz = nx / length, ny / length, nz / length
    axes[0, 0], axes[1, 0], axes[2, 0] = ax, ay, az
    axes[0, 1], axes[1, 1], axes[2, 1] = ny * az - nz * ay, nz * ax - nx * az, nx * ay - ny * ax
    axes[0, 2], axes[1, 2], axes[2, 2] = nx, ny, nz
    return True


@njit(cache=True, nogil=True)
def _real_roots(
    a: float, b: float, c: float, d: float, e: float, roots: _Array
) -> int:  # pragma: no cover - compiled
    """Write the real roots of ax⁴ + bx³ + cx² + dx + e (Ferrari, then Newton); return how many."""
    if abs(a) < 1e-14:
        return 0
    b, c, d, e = b / a, c / a, d / a, e / a
    # Without the cubic term: y⁴ + py² + qy + r, with x = y − b/4.
    p = c - 3 * b * b / 8
    q = d - b * c / 2 + b**3 / 8
    r = e - b * d / 4 + b * b * c / 16 - 3 * b**4 / 256
    half = _resolvent_root(p, q, r)
    count = 0
    if half <= 1e-14:  # a polynomial in y²
        inside = p * p - 4 * r
        for sign in (-1.0, 1.0):
            square = (-p + sign * math.sqrt(max(inside, 0.0))) / 2
            if inside >= 0 and square >= 0:
                roots[count], roots[count + 1] = math.sqrt(square), -math.sqrt(square)
                count += 2
    else:
        root = math.sqrt(2 * half)
        for sign in (-1.0, 1.0):
            inside = -(2 * p + 2 * half + sign * 2 * q / root)
            if inside >= 0:
                roots[count] = (sign * root + math.sqrt(inside)) / 2
                roots[count + 1] = (sign * root - math.sqrt(inside)) / 2
                count += 2
    for i in range(count):
        x = roots[i] - b / 4
        for _ in range(2):
            slope = ((4 * x + 3 * b) * x + 2 * c) * x + d
            if slope != 0:
                x -= ((((x + b) * x + c) * x + d) * x + e) / slope
        roots[i] = x
    return count


@njit(cache=True, nogil=True)
def _resolvent_root(p: float, q: float, r: float) -> float:  # pragma: no cover - compiled
    """The largest root of m³ + pm² + (p²/4 − r)m − q²/8; it is never negative."""
    linear, constant = p * p / 4 - r, -q * q / 8
    big_q = (3 * linear - p * p) / 9
    big_r = (9 * p * linear - 27 * constant - 2 * p**3) / 54
    inside = big_q**3 + big_r**2
    if inside >= 0:
        x, y = big_r + math.sqrt(inside), big_r - math.sqrt(inside)
        return math.copysign(abs(x) ** (1 / 3), x) + math.copysign(abs(y) ** (1 / 3), y) - p / 3
    cosine = max(-1.0, min(1.0, big_r / math.sqrt(-(big_q**3))))
    return 2 * math.sqrt(-big_q) * math.cos(math.acos(cosine) / 3) - p / 3
