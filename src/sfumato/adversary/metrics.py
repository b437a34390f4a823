"""How near a reconstruction is to the picture, and how sure a mean over pictures is.

MAE, SSIM and PSNR compare pixels. None of them knows a face: a picture can score low and show
who is in it. `match_boxes` counts what a detector still finds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from skimage import metrics

from sfumato.core.checks import check_finite
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.detectors.base import Boxes, overlap

#: A window of SSIM, in pixels a side; a picture must hold one.
WINDOW = 7
SAME_PLACE = 0.5
_DRAWS = 2000


@dataclass(frozen=True)
class Similarity:
    """One reconstruction against its picture, both in 0…1.

    mae   mean absolute error, lower is nearer
    ssim  structural similarity over 7×7 windows, mean of the colours; 1 is the picture itself
    psnr  in decibels; infinite for the picture itself
    """

    mae: float
    ssim: float
    psnr: float


@dataclass(frozen=True)
class Interval:
    """A mean and where it may lie; low and high are NaN where one picture is all there is."""

    mean: float
    low: float
    high: float
    count: int


def compare(real: NDArray[Any], made: NDArray[Any]) -> Similarity:
    """Measure a reconstruction; pictures are (H, W, 3), uint8 or floats in 0…1."""
    a, b = as_unit("the picture", real), as_unit("the reconstruction", made)
    if a.shape != b.shape:
        raise Mismatch(
            f"the reconstruction is {b.shape[1]}×{b.shape[0]} pixels, the picture "
            f"{a.shape[1]}×{a.shape[0]}; compare pictures of one size."
        )
    if min(a.shape[:2]) < WINDOW:
        raise InvalidInput(
            f"SSIM needs pictures of at least {WINDOW}×{WINDOW} pixels, got "
            f"{a.shape[1]}×{a.shape[0]}."
        )
    measure: Any = metrics.structural_similarity
    error = float(np.mean((a - b) ** 2))
    return Similarity(
        mae=float(np.abs(a - b).mean()),
        ssim=float(measure(a, b, channel_axis=2, data_range=1.0)),
        psnr=-10 * math.log10(error) if error else math.inf,
    )


def as_unit(name: str, picture: NDArray[Any]) -> NDArray[np.float64]:
    """A colour picture as floats in 0…1; what is neither 8 bits nor in 0…1 is refused."""
    values = np.asarray(picture)
    if values.ndim != 3 or values.shape[2] != 3:
        raise InvalidInput(f"{name} must have shape (H, W, 3), got {values.shape}.")
    if values.dtype == np.uint8:
        return values.astype(np.float64) / 255
    if values.dtype.kind != "f":
        raise InvalidInput(f"{name} must be uint8 or floats in 0…1, got {values.dtype}.")
    check_finite(name, values)
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        raise InvalidInput(f"{name} must lie in 0…1; clip it first.")
    return values.astype(np.float64)


def mean_interval(values: Sequence[float] | NDArray[Any], *, level: float = 0.95) -> Interval:
    """The mean over pictures, with Student's t interval: the pictures are the sample."""
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or not len(data) or not np.isfinite(data).all():
        raise InvalidInput("an interval needs at least one finite value, one for each picture.")
    if not 0 < level < 1:
        raise InvalidInput(f"level must lie between 0 and 1, got {level!r}.")
    mean = float(data.mean())
    if len(data) == 1:
        return Interval(mean, math.nan, math.nan, 1)
    spread = float(data.std(ddof=1)) / math.sqrt(len(data))
    half = float(stats.t.ppf((1 + level) / 2, len(data) - 1)) * spread
    return Interval(mean, mean - half, mean + half, len(data))


def difference_interval(
    first: Sequence[float], second: Sequence[float], *, level: float = 0.95
) -> Interval:
    """Mean of first − second over the same pictures: pairs tell more than two intervals do."""
    if len(first) != len(second):
        raise InvalidInput(
            f"differences need the same pictures on both sides, got {len(first)} and {len(second)}."
        )
    return mean_interval(np.asarray(first) - np.asarray(second), level=level)


def share_interval(
    found: Sequence[int], total: Sequence[int], *, level: float = 0.95, seed: int = 0
) -> Interval:
    """Sum of found / sum of total, with a bootstrap interval over whole pictures.

    Objects of one picture are found or lost together, so pictures are drawn, not objects.
    count is the number of objects; without any the share is NaN.
    """
    hit, of = np.asarray(found, dtype=np.int64), np.asarray(total, dtype=np.int64)
    if hit.shape != of.shape or hit.ndim != 1 or (hit > of).any() or (hit < 0).any():
        raise InvalidInput("found must be between 0 and total for each picture.")
    count = int(of.sum())
    if not count:
        return Interval(math.nan, math.nan, math.nan, 0)
    rows = np.random.default_rng(seed).integers(len(of), size=(_DRAWS, len(of)))
    sums = of[rows].sum(axis=1)
    shares = hit[rows].sum(axis=1)[sums > 0] / sums[sums > 0]
    low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(hit.sum() / count), float(low), float(high), count)


def match_boxes(real: Boxes, made: Boxes) -> tuple[int, int]:
    """How many objects of the picture are found again in the reconstruction, of how many.

    Found again: same class, boxes that overlap by at least half (IoU ≥ .5) [reverse §5.2];
    every box counts once, the best overlaps are paired first.
    """
    shared = overlap(real.corners, made.corners)
    same = np.array([[a == b for b in made.classes] for a in real.classes], dtype=np.bool_)
    shared[~same.reshape(shared.shape)] = 0
    matched = 0
    while shared.size and shared.max() >= SAME_PLACE:
        row, column = np.unravel_index(shared.argmax(), shared.shape)
        shared[row], shared[:, column] = 0, 0
        matched += 1
    return matched, len(real)
