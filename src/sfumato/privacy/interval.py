"""How sure a share is that was measured on few things, several times each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def wilson(count: float, total: float, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, as if all answers were independent.

    >>> from sfumato.privacy.interval import wilson
    >>> [round(end, 2) for end in wilson(10, 10)]
    [0.72, 1.0]
    """
    share = count / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    half /= 1 + z * z / total
    return max(middle - half, 0.0), min(middle + half, 1.0)


def clustered_wilson(groups: Sequence[Sequence[bool]]) -> tuple[float, float]:
    """Wilson's 95 % interval of a share where the answers of a group resemble each other.

    Answers about one image are alike, and so are images of one stretch. The number of answers is
    divided by the design effect, the variance between groups over that of independent answers,
    from 1 to the mean size of a group. Where all answers agree nothing would tell it: two groups,
    one of successes and one of failures, are added when it is estimated.

    >>> from sfumato.privacy.interval import clustered_wilson, wilson
    >>> clustered_wilson([[True] * 5] * 10) == wilson(10, 10)
    True
    """
    counts = np.array([sum(group) for group in groups], dtype=np.float64)
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    usual = float(sizes.mean())
    seen, asked = np.append(counts, [usual, 0.0]), np.append(sizes, [usual, usual])
    share, many = float(seen.sum() / asked.sum()), len(seen)
    between = many / (many - 1) * float(((seen - share * asked) ** 2).sum() / asked.sum())
    effect = min(max(between / (share * (1 - share)), 1.0), usual)
    return wilson(float(counts.sum()) / effect, float(sizes.sum()) / effect)
