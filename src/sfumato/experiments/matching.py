"""Image matching on lifted descriptors: the HPatches protocol [affine, Fig. 2].

Picture 1 of each sequence against the others: mutual nearest neighbours, no ratio test; a match
is right within t pixels of the homography. A pair of pictures without any match counts 0.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Features
from sfumato.datasets.hpatches import Sequence, transfer
from sfumato.device.mechanisms.lifting import STRATEGIES, SubspaceLifting
from sfumato.dictionary import Dictionary
from sfumato.experiments.records import append_record, begin_records, read_records
from sfumato.features import extract
from sfumato.matching.nearest import mutual_nearest, unit_length
from sfumato.matching.subspace import Subspaces
from sfumato.matching.subspace import mutual_nearest as mutual_nearest_subspaces

THRESHOLDS = tuple(range(1, 11))  # pixels
DISTANCES = ("point-subspace", "subspace-subspace")


@dataclass(frozen=True)
class Setting:
    """What one row of the table is about; strategy "raw" has no dimension and no distance."""

    strategy: str = "raw"
    dimension: int = 0
    distance: str = "point-point"
    precision: str = "float32"


@dataclass(frozen=True)
class Outcome:
    """Pictures 1 and `picture` of a sequence under one setting and seed.

    picture  counted from 0 as all indices are: 1 is the sequence's second picture
    correct  matches within 1, 2, … 10 pixels
    """

    setting: Setting
    seed: int
    sequence: str
    change: str
    picture: int
    num_matches: int
    correct: tuple[int, ...]
    seconds: float

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Share of the matches that are right at 1 … 10 px; 0 without any match."""
        return np.array(self.correct) / max(self.num_matches, 1)


@dataclass(frozen=True)
class Grid:
    """The settings to run: raw, and each strategy at each dimension and distance."""

    strategies: tuple[str, ...] = STRATEGIES
    dimensions: tuple[int, ...] = (2, 4, 8, 16)
    distances: tuple[str, ...] = DISTANCES
    precision: str = "float32"
    num_seeds: int = 3
    max_keypoints: int = 1000

    def __post_init__(self) -> None:
        for name, values, known in (
            ("strategy", self.strategies, STRATEGIES),
            ("distance", self.distances, DISTANCES),
        ):
            for value in values:
                if value not in known:
                    raise InvalidInput(f"{name} must be one of {', '.join(known)}, got {value!r}.")

    def liftings(self, database: Dictionary) -> Iterator[SubspaceLifting]:
        for strategy in self.strategies:
            for dimension in self.dimensions:
                yield SubspaceLifting(strategy, dimension, database, precision=self.precision)


def run_matching(
    sequences: tuple[Sequence, ...],
    database: Dictionary,
    grid: Grid,
    path: Path,
    *,
    progress: Progress = silent,
) -> None:
    """Match all pairs under all settings; outcomes are appended to `path` as they are made.

    The same call goes on where it was stopped. Lifts are seeded: for measuring, not for sending.
    """
    head = {
        "kind": "matching",
        "database": database.fingerprint,
        "num_words": database.num_words,
        "provenance": database.manifest["provenance"],
        "extractor": database.extractor,
        "max_keypoints": grid.max_keypoints,
        "sequences": sorted(sequence.name for sequence in sequences),
    }
    done = _open(path, head)
    per_pair = 1 + len(grid.strategies) * len(grid.dimensions) * grid.num_seeds
    total = per_pair * len(sequences)
    for number, sequence in enumerate(sequences):
        pictures = [sequence.first, *(file for file, _ in sequence.others)]
        features = [
            extract(file, database.extractor, max_keypoints=grid.max_keypoints) for file in pictures
        ]
        for i, outcome in enumerate(_outcomes(sequence, features, database, grid, done)):
            if outcome is not None:
                append_record(path, {"kind": "outcome", **asdict(outcome)})
            share = (i + 1) / (per_pair * len(sequence.others) * len(grid.distances))
            progress("matching", int(per_pair * (number + min(share, 1))), total)
    progress("matching", total, total)


