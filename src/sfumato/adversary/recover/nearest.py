"""The nearest attack: the public descriptor closest to each subspace. [affine §4.2]

The weakest attack, and the measure of the others. A hybrid subspace passes through a word of
its database as surely as through the descriptor, so the nearest public descriptor is as likely
a neighbour of the wrong one; at random lifting, where there is no wrong one, it is strong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered, check_kind, with_keypoints
from sfumato.adversary.recover.geometry import (
    Lifted,
    database_points,
    nearest_of_each,
    sure_of,
)
from sfumato.core.geometry import unit_vectors
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import Release, SubspaceRelease
from sfumato.dictionary import Dictionary


@with_keypoints
def nearest_attack(
    release: Release,
    *,
    database: Dictionary | NDArray[Any],
    seed: int = 0,  # noqa: ARG001  one signature for all attacks
    progress: Progress = silent,
) -> Recovered:
    """Answer each subspace with the database descriptor closest to it.

    d̂ = argmin_{z ∈ Z} dist(D, z)

    database  public descriptors of the same extractor, (P, n) or a Dictionary. With the very
              words the lifting used, the answer is one of these words and never the descriptor.
    seed      not used: nothing is random here
    Confidence: (1 − distance / distance of the second nearest) / (⌊m/2⌋ + 1), since it may be a
    neighbour of any maker of the subspace.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> release = sf.SubspaceLifting("random", 2).release(features, rng=sf.SeededRandom(1))
    >>> public = sf.Dictionary.load("bsds-16k")
    >>> sf.attacks.nearest(release, database=public)
    Recovered(16 descriptors, 0 certified)
    """
    lifted = check_kind(release, SubspaceRelease, "nearest")
    points = database_points(database, lifted)
    nearest = nearest_of_each(lifted, points, 2, progress)
    chosen = points[nearest].astype(np.float64)
    distance = Lifted.of(lifted).distances(chosen)
    makers = lifted.dimension // 2 + 1
    sure = sure_of(distance[:, 0], distance[:, -1]) / np.float32(makers)
    return Recovered(unit_vectors(chosen[:, 0]).astype(np.float32), sure)
