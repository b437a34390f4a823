"""Every release of a map with every other: candidates, and the geometry that they agree on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from sfumato.core.progress import Progress
from sfumato.core.releases import KeypointRelease, WordRelease
from sfumato.core.types import Pose
from sfumato.execution import current
from sfumato.server.mapping.private_pairs import PairCandidates, Rows, pair_candidates
from sfumato.server.mapping.two_view import PairOptions, TwoView, View, examine_pair


class Candidates:
    """Chosen partners are slow to find and few: kept. Pairs by words are quick and many: not."""

    def __init__(self, rows: Sequence[KeypointRelease]) -> None:
        self.rows = rows
        self._kept: dict[tuple[int, int], PairCandidates] = {}

    def __call__(self, a: int, b: int) -> PairCandidates:
        if (a, b) in self._kept:
            return self._kept[a, b]
        found = pair_candidates(self.rows[a], self.rows[b])
        self.keep(a, b, found)
        return found

    def keep(self, a: int, b: int, found: PairCandidates | None) -> None:
        """Remember what a worker found."""
        if found is not None and not isinstance(self.rows[a], WordRelease):
            self._kept[a, b] = found


def compare_all(
    views: Sequence[View],
    candidates_of: Candidates,
    options: PairOptions,
    seed: int,
    progress: Progress,
) -> tuple[dict[tuple[int, int], Rows], dict[tuple[int, int], Pose]]:
    """Matches and motion of every pair that shows one place beyond chance."""
    pairs = list(combinations(range(len(views)), 2))
    matches, motions = {}, {}
    given = (views, candidates_of.rows, options, seed)
    examined = current().map(_examine, pairs, *given, threads=1)
    for done, ((a, b), (found, candidates)) in enumerate(zip(pairs, examined, strict=True), 1):
        candidates_of.keep(a, b, candidates)
        if found is not None:
            matches[a, b], motions[a, b] = found.matches, found.pose
        progress("comparing", done, len(pairs))
    return matches, motions


def _examine(
    views: Sequence[View],
    rows: Sequence[KeypointRelease],
    options: PairOptions,
    seed: int,
    pair: tuple[int, int],
) -> tuple[TwoView | None, PairCandidates | None]:
    """The geometry of a pair, and its candidates where they are worth keeping."""
    a, b = pair
    candidates = pair_candidates(rows[a], rows[b])
    found = examine_pair(views[a], views[b], candidates, options, seed=seed)
    return found, None if isinstance(rows[a], WordRelease) else candidates
