"""Releases together with the truth behind them, which only who measures an attack may see.

Seeded: what is made here is for measuring, never for sending.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import unit_vectors
from sfumato.core.positions import snap, unsnap
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import SubspaceRelease, WordRelease
from sfumato.core.types import Features
from sfumato.device.mechanisms import SubsetMechanism, SubspaceLifting

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

NUM_SUB_DATABASES = 16


@dataclass(frozen=True, eq=False)
class Lift:
    """One picture, lifted: what is attacked, what else the server got, and the truth.

    release  the keypoints under attack
    rest     the other keypoints of the picture, lifted with the same words
    truth    (N, n) the descriptors of `release`, unit length
    words    (N, w) rows of the database each subspace passes through
    """

    release: SubspaceRelease
    rest: SubspaceRelease
    truth: Doubles
    words: Rows


def lift_picture(
    features: Features, mechanism: SubspaceLifting, num_attacked: int, seed: int
) -> Lift:
    """Lift all keypoints of a picture at once; the strongest are attacked."""
    source = _Listening(seed)
    offsets, bases = mechanism.lift(features.descriptors, source)
    drawn = source.words_used(mechanism, len(features))
    first = np.arange(len(features)) < num_attacked
    parts = []
    for rows in (np.flatnonzero(first), np.flatnonzero(~first)):
        sent = offsets[rows].astype(mechanism.precision)
        release = SubspaceRelease(
            offsets=sent,
            bases=bases[rows].astype(mechanism.precision),
            keypoints=features.keypoints[rows],
            image_size=features.image_size,
            extractor=features.extractor,
            reproducible=True,
        )
        parts.append((release, rows[_order(release.offsets, sent)]))
    release, rows = parts[0]
    units = unit_vectors(features.descriptors[rows])
    return Lift(release, parts[1][0], units, drawn[rows])


def draw_words(
    features: Features, mechanism: SubsetMechanism, seed: int
) -> tuple[WordRelease, Rows, Rows]:
    """A release of words, the true word of each of its rows, and that row of the features."""
    truth = mechanism.nearest_words(features)
    drawn = mechanism.draw(truth, SeededRandom(seed))
    release = WordRelease(
        words=drawn,
        num_words=mechanism.dictionary.num_words,
        dictionary=mechanism.dictionary.fingerprint,
        epsilon=mechanism.epsilon,
        keypoints=features.keypoints,
        image_size=features.image_size,
        extractor=features.extractor,
        reproducible=True,
    )
    sent_at = unsnap(snap(features.keypoints, features.image_size), features.image_size)
    given = np.concatenate([sent_at.view(np.uint32), drawn], axis=1)
    kept = np.concatenate([release.keypoints.view(np.uint32), release.words], axis=1)
    rows = _order(kept, given)
    return release, truth[rows].astype(np.int64), rows


def alone_at_their_place(features: Features) -> Features:
    """Only one keypoint of each position: then rows of two releases are told apart by position."""
    steps = snap(features.keypoints, features.image_size)
    first = np.unique(steps, axis=0, return_index=True)[1]
    return features.take(np.sort(first))


def _order(kept: NDArray[Any], given: NDArray[Any]) -> Rows:
    """For each row of `kept`, its number in `given`; equal rows in the order they come."""
    where: dict[bytes, list[int]] = {}
    for number, row in enumerate(np.ascontiguousarray(given)):
        where.setdefault(row.tobytes(), []).append(number)
    return np.array(
        [where[row.tobytes()].pop(0) for row in np.ascontiguousarray(kept)], dtype=np.int64
    )


class _Listening(SeededRandom):
    """Remembers what `below` gave, so that the experiment knows which words were drawn."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._given: list[tuple[int, NDArray[np.uint32]]] = []

    def below(self, bound: int, count: int) -> NDArray[np.uint32]:
        drawn = super().below(bound, count)
        self._given.append((bound, drawn.copy()))
        return drawn

    def words_used(self, mechanism: SubspaceLifting, total: int) -> Rows:
        """Rows of the database behind each subspace, (N, w); −1 where a draw was repeated."""
        size = mechanism.num_adversarial
        given = list(self._given)
        part, step = 0, 1
        if size and mechanism.strategy.startswith("sub-"):
            part, step = int(given.pop(0)[1][0]), mechanism.num_sub_databases
        columns: list[NDArray[np.int64]] = []
        for bound, drawn in given[:size]:  # as `draw_distinct` does
            column = drawn.astype(np.int64)
            for earlier in columns:
                column[earlier == drawn] = bound - 1
            columns.append(column)
        words = np.stack(columns, axis=1) if columns else np.zeros((total, 0), dtype=np.int64)
        return np.asarray(words * step + part) if len(given) <= size else np.full_like(words, -1)
