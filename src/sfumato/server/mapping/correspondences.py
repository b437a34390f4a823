"""Which keypoints of two images look the same, and which of those the geometry allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import cross_matrix
from sfumato.core.progress import Progress, silent
from sfumato.core.threads import single_threaded_products
from sfumato.core.types import Features, Pose
from sfumato.dictionary.vectors import Space, query_side, squared_norms
from sfumato.execution import current
from sfumato.features.extractors import EXTRACTORS

DEFAULT_RATIO = 0.8
_PAIRS = 4  # that one worker compares at a time
_BLOCK = 256  # rows of one product: 256 × 5,000 distances stay in the processor's cache


def match_pairs(
    features: Sequence[Features],
    pairs: Sequence[tuple[int, int]],
    *,
    ratio: float = DEFAULT_RATIO,
    progress: Progress = silent,
) -> Iterator[tuple[tuple[int, int], NDArray[np.int64]]]:
    """Yield ((i, j), matches) of every pair, in order; matches as `match_descriptors` gives."""
    described = [item.descriptors for item in features]
    binary = [is_binary(item.extractor) for item in features]
    groups = [pairs[low : low + _PAIRS] for low in range(0, len(pairs), _PAIRS)]
    done = 0
    with single_threaded_products():
        found_in = current().map(_match_group, groups, described, ratio, binary)
        for group, found in zip(groups, found_in, strict=True):
            for pair, matches in zip(group, found, strict=True):
                done += 1
                progress("matching", done, len(pairs))
                yield pair, matches


def _match_group(
    described: Sequence[NDArray[Any]],
    ratio: float,
    binary: Sequence[bool],
    pairs: Sequence[tuple[int, int]],
) -> list[NDArray[np.int64]]:
    return [
        match_descriptors(described[a], described[b], ratio=ratio, binary=binary[a])
        for a, b in pairs
    ]


def is_binary(extractor: str) -> bool:
    """Does this extractor pack bits, to be compared by how many differ?"""
    return extractor in EXTRACTORS and EXTRACTORS[extractor].binary


def match_descriptors(
    first: NDArray[Any],
    second: NDArray[Any],
    *,
    ratio: float = DEFAULT_RATIO,
    binary: bool = False,
) -> NDArray[np.int64]:
    """(M, 2) rows that are each other's nearest, and clearly nearer than the next.

    Exact. The ratio compares the nearest with the second nearest in `second`: distances, or
    numbers of differing bits. Of equal candidates the first row is taken; a descriptor that
    occurs twice in `second` matches nothing, as its ratio is 1.
    """
    if not 0 < as_number("ratio", ratio) <= 1:
        raise InvalidInput(f"ratio must be above 0 and at most 1, got {ratio!r}.")
    if first.shape[1] != second.shape[1]:
        raise InvalidInput(
            f"descriptors of two images must have one dimension, got {first.shape[1]} and "
            f"{second.shape[1]}; extract both in the same way."
        )
    if not len(first) or not len(second):
        return np.empty((0, 2), dtype=np.int64)
    # Distances between bits are squared distances between vectors of zeros and ones.
    space = Space("hamming" if binary else "l2")
    left, right = space.vectors(first), space.vectors(second)
    limit = ratio if binary else ratio * ratio
    # −|a − b|² as one product: [2a, −|a|², −1]·[b, 1, |b|²]. For whole numbers such as SIFT's
    # every partial sum is below 2^24, so that float32 is exact.
    left = np.column_stack([2 * left, -squared_norms(left), np.full(len(left), np.float32(-1))])
    right = np.column_stack([query_side(right), squared_norms(right)])
    nearest = np.empty(len(left), dtype=np.int64)
    close = np.empty(len(left), dtype=np.float32)
    passes = np.empty(len(left), dtype=np.bool_)
    closest_to_second = np.full(len(right), -np.inf, dtype=np.float32)
    for start in range(0, len(left), _BLOCK):
        block = left[start : start + _BLOCK] @ right.T
        here = slice(start, start + len(block))
        rows = np.arange(len(block))
        np.maximum(closest_to_second, block.max(axis=0), out=closest_to_second)
        nearest[here] = block.argmax(axis=1)
        close[here] = block[rows, nearest[here]]
        block[rows, nearest[here]] = -np.inf
        passes[here] = np.minimum(close[here], 0) > limit * block.max(axis=1)
    rows = np.flatnonzero(passes & (close == closest_to_second[nearest]))
    _, once = np.unique(nearest[rows], return_index=True)
    rows = np.sort(rows[once])
    return np.stack([rows, nearest[rows]], axis=1)


def essential_matrix(pose_a: Pose, pose_b: Pose) -> NDArray[np.float64] | None:
    """[t]ₓ·R of b_from_a with |t| = 1, or None where the two are in one place."""
    relative = relative_motion(pose_a, pose_b)
    length = float(np.linalg.norm(relative.translation))
    scale = max(float(np.linalg.norm(pose_a.center)), 1e-9)
    if length <= 1e-9 * scale:
        return None
    return np.asarray(cross_matrix(relative.translation / length) @ relative.rotation)


def relative_motion(pose_a: Pose, pose_b: Pose) -> Pose:
    """b_from_a of two cam_from_world."""
    rotation = pose_b.rotation @ pose_a.rotation.T
    return Pose(rotation, pose_b.translation - rotation @ pose_a.translation)


def epipolar_errors(
    first_rays: NDArray[np.float64],
    second_rays: NDArray[np.float64],
    first_pose: Pose,
    second_pose: Pose,
    focals: tuple[float, float],
) -> NDArray[np.float64]:
    """Sampson distance of (M, 2) and (M, 2) undistorted points x/z, y/z, in pixels.

    E = [t]ₓ·R of second_from_first. Two images from one place have no epipolar geometry and
    can triangulate nothing: all distances are infinite.
    """
    essential = essential_matrix(first_pose, second_pose)
    if essential is None:
        return np.full(len(first_rays), np.inf)
    first = np.hstack([first_rays, np.ones((len(first_rays), 1))])
    second = np.hstack([second_rays, np.ones((len(second_rays), 1))])
    in_second, in_first = first @ essential.T, second @ essential
    algebraic = np.einsum("md,md->m", second, in_second)
    slope = (in_second[:, :2] ** 2).sum(axis=1) / focals[1] ** 2
    slope += (in_first[:, :2] ** 2).sum(axis=1) / focals[0] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.abs(algebraic) / np.sqrt(slope)
    return np.asarray(np.where(np.isfinite(errors), errors, np.inf))
