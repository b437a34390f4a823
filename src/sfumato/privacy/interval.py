"""How sure a share is that was measured on few images, several times each."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

_Z = 1.96  # of 95 %


def wilson(share: float, count: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of so many independent answers.

    >>> from sfumato.privacy.interval import wilson
    >>> [round(end, 2) for end in wilson(1.0, 10)]
    [0.72, 1.0]
    """
    z2 = _Z * _Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def effective_count(
    answers: Sequence[bool], images: Sequence[Hashable], stretches: Sequence[Hashable]
) -> float:
    """As how many independent answers these count.

    Answers about one image are alike, and so are images of one stretch. The variance of the share
    between stretches says how much: between the number of stretches and the number of images.
    Where all answers agree nothing says it, and the images count.
    """
    given = np.asarray(answers, dtype=np.float64)
    names, group = np.unique(np.array([hash(one) for one in stretches]), return_inverse=True)
    most = len(set(images))
    if len(names) < 2:
        return 1.0
    share = given.mean()
    sizes = np.bincount(group)
    excess = np.bincount(group, weights=given - share)  # over what the share lets one expect
    count = len(names)
    variance = float((excess**2).sum()) * count / (count - 1) / sizes.sum() ** 2
    alone = float(share * (1 - share))
    if variance <= 0 or alone <= 0:
        return float(most)
    return min(max(alone / variance, float(min(count, most))), float(most))
