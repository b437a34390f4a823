"""The nearest other keypoints of each keypoint."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree


def nearest_others(keypoints: NDArray[Any], count: int) -> NDArray[np.int64]:
    """(N, k) rows, nearest first, never oneself; k = count, or fewer in a small picture."""
    total = len(keypoints)
    k = min(count, total - 1)
    if k < 1:
        return np.zeros((total, 0), dtype=np.int64)
    rows = cKDTree(keypoints).query(keypoints, k=k + 1)[1]
    itself = rows == np.arange(total)[:, None]
    # Where several share one position, oneself may not be listed: the last goes then.
    itself[~itself.any(axis=1), -1] = True
    return np.asarray(rows[~itself].reshape(total, k), dtype=np.int64)
