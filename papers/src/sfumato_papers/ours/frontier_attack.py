"""Ours: the strongest attack on what was sent of a picture, for `sfumato experiment frontier`.

The middle of the picture is painted by the shipped network from what each attack reads. A lifted
query is read in three ways, and the server's own map is among what it knows; what counts is the
way that comes nearest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.lpips import Measure
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.invert.recovered import as_sent_plainly
from sfumato.adversary.metrics import compare
from sfumato.adversary.recover.base import Recovered
from sfumato.adversary.recover.database import database_attack
from sfumato.adversary.recover.nearest import nearest_attack
from sfumato.adversary.recover.posterior import posterior_attack
from sfumato.adversary.recover.vertex import vertex_attack
from sfumato.adversary.score import score
from sfumato.core.geometry import unit_vectors
from sfumato.core.releases import KeypointRelease, PlainRelease, SubspaceRelease, WordRelease
from sfumato.core.types import Features
from sfumato.dictionary import Dictionary

_MOST_KNOWN = 20_000  # descriptors of the map that an attack compares with


@dataclass(frozen=True)
class Attack:
    """The best that any attack made of one picture.

    name   of the attack that painted it best
    ssim   of its picture, lpips the lowest of any (None: not measured)
    right  the largest share of sent keypoints whose word is read right
    grey   SSIM of a grey picture, which needs no release
    """

    name: str
    ssim: float
    lpips: float | None
    right: float
    grey: float


@dataclass(frozen=True, eq=False)
class Attacker:
    """Who attacks: the network, what the server's map knows, and how pictures are compared."""

    painter: Inverter
    known: NDArray[Any]
    lpips: Measure | None

    def strongest(
        self,
        release: KeypointRelease,
        features: Features,
        pixels: NDArray[np.uint8],
        dictionary: Dictionary,
    ) -> Attack:
        """The best of all attacks; features are the truth, dictionary the one words are of."""
        grey = compare(pixels, np.full(pixels.shape, 0.5)).ssim
        found = []
        for name, recovered in self._read(release, dictionary):
            plain = as_sent_plainly(release, recovered)
            picture = self.painter.reconstruct(plain, one_look=True).picture
            right = 0.0
            if len(plain):
                right = score(recovered, features, dictionary=dictionary).right_word or 0.0
            distance = None if self.lpips is None else self.lpips(pixels, picture)
            found.append(Attack(name, compare(pixels, picture).ssim, distance, right, grey))
        best = max(found, key=lambda one: one.ssim)
        lowest = min((one.lpips for one in found if one.lpips is not None), default=None)
        return replace(best, lpips=lowest, right=max(one.right for one in found))

    def _read(
        self, release: KeypointRelease, dictionary: Dictionary
    ) -> Iterator[tuple[str, Recovered]]:
        if isinstance(release, WordRelease):
            yield "likeliest word", posterior_attack(release, dictionary=dictionary)
        elif isinstance(release, SubspaceRelease):
            yield "vertex", vertex_attack(release)
            step = max(1, len(self.known) // _MOST_KNOWN)
            yield "nearest of the map", nearest_attack(release, database=self.known[::step])
            yield "database", database_attack(release, database=dictionary)
        elif isinstance(release, PlainRelease):
            units = unit_vectors(release.descriptors).astype(np.float32)
            sure = np.ones(len(units), dtype=np.float32)
            yield "none needed", Recovered(units, sure, keypoints=release.keypoints)


def middle_of(features: Features, side: int) -> tuple[Features, tuple[slice, slice]]:
    """The keypoints in the middle of a picture, and which pixels that is."""
    width, height = (min(side, length) for length in features.image_size)
    left, top = (features.image_size[0] - width) // 2, (features.image_size[1] - height) // 2
    moved = features.keypoints - np.array([left, top], dtype=np.float32)
    inside = ((moved >= 0) & (moved <= np.array([width - 1, height - 1]))).all(axis=1)
    rows = np.flatnonzero(inside)
    cut = replace(features.take(rows), keypoints=moved[rows], image_size=(width, height))
    return cut, (slice(top, top + height), slice(left, left + width))
