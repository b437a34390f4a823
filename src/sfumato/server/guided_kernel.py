"""The inner loops of the guided search, compiled. `guided.py` says what they are for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.server.three_point import three_point_poses

_Array = NDArray[np.float64]
#: What the first points of a pose must gain before the others are looked at.
_PROMISING = 2.0
_FAR = 4.0  # standard deviations at which a keypoint no longer belongs to a point


@njit(cache=True, nogil=True)
def propose_poses(
    rays: _Array,
    points: _Array,
    cumulative: _Array,
    visible: _Array,
    gain: NDArray[np.float32],
    nearest: NDArray[np.int32],
    lens: _Array,
    chance: float,
    limits: _Array,
    down: _Array,
    num_keypoints: int,
    tries: int,
    keep: int,
    seed: int,
) -> tuple[_Array, _Array, _Array, int, int]:  # pragma: no cover - compiled
    """Poses from triples of candidates, the `keep` that explain most keypoints: scores, R, t.

    Also returned: how many poses were possible by their depths, and how many of them by gravity.

    cumulative  sums of the candidates' weights: heavier ones are drawn more often
    visible     (m, 3) points that should be seen; the first 40 decide whether the rest is looked at
    limits      smallest and largest depth of a sampled point
    down        gravity in the camera, in the world, and the smallest cosine between them; where
                gravity is not known that cosine is −1
    """
    np.random.seed(seed)
    scores = np.full(keep, -np.inf)
    kept_r, kept_t = np.zeros((keep, 3, 3)), np.zeros((keep, 3))
    rotations, translations = np.empty((4, 3, 3)), np.empty((4, 3))
    three_rays, three_points = np.empty((3, 3)), np.empty((3, 3))
    drawn = np.empty(3, np.int64)
    sums, stamps = np.zeros(num_keypoints), np.full(num_keypoints, -1, np.int64)
    touched = np.empty(len(visible), np.int64)
    stamp, worst, first = 0, 0, min(40, len(visible))
    num_possible = num_upright = 0
    for _ in range(tries):
        for k in range(3):
            at = np.searchsorted(cumulative, np.random.random() * cumulative[-1], side="right")
            drawn[k] = min(at, len(rays) - 1)
            three_rays[k], three_points[k] = rays[drawn[k]], points[drawn[k]]
        if drawn[0] == drawn[1] or drawn[0] == drawn[2] or drawn[1] == drawn[2]:
            continue
        for i in range(three_point_poses(three_rays, three_points, rotations, translations)):
            rotation, translation = rotations[i], translations[i]
            if not _in_depth(rotation, translation, three_points, limits):
                continue
            num_possible += 1
            if not _is_upright(rotation, down):
                continue
            num_upright += 1
            stamp += 1
            if (
                _explained(
                    rotation, translation, visible, first, gain, nearest, lens, chance,
                    sums, stamps, stamp, touched,
                )
                <= _PROMISING
            ):  # fmt: skip
                continue
            stamp += 1
            score = _explained(
                rotation, translation, visible, len(visible), gain, nearest, lens, chance,
                sums, stamps, stamp, touched,
            )  # fmt: skip
            if score > scores[worst]:
                scores[worst], kept_r[worst], kept_t[worst] = score, rotation, translation
                worst = int(np.argmin(scores))
    order = np.argsort(-scores)
    return scores[order], kept_r[order], kept_t[order], num_possible, num_upright


@njit(cache=True, nogil=True)
def _in_depth(
    rotation: _Array, translation: _Array, points: _Array, limits: _Array
) -> bool:  # pragma: no cover - compiled
    for k in range(3):
        depth = translation[2]
        for j in range(3):
            depth += rotation[2, j] * points[k, j]
        if not limits[0] <= depth <= limits[1]:
            return False
    return True


@njit(cache=True, nogil=True)
def _is_upright(rotation: _Array, down: _Array) -> bool:  # pragma: no cover - compiled
    cosine = 0.0
    for row in range(3):
        for column in range(3):
            cosine += down[row] * rotation[row, column] * down[3 + column]
    return bool(cosine >= down[6])


@njit(cache=True, nogil=True)
def _explained(
    rotation: _Array,
    translation: _Array,
    visible: _Array,
    count: int,
    gain: NDArray[np.float32],
    nearest: NDArray[np.int32],
    lens: _Array,
    chance: float,
    sums: _Array,
    stamps: NDArray[np.int64],
    stamp: int,
    touched: NDArray[np.int64],
) -> float:  # pragma: no cover - compiled
    """How much better a pose explains the keypoints than chance does, with `count` points."""
    height, width = gain.shape
    inside, num_touched, score = 0, 0, 0.0
    for i in range(count):
        x, y, z = translation
        for j in range(3):
            x += rotation[0, j] * visible[i, j]
            y += rotation[1, j] * visible[i, j]
            z += rotation[2, j] * visible[i, j]
        if z <= 1e-9:
            continue
        scale = lens[0] / z
        u, v = scale * x + lens[1] + 0.5, scale * y + lens[2] + 0.5
        if not (0 <= u < width and 0 <= v < height):
            continue
        inside += 1
        value = gain[int(v), int(u)]
        if value < 0.01:
            continue
        keypoint = nearest[int(v), int(u)]
        if stamps[keypoint] != stamp:
            stamps[keypoint], sums[keypoint] = stamp, 0.0
            touched[num_touched] = keypoint
            num_touched += 1
        sums[keypoint] += value
    for i in range(num_touched):
        score += math.log1p(sums[touched[i]])
    return score - chance * inside


@njit(cache=True, nogil=True)
def refine_pose(
    rotation: _Array,
    translation: _Array,
    points: _Array,
    keypoint_of: NDArray[np.int64],
    odds: _Array,
    keypoints: _Array,
    density: _Array,
    nearest: NDArray[np.int32],
    lens: _Array,
    spreads: _Array,
    chance: float,
) -> tuple[_Array, _Array, float, NDArray[np.int64], _Array]:  # pragma: no cover - compiled
    """Expectation-maximisation: who belongs to whom, then the pose; narrower with every round.

    points       (n, 3) points that should be seen, then the points of candidates by their words
    keypoint_of  (n,) −1: the keypoint nearest to where it falls; else the candidate's keypoint
    odds         (n,) how much more often a keypoint is there than by chance, before looking
    spreads      pixels, one per round; the score returned is that of the last

    Returns R, t, the score, and for every point its keypoint (−1: none) with the probability
    that it is the right one.
    """
    n = len(points)
    height, width = nearest.shape
    belongs, weight = np.empty(n, np.int64), np.empty(n)
    seen, away = np.empty((n, 3)), np.empty((n, 2))
    score = -np.inf
    for step in range(len(spreads) + 1):
        spread = spreads[min(step, len(spreads) - 1)]
        total = np.zeros(len(keypoints))
        inside = 0
        for i in range(n):
            belongs[i] = -1
            x, y, z = translation
            for j in range(3):
                x += rotation[0, j] * points[i, j]
                y += rotation[1, j] * points[i, j]
                z += rotation[2, j] * points[i, j]
            if z <= 1e-9:
                continue
            u, v = lens[0] * x / z + lens[1], lens[0] * y / z + lens[2]
            if not (0 <= u + 0.5 < width and 0 <= v + 0.5 < height):
                continue
            keypoint = keypoint_of[i]
            if keypoint < 0:
                inside += 1
                keypoint = nearest[int(v + 0.5), int(u + 0.5)]
            dx, dy = keypoints[keypoint, 0] - u, keypoints[keypoint, 1] - v
            squares = (dx * dx + dy * dy) / (spread * spread)
            if squares > _FAR * _FAR:
                continue
            value = odds[i] * math.exp(-squares / 2) / (2 * math.pi * spread * spread)
            weight[i] = value / density[keypoint]
            total[keypoint] += weight[i]
            belongs[i] = keypoint
            seen[i, 0], seen[i, 1], seen[i, 2] = x, y, z
            away[i, 0], away[i, 1] = dx, dy
        score = -chance * inside
        for k in range(len(keypoints)):
            if total[k] > 0:
                score += math.log1p(total[k])
        for i in range(n):
            if belongs[i] >= 0:
                weight[i] /= 1 + total[belongs[i]]
        if step == len(spreads):
            break
        moved = _step(seen, away, belongs, weight, lens[0])
        if not np.isfinite(moved).all():
            return rotation, translation, -np.inf, belongs, weight
        turn = _turn(moved[:3])
        rotation, translation = turn @ rotation, turn @ translation + moved[3:]
    return rotation, translation, score, belongs, weight


@njit(cache=True, nogil=True)
def _step(
    seen: _Array, away: _Array, belongs: NDArray[np.int64], weight: _Array, focal: float
) -> Any:  # pragma: no cover - compiled
    """The turn and shift of the camera that brings the points nearer to their keypoints."""
    matrix, target = np.zeros((6, 6)), np.zeros(6)
    slope = np.zeros((2, 6))
    mass = 0.0
    for i in range(len(seen)):
        if belongs[i] < 0 or weight[i] < 1e-4:
            continue
        x, y, z = seen[i]
        a = focal / z
        slope[0, 0], slope[0, 1], slope[0, 2] = -a * x * y / z, a * (z + x * x / z), -a * y
        slope[1, 0], slope[1, 1], slope[1, 2] = -a * (z + y * y / z), a * x * y / z, a * x
        slope[0, 3], slope[0, 4], slope[0, 5] = a, 0.0, -a * x / z
        slope[1, 3], slope[1, 4], slope[1, 5] = 0.0, a, -a * y / z
        mass += weight[i]
        for row in range(6):
            target[row] += weight[i] * (slope[0, row] * away[i, 0] + slope[1, row] * away[i, 1])
            for column in range(6):
                matrix[row, column] += weight[i] * (
                    slope[0, row] * slope[0, column] + slope[1, row] * slope[1, column]
                )
    if mass < 4:
        return np.zeros(6)
    for k in range(6):
        matrix[k, k] += 1e-6 * matrix[k, k] + 1e-12
    return np.linalg.solve(matrix, target)


@njit(cache=True, nogil=True)
def _turn(vector: _Array) -> Any:  # pragma: no cover - compiled
    """The rotation by a vector's length about it; at most 0.1 rad, a step must stay small."""
    angle = math.sqrt(vector[0] ** 2 + vector[1] ** 2 + vector[2] ** 2)
    if angle < 1e-12:
        return np.eye(3)
    x, y, z = vector / angle
    angle = min(angle, 0.1)
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * skew + (1 - math.cos(angle)) * (skew @ skew)
