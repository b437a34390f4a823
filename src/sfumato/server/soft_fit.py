"""The spread of a pose that was fitted to pairs which are right only with some probability.

The guided search maximises Σ log(1 + Σ b), summed over keypoints and, inside, over the points that
may be seen there; b is a point's bell at the keypoint over chance. Both the pull of a keypoint and
how the pull changes with the pose follow from that. A wrong pair pulls, but on average its pull
does not change with the pose: that is in the second derivative, and needs no count of wrong ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.server.pose_fit import Floats, invert, sum_by_place, summed


@dataclass(frozen=True, eq=False)
class SoftMatches:
    """Pairs a pose was fitted to.

    keypoint (n,) rows of the query, point (n,) of the map, weight (n,) the probability that they
    belong together; spread: how far a right pair is off, in pixels along one axis
    """

    keypoint: NDArray[np.int64]
    point: NDArray[np.int64]
    weight: Floats
    spread: float


def soft_covariance(
    slopes: Floats, errors: Floats, keypoints: Floats, matches: SoftMatches
) -> tuple[Floats, Floats]:
    """(6, 6) covariance by the scatter of the pairs; and per squared pixel of a shared error.

    slopes (n, 2, 6), errors (n, 2), keypoints (n, 2)
    """
    weight, variance = matches.weight, matches.spread**2
    _, first, owner = np.unique(matches.keypoint, return_index=True, return_inverse=True)
    along = np.einsum("nij,ni->nj", slopes, errors)
    pulls = summed(along * weight[:, None], owner, len(first))
    every = np.einsum("n,nij,nik->jk", weight, slopes, slopes)
    spent = (np.einsum("n,nj,nk->jk", weight, along, along) - pulls.T @ pulls) / variance
    inverse = invert(every - spent, every)
    leverage = weight / 2 * np.einsum("nij,jk,nik->n", slopes, inverse, slopes, optimize=True)
    followed = summed(leverage[:, None], owner, len(first))
    pulls = pulls / np.clip(1 - followed, 0.2, 1)
    by_place = sum_by_place(pulls, keypoints[first])
    few = weight.sum() / max(weight.sum() - slopes.shape[2] / 2, 1.0)
    # What one right pair tells, summed over pairs: wrong ones add nothing on average.
    squares = (errors * errors).sum(axis=1)
    pull = summed(errors * weight[:, None], owner, len(first))
    told = weight.sum() - ((weight * squares).sum() - (pull * pull).sum()) / (2 * variance)
    shared = max(told, 1.0) * inverse
    return few * inverse @ (by_place.T @ by_place) @ inverse, shared
