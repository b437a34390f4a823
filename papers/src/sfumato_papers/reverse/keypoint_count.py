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
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Features
from sfumato.device.filters.keep import KEEP_BY
from sfumato.features.extractors import find_extractor
from sfumato_papers.harness.options import Checked, folders, option
from sfumato_papers.harness.outcomes import Journal, Kept
from sfumato_papers.harness.work import tracked
from sfumato_papers.posed_pairs import (
    REFERENCE,
    PairSet,
    PosedPair,
    keep_order,
    scene_features,
    survivals_of,
)
from sfumato_papers.reverse.keypoint_count_matching import MAX_ERROR, Counts, Side, compare

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
    folders: Sequence[str | Path],
    pairs: PairSet,
    settings: Settings,
    work: str | Path,
    path: Path,
    *,
    progress: Progress = silent,
) -> None:
    """Count the matches of every pair under every setting that the file does not hold yet."""
    kept = JOURNAL.begin(path, describe(pairs), "outcomes of other pairs")
    for extractor in settings.extractors:
        features: Mapping[str, Features] | None = None
        for keep_by in settings.keep_by:
            sides: dict[int, Side] = {}
            orders: dict[int, NDArray[np.int64]] = {}
            for pair in tracked(pairs.pairs, f"{extractor} by {keep_by}", progress):
                todo = list(_missing(pair, pairs, settings, extractor, keep_by, kept))
                if not todo:
                    continue
                if features is None:
                    features = scene_features(
                        folders, extractor, work, pool=settings.pool, progress=progress
                    )
                for image in (pair.first, pair.second):
                    if image not in sides:
                        name = pairs.names[image]
                        item = features[name]
                        survived = None
                        if keep_by == "stable":
                            survived = survivals_of(folders, name, item, work, settings.pool)
                        orders[image] = keep_order(item, keep_by, survived)
                        sides[image] = Side.of(
                            item, orders[image], pairs.world.camera(image), pairs.world.pose(image)
                        )
                for protocol, wanted in todo:
                    has_points = extractor == REFERENCE and settings.pool is None
                    made = _outcomes(
                        pair,
                        pairs,
                        sides,
                        orders,
                        settings,
                        protocol,
                        wanted,
                        has_points=has_points,
                    )
                    kept.add(*made)


def _missing(
    pair: PosedPair,
    pairs: PairSet,
    settings: Settings,
    extractor: str,
    keep_by: str,
    kept: Kept[Outcome],
) -> Iterator[tuple[str, tuple[Setting, ...]]]:
    names = pairs.names[pair.first], pairs.names[pair.second]
    for protocol in settings.protocols:
        every = [
            Setting(extractor, keep_by, protocol, count, settings.pool)
            for count in settings.keypoints
        ]
        wanted = tuple(setting for setting in every if (setting, *names) not in kept)
        if wanted:
            yield protocol, wanted


def _outcomes(
    pair: PosedPair,
    pairs: PairSet,
    sides: Mapping[int, Side],
    orders: Mapping[int, NDArray[np.int64]],
    settings: Settings,
    protocol: str,
    wanted: tuple[Setting, ...],
    *,
    has_points: bool,
) -> Iterator[Outcome]:
    whole = protocol == "query"
    found = compare(
        sides[pair.first],
        sides[pair.second],
        tuple(setting.num_keypoints for setting in wanted),
        whole_second=whole,
        has_ransac=settings.has_ransac,
    )
    for setting in wanted:
        shared = None
        if has_points:
            kept = setting.num_keypoints
            here = pairs.points_of[pair.first][orders[pair.first][:kept]]
            there = pairs.points_of[pair.second][orders[pair.second][: None if whole else kept]]
            shared = len(np.intersect1d(here[here >= 0], there[there >= 0]))
        yield Outcome(
            setting=setting,
            first=pairs.names[pair.first],
            second=pairs.names[pair.second],
            covisible=pair.covisible,
            is_control=pair.is_control,
            counts=found[setting.num_keypoints],
            num_shared=shared,
        )


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
