"""LDP-FEAT, Tables S2 and S3: the assumptions behind the published attacks, measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.clustering import meeting_pairs
from sfumato.adversary.recover.database import Neighbours
from sfumato.adversary.recover.geometry import Lifted, tolerance_of
from sfumato.privacy.known_truth import Lift

Doubles = NDArray[np.float64]

RATIO = 0.8

#: The paper's figures, on its own pictures and words: share in % by m and N, and by m.
PAPER_S2 = {
    4: {50: 93.89, 20: 95.60, 10: 96.61, 5: 97.46},
    16: {50: 87.27, 20: 90.54, 10: 92.73, 5: 94.38},
}
PAPER_S3 = {2: 97.42, 4: 94.30, 8: 85.46, 16: 73.03}


def near_forming(
    near: Neighbours, points: NDArray[np.float32], forming: Doubles, tops: tuple[int, ...]
) -> dict[str, int]:
    """Of the N database descriptors nearest to each D, how many clearly belong to one maker of D.

    Makers are d and its words; clearly: nearest maker / second nearest ≤ .8. Words of the lifting
    itself are left out of the N, as they match themselves. Counts over all subspaces, by N.
    """
    counts = dict.fromkeys(tops, 0)
    for rows, is_word, makers in zip(near.rows, near.is_word, forming, strict=True):
        others = points[rows[~is_word]].astype(np.float64)
        distance = np.sort(np.linalg.norm(others[:, None] - makers[None], axis=2), axis=1)
        clear = distance[:, 0] <= RATIO * distance[:, 1]
        for top in tops:
            counts[top] += int(clear[:top].sum())
    return {str(top): count for top, count in counts.items()}


def collisions(lift: Lift, forming: Doubles) -> dict[str, Any]:
    """Who of the picture's other subspaces meets each D, and what that says about d.

    shared_words  words that another subspace passes through too: what the clustering attack needs
    none_met      subspaces that no other one meets: the attack has nothing to go by
    d_touched     subspaces whose d another one that meets D comes nearer than .1 (a collision)
    d_farthest    subspaces whose d is farther from Q′ than each of its words; where none is met,
                  nobody is
    """
    zero = tolerance_of(lift.release, None)
    scores = np.full(forming.shape[:2], np.inf)
    for other in (lift.release, lift.rest):
        if not len(other):
            continue
        row, column = meeting_pairs(lift.release, other, zero)
        lifted = Lifted.of(other)
        for start in range(0, len(row), 1024):
            part = slice(start, start + 1024)
            distance = lifted.take(column[part]).distances(forming[row[part]])
            np.minimum.at(scores, row[part], distance)
    met = np.isfinite(scores[:, 0])
    return {
        "num_others": len(lift.release) + len(lift.rest) - 1,
        "shared_words": int((scores[:, 1:] < zero).sum()),
        "none_met": int((~met).sum()),
        "d_touched": int((scores[:, 0] < 0.1).sum()),
        "d_farthest": int((met & (scores[:, 0] > scores[:, 1:].max(axis=1))).sum()),
    }
