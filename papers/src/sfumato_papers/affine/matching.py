"""Affine embeddings, Fig. 2: matching lifted descriptors by the HPatches protocol.

Picture 1 of each sequence against the others: mutual nearest neighbours, no ratio test; a match
is right within t pixels of the homography. A pair of pictures without any match counts 0.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import unit_vectors
from sfumato.core.types import Features
from sfumato.datasets.hpatches import Sequence as Pictures
from sfumato.datasets.hpatches import transfer
from sfumato.device.mechanisms.lifting import STRATEGIES, SubspaceLifting
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from sfumato.matching.nearest import mutual_nearest
from sfumato.matching.subspace import Subspaces
from sfumato.matching.subspace import mutual_nearest as mutual_nearest_subspaces
from sfumato_papers.harness.options import Checked, folder, option
from sfumato_papers.harness.outcomes import Journal
from sfumato_papers.harness.work import seeded, worked_through

THRESHOLDS = tuple(range(1, 11))  # pixels
DISTANCES = ("point-subspace", "subspace-subspace")


@dataclass(frozen=True)
class Settings(Checked):
    """Match pictures by subspaces: mean matching accuracy beside raw descriptors.

    Outcomes are written as they are made; the same command goes on where it was stopped.

    Example: sfumato experiment matching --data oxford --max-keypoints 1000
    """

    data: Path | None = folder(
        "A folder of sequences as in HPatches or Oxford's set.", "a file of outcomes"
    )
    database: str = option("bsds-16k", "The words that subspaces pass through: a dictionary.")
    strategies: tuple[str, ...] = option(
        STRATEGIES, "How to lift, several.", "--strategy", choices=STRATEGIES
    )
    dimensions: tuple[int, ...] = option((2, 4, 8, 16), "m, several.", "--dimension")
    distances: tuple[str, ...] = option(
        DISTANCES, "point-subspace (one side lifted), subspace-subspace, or both.", "--distance",
        choices=DISTANCES,
    )  # fmt: skip
    precision: str = option("float32", "float32 or float16 on the wire.")
    max_keypoints: int = option(1000, "The strongest of each picture.")
    num_seeds: int = option(3, "Lifts of each picture.", "--seeds")

    def liftings(self, database: Dictionary) -> Iterator[SubspaceLifting]:
        for strategy in self.strategies:
            for dimension in self.dimensions:
                yield SubspaceLifting(strategy, dimension, database, precision=self.precision)


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
    def key(self) -> tuple[Setting, int, str, int]:
        return self.setting, self.seed, self.sequence, self.picture

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Share of the matches that are right at 1 … 10 px; 0 without any match."""
        return np.array(self.correct) / max(self.num_matches, 1)


JOURNAL = Journal("matching", "the matching experiment", Outcome)


def run_matching(
    sequences: tuple[Pictures, ...], database: Dictionary, settings: Settings, path: Path
) -> None:
    """Match all pairs under all settings. Lifts are seeded: for measuring, not for sending."""
    about = {
        "database": database.fingerprint,
        "num_words": database.num_words,
        "provenance": database.manifest["provenance"],
        "extractor": database.extractor,
        "max_keypoints": settings.max_keypoints,
        "sequences": sorted(sequence.name for sequence in sequences),
    }
    others = "matches of other sequences, another database or another number of keypoints"
    kept = JOURNAL.begin(path, about, others)
    done = frozenset(kept.outcomes)
    for found in worked_through(_match_sequence, sequences, "matching", database, settings, done):
        kept.add(*found)


def _match_sequence(
    database: Dictionary, settings: Settings, done: frozenset[Hashable], sequence: Pictures
) -> list[Outcome]:
    """The pairs of one sequence under every setting that is not done yet."""
    made: list[Outcome] = []
    features = [
        extract(file, database.extractor, max_keypoints=settings.max_keypoints)
        for file in (sequence.first, *(file for file, _ in sequence.others))
    ]
    plain = [unit_vectors(found.descriptors, np.float32) for found in features]
    for picture in range(1, len(features)):
        if (Setting(), 0, sequence.name, picture) not in done:
            start = time.perf_counter()
            matches = mutual_nearest(plain[0], plain[picture])
            seconds = time.perf_counter() - start
            made.append(_judge(Setting(), 0, sequence, features, picture, matches, seconds))
    for lifting in settings.liftings(database):
        for seed in range(settings.num_seeds):
            lifted: dict[int, Subspaces] = {}
            for distance in settings.distances:
                row = Setting(lifting.strategy, lifting.dimension, distance, settings.precision)
                for picture in range(1, len(features)):
                    if (row, seed, sequence.name, picture) in done:
                        continue
                    for image in {0, picture} - set(lifted):
                        # Another stream for every picture: each chooses its own sub-database.
                        drawn = (lifting.strategy, lifting.dimension, seed, sequence.name, image)
                        offsets, bases = lifting.lift(features[image].descriptors, seeded(*drawn))
                        lifted[image] = Subspaces(
                            offsets.astype(lifting.precision), bases.astype(lifting.precision)
                        )
                    start = time.perf_counter()
                    first = plain[0] if distance == "point-subspace" else lifted[0]
                    there, here = mutual_nearest_subspaces(lifted[picture], first)
                    seconds = time.perf_counter() - start
                    matches = here, there
                    made.append(_judge(row, seed, sequence, features, picture, matches, seconds))
    return made


def _judge(
    setting: Setting,
    seed: int,
    sequence: Pictures,
    features: list[Features],
    picture: int,
    matches: tuple[NDArray[np.int64], NDArray[np.int64]],
    seconds: float,
) -> Outcome:
    here, there = matches
    _, homography = sequence.others[picture - 1]
    expected = transfer(homography, features[0].keypoints[here])
    error = np.linalg.norm(expected - features[picture].keypoints[there], axis=1)
    correct = tuple(int((error <= limit).sum()) for limit in THRESHOLDS)
    return Outcome(
        setting, seed, sequence.name, sequence.change, picture, len(here), correct, seconds
    )
