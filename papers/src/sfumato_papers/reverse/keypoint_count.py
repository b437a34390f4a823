"""Reverse engineering, Fig. 5: what matching loses with fewer keypoints, N = 1000 to 100.

Matching recall: of the posed pairs that share at least 20 points of the map, those that have at
least 20 right matches. What was counted for each pair goes to disk as it is made. Descriptors are
raw here: this is about their number alone, and no ε belongs to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.device.filters.keep import KEEP_BY
from sfumato.features.extractors import find_extractor
from sfumato_papers.harness.options import Checked, folders, option
from sfumato_papers.harness.outcomes import Journal
from sfumato_papers.harness.work import tracked
from sfumato_papers.reverse.keypoint_count_matching import (
    MAX_ERROR,
    Counts,
    Side,
    as_vectors,
    compare,
)
from sfumato_papers.reverse.posed_pairs import KeypointSource, PairSet, PosedPair

EXTRACTORS = ("sift", "freak", "vgg", "beblid")
#: both: either picture keeps N; query: one keeps N, the other is the server's own, with all.
PROTOCOLS = ("both", "query")


@dataclass(frozen=True)
class Setting:
    """What one point of a curve is about; pool: how many were found to choose from, None: all."""

    extractor: str
    keep_by: str
    protocol: str
    num_keypoints: int
    pool: int | None = None


@dataclass(frozen=True)
class Outcome:
    """One pair under one setting.

    num_shared  points of the map that both kept: what the best matcher could find; None where
                keypoints are not those of the map
    """

    setting: Setting
    first: str
    second: str
    covisible: int
    is_control: bool
    counts: Counts
    num_shared: int | None

    @property
    def key(self) -> tuple[Setting, str, str]:
        return self.setting, self.first, self.second


@dataclass(frozen=True)
class Settings(Checked):
    """Keep fewer keypoints: matching recall on posed pairs, and 1 − SSIM of what is rebuilt.

    Outcomes are written as they are made; the same command goes on where it was stopped, and
    further extractors or rules are added to the same folder.

    Example: sfumato experiment fewer --data strecha/ --pictures photos/ -o fewer/
    """

    data: tuple[Path, ...] = folders(
        "A scene with cameras.json, or a folder of scenes; repeat for more.",
        "one of outcomes",
        further="Further scenes.",
    )
    extractors: tuple[str, ...] = option(EXTRACTORS, "Extractors, several.", "--extractor")
    keypoints: tuple[int, ...] = option((1000, 800, 400, 200, 100), "N, several.", low=1)
    keep_by: tuple[str, ...] = option(
        ("strength", "spread"),
        "How N are chosen: strength, spread, stable, several.",
        choices=KEEP_BY,
    )
    protocols: tuple[str, ...] = option(
        ("both",),
        "both: either picture keeps N; query: one does; or both,query.",
        "--protocol",
        choices=PROTOCOLS,
    )
    pool: int | None = option(None, "Find at most so many keypoints to choose from; else all.")
    has_ransac: bool = option(
        False, "Also count inliers without knowing poses; slower.", "--ransac"
    )
    pictures: Path | None = option(None, "Photographs to reconstruct, for 1 − SSIM.")
    num_pictures: int = option(40, "So many of them, spread evenly.")
    networks: Path | None = option(None, "A folder of EXTRACTOR-raw.onnx, beside those shipped.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for extractor in self.extractors:
            if not find_extractor(extractor).offline:
                raise InvalidInput(f"{extractor} needs weights; give extractors that need none.")
        if self.pool is not None:
            check_count("pool", self.pool, low=max(self.keypoints))


def run_fewer(
    folders: Sequence[str | Path], pairs: PairSet, settings: Settings, path: Path
) -> None:
    """Count the matches of every pair under every setting that the file does not hold yet."""
    kept = JOURNAL.begin(path, describe(pairs), "outcomes of other pairs")
    for extractor in settings.extractors:
        source = KeypointSource(folders, path.parent, extractor, settings.pool)
        for keep_by in settings.keep_by:
            sides = _Sides(pairs, source, keep_by)
            for pair in tracked(pairs.pairs, f"{extractor} by {keep_by}"):
                names = pairs.names[pair.first], pairs.names[pair.second]
                for protocol in settings.protocols:
                    every = [
                        Setting(extractor, keep_by, protocol, count, settings.pool)
                        for count in settings.keypoints
                    ]
                    wanted = [setting for setting in every if (setting, *names) not in kept]
                    if wanted:
                        kept.add(*_outcomes(pair, names, sides, wanted, settings.has_ransac))


class _Sides(dict[int, Side]):
    """Images of the map, their keypoints in the order in which they are kept; made when needed."""

    def __init__(self, pairs: PairSet, source: KeypointSource, keep_by: str) -> None:
        super().__init__()
        self._pairs, self._source, self._keep_by = pairs, source, keep_by

    def __missing__(self, image: int) -> Side:
        name, world = self._pairs.names[image], self._pairs.world
        order = self._source.order(name, self._keep_by)
        points = self._pairs.points_of[image][order] if self._source.is_reference else None
        kept = self._source.features[name].take(order)
        self[image] = Side(kept, as_vectors(kept), world.camera(image), world.pose(image), points)
        return self[image]


def _outcomes(
    pair: PosedPair,
    names: tuple[str, str],
    sides: Mapping[int, Side],
    wanted: Sequence[Setting],
    has_ransac: bool,
) -> Iterator[Outcome]:
    first, second = sides[pair.first], sides[pair.second]
    whole = wanted[0].protocol == "query"
    counts = [setting.num_keypoints for setting in wanted]
    found = compare(first, second, counts, whole_second=whole, has_ransac=has_ransac)
    for setting in wanted:
        shared, count = None, setting.num_keypoints
        if first.points is not None and second.points is not None:
            both = np.intersect1d(first.points[:count], second.points[: None if whole else count])
            shared = int((both >= 0).sum())
        yield Outcome(setting, *names, pair.covisible, pair.is_control, found[count], shared)


#: One line holds the outcomes of a pair under all N.
JOURNAL = Journal(
    "fewer", "the fewer-keypoints experiment", Outcome, label="pair", version=1, many="outcomes"
)


def describe(pairs: PairSet) -> dict[str, Any]:
    """The first line of a file of outcomes; two sets of pairs are not mixed."""
    digest = hashlib.sha256()
    for pair in pairs.pairs:
        digest.update(f"{pairs.names[pair.first]}|{pairs.names[pair.second]}|".encode())
        digest.update(f"{pair.covisible}\n".encode())
    return {
        "fingerprint": digest.hexdigest()[:16],
        "scenes": sorted({name.split("/")[0] for name in pairs.names}),
        "images": len(pairs.names),
        "points": len(pairs.world.points),
        "possible_pairs": pairs.num_possible,
        "pairs": sum(not pair.is_control for pair in pairs.pairs),
        "controls": sum(pair.is_control for pair in pairs.pairs),
        "max_error_px": MAX_ERROR,
    }
