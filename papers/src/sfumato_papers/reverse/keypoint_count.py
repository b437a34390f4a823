"""Reverse engineering, Fig. 5: what matching loses with fewer keypoints, N = 1000 to 100.

Matching recall: of the posed pairs that share at least 20 points of the map, those that have at
least 20 right matches. What was counted for each pair goes to disk as it is made. Descriptors are
raw here: this is about their number alone, and no ε belongs to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
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
from sfumato_papers.harness.work import worked_through
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
            todo = []
            for pair in pairs.pairs:
                names = pairs.names[pair.first], pairs.names[pair.second]
                for protocol in settings.protocols:
                    every = [
                        Setting(extractor, keep_by, protocol, count, settings.pool)
                        for count in settings.keypoints
                    ]
                    wanted = [setting for setting in every if (setting, *names) not in kept]
                    if wanted:
                        todo.append((pair, names, wanted))
            images = {image for pair, _, _ in todo for image in (pair.first, pair.second)}
            sides = {image: _side(pairs, source, keep_by, image) for image in sorted(images)}
            given = (sides, settings.has_ransac)
            for found in worked_through(_outcomes, todo, f"{extractor} by {keep_by}", *given):
                kept.add(*found)


def _side(pairs: PairSet, source: KeypointSource, keep_by: str, image: int) -> Side:
    """An image of the map, its keypoints in the order in which they are kept."""
    name, world = pairs.names[image], pairs.world
    order = source.order(name, keep_by)
    points = pairs.points_of[image][order] if source.is_reference else None
    kept = source.features[name].take(order)
    return Side(kept, as_vectors(kept), world.camera(image), world.pose(image), points)


def _outcomes(
    sides: Mapping[int, Side],
    has_ransac: bool,
    work: tuple[PosedPair, tuple[str, str], Sequence[Setting]],
) -> list[Outcome]:
    pair, names, wanted = work
    first, second = sides[pair.first], sides[pair.second]
    whole = wanted[0].protocol == "query"
    counts = [setting.num_keypoints for setting in wanted]
    found = compare(first, second, counts, whole_second=whole, has_ransac=has_ransac)
    made = []
    for setting in wanted:
        shared, count = None, setting.num_keypoints
        if first.points is not None and second.points is not None:
            both = np.intersect1d(first.points[:count], second.points[: None if whole else count])
            shared = int((both >= 0).sum())
        made.append(Outcome(setting, *names, pair.covisible, pair.is_control, found[count], shared))
    return made


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
