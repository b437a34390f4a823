"""Selective suppression [reverse, §5.5, Table 2]: what it hides, what it costs, what shows anyway.

Pictures with known people. Each is released with nothing hidden, with what a detector finds
hidden, and with the true boxes hidden; without decoys and with them. Every release is read back
from its bytes and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.infer.holes import HolesAttack
from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import KeypointRelease, Release, WordRelease
from sfumato.core.types import Features
from sfumato.datasets.pascal import Annotated
from sfumato.detectors.base import Boxes, Detector, overlap
from sfumato.detectors.given import GivenBoxes
from sfumato.detectors.regions import touches
from sfumato.detectors.run import detect
from sfumato.device.filters import Decoys, KeepStrongest, Suppress, Suppression
from sfumato.device.mechanisms import Plain, SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.experiments.records import append_record, begin_records, read_records
from sfumato.experiments.suppression_cost import changed_copy, count_inliers, moved_boxes
from sfumato.features import extract, load_image

HIDE = ("nothing", "detected", "given")
MIN_OVERLAP = 0.5


@dataclass(frozen=True)
class Grid:
    """ε is per descriptor; `max_keypoints` are the strongest of what was not hidden."""

    margin: float = 0.1
    reach: float = 0.0
    epsilon: float = 10.0
    subset_size: int = 2
    max_keypoints: int = 1000
    num_seeds: int = 3

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_count("max_keypoints", self.max_keypoints, low=1)
        check_count("seeds", self.num_seeds, low=1)


@dataclass(frozen=True)
class Outcome:
    """One release of one picture.

    num_inside     true keypoints of the release in a hidden region or its margin
    people         true boxes; people_detected of them a detector found (overlap ≥ ½)
    on_people      true keypoints of the release on people, on_people_before without hiding
    people_guessed true boxes that an empty region gives away; guesses and right_guesses count
                   what the attack answered
    inliers        with a changed copy of the picture, treated alike; measured for seed 0
    """

    picture: str
    hide: str
    has_decoys: bool
    seed: int
    num_sent: int
    num_decoys: int
    num_removed: int
    num_regions: int
    num_inside: int
    people: int
    people_detected: int
    on_people: int
    on_people_before: int
    guesses: int
    right_guesses: int
    people_guessed: int
    inliers: int | None


def settings(grid: Grid) -> Iterator[tuple[str, bool, int]]:
    for seed in range(grid.num_seeds):
        for hide in HIDE:
            for has_decoys in (False, True) if hide != "nothing" else (False,):
                yield hide, has_decoys, seed


def run_suppression(
    pictures: Sequence[Annotated],
    detector: Detector,
    dictionary: Dictionary,
    grid: Grid,
    path: Path,
    *,
    progress: Progress = silent,
) -> None:
    """Release every picture in every way; outcomes are appended to `path` as they are made.

    The same call goes on where it was stopped. Releases are seeded: not for sending.
    """
    head = {
        "kind": "suppression",
        **asdict(grid),
        "detector": detector.name,
        "dictionary": dictionary.fingerprint,
        "num_words": dictionary.num_words,
        "pictures": [item.name for item in pictures],
    }
    done = _open(path, head)
    for number, item in enumerate(pictures):
        todo = [key for key in settings(grid) if (item.name, *key) not in done]
        if todo:
            for outcome in _Picture(item, number, detector, dictionary, grid).outcomes(todo):
                append_record(path, {"kind": "outcome", **asdict(outcome)})
        progress("suppression", number + 1, len(pictures))


class _Picture:
    """One picture and its copy; what a detector sees in them is found once."""

    def __init__(
        self, item: Annotated, number: int, detector: Detector, dictionary: Dictionary, grid: Grid
    ) -> None:
        self.item, self.number, self.grid, self.dictionary = item, number, grid, dictionary
        self.picture = load_image(item.picture)
        self.copy, self.homography = changed_copy(self.picture, seed=number)
        self.features = extract(self.picture, dictionary.extractor)
        self.copy_features = extract(self.copy, dictionary.extractor)
        (self.detected,) = detect([detector], self.picture, timeout=600)
        (self.copy_detected,) = detect([detector], self.copy, timeout=600)
        self.mechanism = SubsetMechanism(grid.epsilon, grid.subset_size, dictionary)

    def outcomes(self, todo: Sequence[tuple[str, bool, int]]) -> Iterator[Outcome]:
        for hide, has_decoys, seed in todo:
            yield self._outcome(hide, has_decoys, seed)

    def _outcome(self, hide: str, has_decoys: bool, seed: int) -> Outcome:
        truth = self.item.truth
        boxes = {"nothing": NOTHING, "detected": self.detected, "given": truth}[hide]
        rng = SeededRandom(1000 * self.number + 10 * seed + HIDE.index(hide))
        sent = hide_and_keep(
            self.features, self.picture, boxes, self.grid, self._decoys(has_decoys), rng
        )
        made = self.mechanism.release(sent.features, rng=rng)
        release = Release.from_bytes(made.to_bytes())
        if not isinstance(release, WordRelease):
            raise InvalidInput("the mechanism of this experiment sends words.")
        real = ~decoy_rows(release, sent)
        inside = touches(boxes, release.keypoints, margin=self.grid.margin)
        on_people = touches(truth, release.keypoints)
        plain = KeepStrongest(self.grid.max_keypoints)(self.features, rng=rng)
        places = Plain().release(plain, rng=rng).keypoints
        guesses = HolesAttack().guess(release)
        hits = overlap(truth.corners, guesses.corners) >= MIN_OVERLAP
        found = overlap(truth.corners, self.detected.corners) >= MIN_OVERLAP
        return Outcome(
            picture=self.item.name,
            hide=hide,
            has_decoys=has_decoys,
            seed=seed,
            num_sent=len(release),
            num_decoys=int((~real).sum()),
            num_removed=sent.told.removed,
            num_regions=len(boxes),
            num_inside=int((inside & real).sum()),
            people=len(truth),
            people_detected=int(found.any(axis=1).sum()),
            on_people=int((on_people & real).sum()),
            on_people_before=int(touches(truth, places).sum()),
            guesses=len(guesses),
            right_guesses=int(hits.any(axis=0).sum()),
            people_guessed=int(hits.any(axis=1).sum()),
            inliers=self._inliers(sent.features, hide, has_decoys, rng) if seed == 0 else None,
        )

    def _decoys(self, wanted: bool) -> Decoys | None:
        return Decoys(self.dictionary) if wanted else None

    def _inliers(self, first: Features, hide: str, has_decoys: bool, rng: SeededRandom) -> int:
        there = moved_boxes(self.item.truth, self.homography, self.copy.shape)
        boxes = {"nothing": NOTHING, "detected": self.copy_detected, "given": there}[hide]
        second = hide_and_keep(
            self.copy_features, self.copy, boxes, self.grid, self._decoys(has_decoys), rng
        )
        return count_inliers(first, second.features, self.homography)


NOTHING = Boxes(np.zeros((0, 4)), (), np.zeros(0))


@dataclass(frozen=True)
class Sent:
    """What goes to the mechanism, which rows of it are decoys, and what the device was told."""

    features: Features
    is_decoy: NDArray[np.bool_]
    told: Suppression


def hide_and_keep(
    features: Features,
    picture: NDArray[np.uint8],
    boxes: Boxes,
    grid: Grid,
    decoys: Decoys | None,
    rng: SeededRandom,
) -> Sent:
    """Suppress, then keep the strongest, with the bookkeeping that only an experiment needs."""
    told: list[Suppression] = []
    suppress = Suppress(
        GivenBoxes(boxes), margin=grid.margin, reach=grid.reach, decoys=decoys, report=told.append
    )
    filled = suppress.look(features, picture, rng=rng)
    order = np.argsort(-filled.scores, kind="stable")[: grid.max_keypoints]
    kept = KeepStrongest(grid.max_keypoints)(filled, rng=rng)
    return Sent(kept, np.asarray(order >= told[0].kept), told[0])


def decoy_rows(release: KeypointRelease, sent: Sent) -> NDArray[np.bool_]:
    """Which rows of a release are decoys, by their place: no keypoint stands where they do."""
    decoys = {tuple(place) for place in sent.features.keypoints[sent.is_decoy].tolist()}
    return np.array([tuple(place) in decoys for place in release.keypoints.tolist()], dtype=bool)


def read_outcomes(path: str | Path) -> tuple[dict[str, Any], tuple[Outcome, ...]]:
    """What was run, and every outcome of a file."""
    head, *lines = [*read_records(Path(path))] or [{}]
    if head.get("kind") != "suppression":
        raise InvalidInput(f"{path} is not a file of the suppression experiment.")
    outcomes = []
    for number, line in enumerate(lines, start=2):
        try:
            if line.pop("kind") == "outcome":
                outcomes.append(Outcome(**line))
        except (KeyError, TypeError) as error:
            raise InvalidInput(f"{path} is damaged in line {number}: {error}.") from None
    return head, tuple(outcomes)


def _open(path: Path, head: dict[str, Any]) -> set[Any]:
    begin_records(path, head, "outcomes of other pictures or settings")
    _, outcomes = read_outcomes(path)
    return {(o.picture, o.hide, o.has_decoys, o.seed) for o in outcomes}
