"""The part of a map that one query needs, where the map itself lies in several places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.gravity import Direction
from sfumato.core.releases import KeypointRelease
from sfumato.core.types import Localization
from sfumato.server.mapping.map import Map
from sfumato.server.retrieval import CandidateMatches, RetrievalOptions


@dataclass(frozen=True, eq=False)
class MapExcerpt:
    """All that one query needs of a map, which may lie in several places.

    world      the images with most votes and those that see the same points; or the map itself
    voted      the former, the best first; None where the vote is still to be held
    shortlist  the images that were asked for by name instead, where they were
    searched   share of the map's images that were looked at
    """

    world: Map
    candidates: CandidateMatches
    voted: NDArray[np.int64] | None = None
    shortlist: NDArray[np.int64] | None = None
    searched: float = 1.0

    def told(self, found: Localization) -> Localization:
        """The answer, which says so where a part of the map was not looked at."""
        if self.searched == 1:
            return found
        sentence = (
            f"{1 - self.searched:.0%} of the map's images could not be looked at, because a part "
            "of the map does not answer"
        )
        if found.localized:
            warning = "; ".join(filter(None, [found.warning, sentence]))
            return replace(found, searched=self.searched, warning=warning)
        reason = f"{sentence}: ask again; in the rest, {found.reason}"
        return replace(found, searched=self.searched, reason=reason)


class MapInParts(Protocol):
    """A map whose images lie in several places, each of which is asked."""

    @property
    def extractor(self) -> str: ...

    @property
    def up(self) -> Direction | None: ...

    def excerpts(
        self,
        releases: Sequence[KeypointRelease],
        options: RetrievalOptions,
        words_each: int,
        shortlist: NDArray[np.int64] | None,
    ) -> tuple[MapExcerpt, ...]:
        """What each release needs; all get the same images, under the same numbers."""