def _outcomes(
    sequence: Sequence,
    features: list[Features],
    database: Dictionary,
    grid: Grid,
    done: set[Any],
) -> Iterator[Outcome | None]:
    plain = [unit_length(found.descriptors) for found in features]
    for picture in range(1, len(features)):
        if (Setting(), 0, sequence.name, picture) in done:
            yield None
            continue
        start = time.perf_counter()
        matches = mutual_nearest(plain[0], plain[picture])
        seconds = time.perf_counter() - start
        yield _judge(Setting(), 0, sequence, features, picture, matches, seconds)
    for lifting in grid.liftings(database):
        for seed in range(grid.num_seeds):
            lifted: dict[int, Subspaces] = {}
            for distance in grid.distances:
                setting = Setting(lifting.strategy, lifting.dimension, distance, grid.precision)
                for picture in range(1, len(features)):
                    if (setting, seed, sequence.name, picture) in done:
                        yield None
                        continue
                    for image in (0, picture):
                        if image not in lifted:
                            rng = _seeded(setting, seed, sequence.name, image)
                            lifted[image] = _lift(lifting, features[image], rng)
                    start = time.perf_counter()
                    first = plain[0] if distance == "point-subspace" else lifted[0]
                    there, here = mutual_nearest_subspaces(lifted[picture], first)
                    seconds = time.perf_counter() - start
                    matches = here, there
                    yield _judge(setting, seed, sequence, features, picture, matches, seconds)


def _lift(lifting: SubspaceLifting, features: Features, rng: SeededRandom) -> Subspaces:
    offsets, bases = lifting.lift(features.descriptors, rng)
    return Subspaces(offsets.astype(lifting.precision), bases.astype(lifting.precision))


def _seeded(setting: Setting, seed: int, sequence: str, image: int) -> SeededRandom:
    """Another stream for every picture, so that each chooses its own sub-database."""
    text = f"{setting.strategy}|{setting.dimension}|{seed}|{sequence}|{image}"
    return SeededRandom(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


def _judge(
    setting: Setting,
    seed: int,
    sequence: Sequence,
    features: list[Features],
    picture: int,
    matches: tuple[NDArray[np.int64], NDArray[np.int64]],
    seconds: float,
) -> Outcome:
    here, there = matches
    _, homography = sequence.others[picture - 1]
    expected = transfer(homography, features[0].keypoints[here])
    error = np.linalg.norm(expected - features[picture].keypoints[there], axis=1)
    return Outcome(
        setting=setting,
        seed=seed,
        sequence=sequence.name,
        change=sequence.change,
        picture=picture,
        num_matches=len(here),
        correct=tuple(int((error <= limit).sum()) for limit in THRESHOLDS),
        seconds=seconds,
    )


def read_outcomes(path: str | Path) -> tuple[dict[str, Any], tuple[Outcome, ...]]:
    """What was matched, and every outcome of a file."""
    head, *lines = [*read_records(Path(path))] or [{}]
    if head.get("kind") != "matching":
        raise InvalidInput(f"{path} is not a file of the matching experiment.")
    outcomes = []
    for number, line in enumerate(lines, start=2):
        try:
            line.pop("kind")
            setting, correct = Setting(**line.pop("setting")), tuple(line.pop("correct"))
            outcomes.append(Outcome(setting=setting, correct=correct, **line))
        except (KeyError, TypeError) as error:
            raise InvalidInput(f"{path} is damaged in line {number}: {error}.") from None
    return head, tuple(outcomes)


def _open(path: Path, head: dict[str, Any]) -> set[Any]:
    begin_records(
        path, head, "matches of other sequences, another database or another number of keypoints"
    )
    _, outcomes = read_outcomes(path)
    return {(o.setting, o.seed, o.sequence, o.picture) for o in outcomes}
