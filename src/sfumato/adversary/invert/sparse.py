"""From scattered keypoints to a map a network can read: who is nearest, and how far away.

Isolated dots in an empty map leave dots in the reconstruction. Here every pixel knows the
row of its nearest keypoints, and where it lies from them; the network embeds each descriptor
once, as one row, and gathers. Blocks of 2×2 pixels share one entry: what a descriptor says is
coarser than that. The map covers the padded picture, so that any size fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sfumato.core.checks import check_count, check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.frozen import check_image_size

#: A map has one entry per block of this many pixels a side.
STRIDE = 2
#: Own coordinates of a keypoint, in its diameters, are cut at this length: descriptors end there.
REACH = 6.0
#: What SIFT describes ends this many diameters from the keypoint: two cells of 1.5 diameters.
WINDOW = 3.0
# A keypoint's claim to a block falls with distance / diameter^this: at 1 the few large keypoints
# would be asked everywhere, at 0 only the nearest ones, whose windows often end before the block.
_FAVOUR_LARGE = 0.75


@dataclass(frozen=True)
class MapOptions:
    """How pixels find their keypoints.

    neighbours  keypoints per pixel, nearest first
    radius      in pixels; beyond it a pixel has no keypoint
    multiple    sides of the map are padded to a multiple of this, 2^depth or more
    framed      offsets also in the keypoint's own frame, turned by its angle and divided by
                its diameter, which the attacker was given or has inferred
    covering    further keypoints per pixel, after the nearest: those whose window covers it; a
                large keypoint far away describes a pixel that its small neighbours do not
    """

    neighbours: int = 3
    radius: float = 48.0
    multiple: int = 16
    framed: bool = False
    covering: int = 0

    def __post_init__(self) -> None:
        check_count("neighbours", self.neighbours, low=1, high=8)
        check_count("covering", self.covering, low=0, high=8)
        if self.covering and not self.framed:
            raise InvalidInput("covering needs framed=True: windows follow from sizes.")
        check_count("multiple", self.multiple, low=STRIDE, high=1024)
        if self.multiple % STRIDE:
            raise InvalidInput(f"multiple must be divisible by {STRIDE}, got {self.multiple}.")
        if not 1 <= self.radius <= 4096:
            raise InvalidInput(f"radius must be between 1 and 4096 pixels, got {self.radius!r}.")

    @property
    def slots(self) -> int:
        """Keypoints per pixel in all."""
        return self.neighbours + self.covering

    @property
    def coordinates(self) -> int:
        """Channels per neighbour in `PixelMap.offsets`."""
        return 5 if self.framed else 3


@dataclass(frozen=True)
class PixelMap:
    """Which rows a pixel looks at, for one picture.

    index    (k, H/2, W/2) int64, 1 + the row of a keypoint, 0 for none; H, W are padded; the
             nearest come first, then those that cover the block
    offsets  (k, c, H/2, W/2) float32: x and y from the keypoint to the middle of the block in
             radii, 1 where there is one, and with frames x and y in its own frame in diameters
    """

    index: NDArray[np.int64]
    offsets: NDArray[np.float32]
    image_size: tuple[int, int]

    def crop(self, picture: NDArray[Any]) -> NDArray[Any]:
        """The part of a padded (H, W, …) picture that belongs to the image."""
        width, height = self.image_size
        return picture[:height, :width]


def map_pixels(
    keypoints: NDArray[Any],
    image_size: tuple[int, int],
    options: MapOptions,
    *,
    scales: NDArray[Any] | None = None,
    angles: NDArray[Any] | None = None,
) -> PixelMap:
    """Find the nearest keypoints of every pixel. No keypoints gives a map of zeros."""
    width, height = check_image_size(image_size)
    points = np.asarray(keypoints, dtype=np.float32)
    check_shape("keypoints", points, (None, 2))
    if options.framed and (scales is None or angles is None):
        raise InvalidInput(
            "framed=True needs the scale and angle of every keypoint; infer them, or use a network "
            "trained without frames."
        )
    wide, tall = (padded(side, options.multiple) // STRIDE for side in (width, height))
    middle = (STRIDE - 1) / 2  # of a block, in pixels
    xs = np.arange(wide, dtype=np.float32) * STRIDE + middle
    ys = np.arange(tall, dtype=np.float32) * STRIDE + middle
    index = _nearest_rows(points, xs, ys, options)
    if options.covering and scales is not None:
        sizes = np.maximum(np.asarray(scales, dtype=np.float32), 1)
        index = np.concatenate([index, _covering_rows(points, sizes, xs, ys, options.covering)])
    there = index > 0
    place = np.vstack([np.zeros((1, 2), np.float32), points])[index]
    dx = np.where(there, xs[None, None, :] - place[..., 0], 0)
    dy = np.where(there, ys[None, :, None] - place[..., 1], 0)
    offsets = np.empty((options.slots, options.coordinates, tall, wide), np.float32)
    offsets[:, 0] = dx / options.radius
    offsets[:, 1] = dy / options.radius
    offsets[:, 2] = there
    if options.framed:
        turn = np.deg2rad(np.maximum(np.concatenate([[0], np.asarray(angles)]), 0))
        size = np.maximum(np.concatenate([[1], np.asarray(scales)]), 1)
        cos = (np.cos(turn) / size).astype(np.float32)[index]
        sin = (np.sin(turn) / size).astype(np.float32)[index]
        # Angles run clockwise with y down: turning back is (cos, sin; −sin, cos).
        offsets[:, 3] = np.clip(cos * dx + sin * dy, -REACH, REACH)
        offsets[:, 4] = np.clip(cos * dy - sin * dx, -REACH, REACH)
    return PixelMap(index, offsets, (width, height))


def padded(side: int, multiple: int) -> int:
    """The next multiple at or above a side."""
    return -(-side // multiple) * multiple


def _nearest_rows(
    points: NDArray[np.float32],
    xs: NDArray[np.float32],
    ys: NDArray[np.float32],
    options: MapOptions,
) -> NDArray[np.int64]:
    shape = (options.neighbours, len(ys), len(xs))
    if not len(points):
        return np.zeros(shape, dtype=np.int64)
    grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    # A list of ranks, not a number: one neighbour then comes as a column like several.
    ranks = list(range(1, options.neighbours + 1))
    _, nearest = cKDTree(points).query(grid, k=ranks, distance_upper_bound=options.radius)
    rows = np.where(nearest == len(points), 0, nearest + 1)  # len(points) stands for "none"
    return np.ascontiguousarray(rows.T.reshape(shape), dtype=np.int64)


def _covering_rows(
    points: NDArray[np.float32],
    sizes: NDArray[np.float32],
    xs: NDArray[np.float32],
    ys: NDArray[np.float32],
    count: int,
) -> NDArray[np.int64]:
    """(count, H/2, W/2): 1 + the rows whose windows cover each block, the best first, else 0."""
    # One choice for 2×2 blocks: windows are wider than that, and it is a quarter of the work.
    coarse_x, coarse_y = xs[::2] + STRIDE / 2, ys[::2] + STRIDE / 2
    rows = np.zeros((count, len(coarse_y), len(coarse_x)), dtype=np.int64)
    kept = min(count, len(points))
    if kept:
        dx = (coarse_x[:, None] - points[:, 0]) ** 2
        dy = (coarse_y[:, None] - points[:, 1]) ** 2
        outside = (WINDOW * sizes) ** 2
        claim = sizes ** (-2 * _FAVOUR_LARGE)
        for line, across in enumerate(dy):
            apart = dx + across
            cost = np.where(apart < outside, apart * claim, np.inf)
            best = np.argpartition(cost, kept - 1, axis=1)[:, :kept]
            cost = np.take_along_axis(cost, best, axis=1)
            order = np.argsort(cost, axis=1, kind="stable")
            best = np.take_along_axis(best, order, axis=1)
            covers = np.isfinite(np.take_along_axis(cost, order, axis=1))
            rows[:kept, line] = np.where(covers, best + 1, 0).T
    fine = rows.repeat(2, axis=1).repeat(2, axis=2)
    return np.ascontiguousarray(fine[:, : len(ys), : len(xs)])
