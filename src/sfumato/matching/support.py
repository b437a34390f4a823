"""Spatial support: true matches come with neighbours that moved alike, wrong ones alone.

A candidate match of a noisy word is wrong most of the time, in numbers that defeat RANSAC. But
two true matches that are close in the query are close in the reference too, and the small
vector between them turns and stretches little from one picture to the other. Wrong candidates
agree in that way only by chance, which falls with the fourth power of the radius.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SupportOptions:
    """How alike two neighbouring matches must move.

    max_stretch   ratio of the lengths of the two vectors, either way
    max_turn_deg  angle between them
    min_distance  pixels; nearer keypoints are orientations or scales of one corner
    chance        supporters that a wrong match has on average; sets the radius by itself
    max_radius    share of the picture's diagonal
    """

    max_stretch: float = 1.7
    max_turn_deg: float = 25.0
    min_distance: float = 3.0
    chance: float = 0.1
    max_radius: float = 0.08


def support_radius(
    num_matches: int, query_area: float, reference_area: float, options: SupportOptions
) -> float:
    """The radius at which a wrong match has `chance` supporters on average.

    Of n wrong matches, n·πr²/A fall into the disc around one in the query, and of those the
    share s·πr²/B into the ring sector around it in the reference.
    """
    sector = (options.max_stretch**2 - options.max_stretch**-2) * options.max_turn_deg / 180 / 2
    density = max(num_matches, 1) * np.pi**2 * sector / (query_area * reference_area)
    limit = options.max_radius * np.sqrt(query_area * 2)
    return float(min((options.chance / density) ** 0.25, limit))


def count_supporters(
    query: NDArray[np.float32],
    reference: NDArray[np.float32],
    position: NDArray[np.int64],
    radius: float,
    options: SupportOptions,
) -> NDArray[np.int64]:
    """How many other matches move like each match: (n, 2), (n, 2) → (n,).

    `position` numbers the positions of the query: matches of one position count once, so that a
    word that is filed often is no evidence.
    """
    if len(query) < 2:
        return np.zeros(len(query), dtype=np.int64)
    from sfumato.matching.support_kernel import count_in_grid  # compiled when first needed

    counts, _ = count_in_grid(
        np.ascontiguousarray(query, dtype=np.float32),
        np.ascontiguousarray(reference, dtype=np.float32),
        np.ascontiguousarray(position, dtype=np.int64),
        float(radius),
        options.min_distance,
        options.max_stretch,
        float(np.cos(np.radians(options.max_turn_deg))),
    )
    return np.asarray(counts)


def positions(keypoints: NDArray[np.float32]) -> NDArray[np.int64]:
    """A number for each position: keypoints at the same position share it."""
    _, position = np.unique(keypoints, axis=0, return_inverse=True)
    return position.reshape(-1).astype(np.int64)
