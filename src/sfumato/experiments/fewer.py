"""Fewer keypoints, more privacy: what matching loses from N = 1000 to 100 [reverse, Fig. 5].

Matching recall: of the posed pairs that share at least 20 points of the map, those that have at
least 20 right matches. What was counted for each pair goes to disk as it is made. Descriptors are
raw here: this is about their number alone, and no ε belongs to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Features
from sfumato.device.filters.keep import KEEP_BY
from sfumato.device.filters.spread import spread_order
from sfumato.device.filters.stable import stable_order
from sfumato.experiments.fewer_data import (
    REFERENCE,
    PairSet,
    PosedPair,
    scene_features,
    survivals_of,
)
from sfumato.experiments.fewer_matching import MAX_ERROR, Counts, Side, compare
from sfumato.experiments.records import append_record, begin_records, read_records
from sfumato.features.extractors import find_extractor

EXTRACTORS = ("sift", "freak", "vgg", "beblid")
KEYPOINTS = (1000, 800, 400, 200, 100)
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
class Grid:
    """Which curves are drawn.

    pool        keypoints found in each picture at most, the strongest; None for all
    has_ransac  also count the inliers of a server that knows no pose, which takes longer
    """

    extractors: tuple[str, ...] = EXTRACTORS
    keypoints: tuple[int, ...] = KEYPOINTS
    keep_by: tuple[str, ...] = KEEP_BY
    protocols: tuple[str, ...] = PROTOCOLS
    pool: int | None = None
    has_ransac: bool = False

    def __post_init__(self) -> None:
        for extractor in self.extractors:
            if not find_extractor(extractor).offline:
                raise InvalidInput(f"{extractor} needs weights; give extractors that need none.")
        for count in self.keypoints:
            check_count("keypoints", count, low=1)
        if self.pool is not None:
            check_count("pool", self.pool, low=max(self.keypoints))
        for name, given, known in (
            ("keep-by", self.keep_by, KEEP_BY),
            ("protocol", self.protocols, PROTOCOLS),
        ):
            for value in given:
                if value not in known:
                    raise InvalidInput(f"{name} must be one of {', '.join(known)}, got {value!r}.")


def run_fewer(
    folders: Sequence[str | Path],
    pairs: PairSet,
    grid: Grid,
    work: str | Path,
    path: Path,
    *,
    progress: Progress = silent,
) -> None:
    """Count the matches of every pair under every setting that the file does not hold yet."""
    done = open_outcomes(path, describe(pairs))
    for extractor in grid.extractors:
        features: Mapping[str, Features] | None = None
        for keep_by in grid.keep_by:
            sides: dict[int, Side] = {}
            orders: dict[int, NDArray[np.int64]] = {}
            for number, pair in enumerate(pairs.pairs):
                progress(f"{extractor} by {keep_by}", number, len(pairs.pairs))
                todo = list(_missing(pair, pairs, grid, extractor, keep_by, done))
                if not todo:
                    continue
                if features is None:
                    features = scene_features(
                        folders, extractor, work, pool=grid.pool, progress=progress
                    )
                for image in (pair.first, pair.second):
                    if image not in sides:
                        name = pairs.names[image]
                        item = features[name]
                        survived = None
                        if keep_by == "stable":
                            survived = survivals_of(folders, name, item, work, grid.pool)
                        orders[image] = keep_order(item, keep_by, survived)
                        sides[image] = Side.of(
                            item, orders[image], pairs.world.camera(image), pairs.world.pose(image)
                        )
                for protocol, wanted in todo:
                    has_points = extractor == REFERENCE and grid.pool is None
                    made = _outcomes(
                        pair, pairs, sides, orders, grid, protocol, wanted, has_points=has_points
                    )
                    line = [asdict(outcome) for outcome in made]
                    append_record(path, {"kind": "pair", "outcomes": line})
            progress(f"{extractor} by {keep_by}", len(pairs.pairs), len(pairs.pairs))


def keep_order(
    features: Features, keep_by: str, survived: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """All rows in the order in which a device keeps them: any N is a beginning of it.

    survived  how many views each keypoint survives, which "stable" needs
    """
    if keep_by == "spread":
        return spread_order(features)
    if keep_by == "stable":
        if survived is None:
            raise InvalidInput("stable keypoints are chosen by the views they survive; count them.")
        return stable_order(features, survived)
    return np.asarray(np.argsort(-features.scores, kind="stable"), dtype=np.int64)


def _missing(
    pair: PosedPair, pairs: PairSet, grid: Grid, extractor: str, keep_by: str, done: set[Any]
) -> Iterator[tuple[str, tuple[Setting, ...]]]:
    names = pairs.names[pair.first], pairs.names[pair.second]
    for protocol in grid.protocols:
        settings = [
            Setting(extractor, keep_by, protocol, count, grid.pool) for count in grid.keypoints
        ]
        wanted = tuple(setting for setting in settings if (setting, *names) not in done)
        if wanted:
            yield protocol, wanted


def _outcomes(
    pair: PosedPair,
    pairs: PairSet,
    sides: Mapping[int, Side],
    orders: Mapping[int, NDArray[np.int64]],
    grid: Grid,
    protocol: str,
    settings: tuple[Setting, ...],
    *,
    has_points: bool,
) -> Iterator[Outcome]:
    whole = protocol == "query"
    found = compare(
        sides[pair.first],
        sides[pair.second],
        tuple(setting.num_keypoints for setting in settings),
        whole_second=whole,
        has_ransac=grid.has_ransac,
    )
    for setting in settings:
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


def describe(pairs: PairSet) -> dict[str, Any]:
    """The first line of a file of outcomes; two sets of pairs are not mixed."""
    digest = hashlib.sha256()
    for pair in pairs.pairs:
        digest.update(f"{pairs.names[pair.first]}|{pairs.names[pair.second]}|".encode())
        digest.update(f"{pair.covisible}\n".encode())
    return {
        "kind": "fewer",
        "format": 1,
        "fingerprint": digest.hexdigest()[:16],
        "scenes": sorted({name.split("/")[0] for name in pairs.names}),
        "images": len(pairs.names),
        "points": len(pairs.world.points),
        "possible_pairs": pairs.num_possible,
        "pairs": sum(not pair.is_control for pair in pairs.pairs),
        "controls": sum(pair.is_control for pair in pairs.pairs),
        "max_error_px": MAX_ERROR,
    }


def open_outcomes(path: Path, head: dict[str, Any]) -> set[Any]:
    """Begin a file or go on with it; what it holds already."""
    begin_records(path, head, "outcomes of other pairs")
    _, outcomes = read_outcomes(path)
    return {outcome.key for outcome in outcomes}


def read_outcomes(path: str | Path) -> tuple[dict[str, Any], tuple[Outcome, ...]]:
    """What was asked, and every outcome of a file."""
    head, *lines = [*read_records(Path(path))] or [{}]
    if head.get("kind") != "fewer" or head.get("format") != 1:
        raise InvalidInput(f"{path} is not a file of the fewer-keypoints experiment.")
    found = []
    for number, line in enumerate(lines, start=2):
        try:
            for item in line["outcomes"]:
                setting, counts = Setting(**item.pop("setting")), Counts(**item.pop("counts"))
                found.append(Outcome(setting=setting, counts=counts, **item))
        except (KeyError, TypeError, AttributeError) as error:
            raise DamagedFile(f"{path} is damaged in line {number}: {error}.") from None
    return head, tuple(found)
