"""Which few keypoints leave: the strongest of every part of the picture."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.randomness import RandomSource
from sfumato.core.types import Features

#: Parts of a picture. More parts choose weaker keypoints, which another view does not find again.
CELLS = 6


@dataclass(frozen=True)
class KeepSpread:
    """Keep `count` keypoints: in turn the strongest of each of about `cells` equal parts.

    The strongest of a whole picture crowd where contrast is high. Another view of the place
    often shows only a part of it, and then they are lost together. Positions leave the device
    as they do with every filter; these tell a little less about where contrast is.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> len(sf.KeepSpread(5)(features, rng=sf.SecureRandom()))
    5
    """

    count: int
    cells: int = CELLS

    def __post_init__(self) -> None:
        check_count("count", self.count, low=0)
        check_count("cells", self.cells, low=1)

    def __call__(self, features: Features, *, rng: RandomSource) -> Features:
        kept = spread_order(features, self.cells)[: self.count]
        strength = np.argsort(-features.scores[kept], kind="stable")
        return features.take(kept[strength])


def spread_order(features: Features, cells: int = CELLS) -> NDArray[np.int64]:
    """All rows, the first choice first: by rank within their part, then by strength."""
    width, height = features.image_size
    columns = max(1, round(math.sqrt(cells * width / height)))
    rows = max(1, round(cells / columns))
    cell = features.keypoints.astype(np.float64) / (width, height) * (columns, rows)
    column, row = np.clip(cell.astype(np.int64), 0, (columns - 1, rows - 1)).T
    part = row * columns + column
    strength = np.argsort(-features.scores, kind="stable")
    grouped = strength[np.argsort(part[strength], kind="stable")]
    first = np.flatnonzero(np.diff(part[grouped], prepend=-1))
    counts = np.diff(np.append(first, len(grouped)))
    rank = np.empty(len(features), dtype=np.int64)
    rank[grouped] = np.arange(len(grouped)) - np.repeat(first, counts)
    return np.asarray(strength[np.argsort(rank[strength], kind="stable")], dtype=np.int64)
