"""Reverse engineering, Table 2: selective suppression, what it hides, costs and shows anyway.

Pictures with known people. Each is released with nothing hidden, with what a detector finds
hidden, and with the true boxes hidden; without decoys and with them. Every release is read back
from its bytes and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.infer.holes import HolesAttack
from sfumato.core.errors import InvalidInput
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
from sfumato.features import extract, load_image
from sfumato_papers.harness.options import Checked, folder, option
from sfumato_papers.harness.outcomes import Journal
from sfumato_papers.harness.work import worked_through
from sfumato_papers.reverse.suppression_cost import changed_copy, count_inliers, moved_boxes

HIDE = ("nothing", "detected", "given")
MIN_OVERLAP = 0.5


@dataclass(frozen=True)
class Settings(Checked):
    """Suppress keypoints around people: what is hidden, what it costs, what shows anyway.

    Outcomes are written as they are made; the same command goes on where it was stopped. HTML
    and PNG show one of the pictures: keep them as private as the pictures are.

    Example: sfumato experiment suppression --data penn_fudan -o suppression
    """

    data: Path | None = folder(
        "Pictures with PASCAL-style boxes: folders images and annotations.", "one of outcomes"
    )
    detector: str = option("person", "person (built in), or a YOLO file as ONNX.")
    margin: float = option(0.1, "Share of a box's shorter side.")
    reach: float = option(0.0, "Diameters from which keypoints see inside.")
    epsilon: float = option(10.0, "ε per descriptor.", epsilon=True)
    subset_size: int = 2
    dictionary: str = option("bsds-16k", "A dictionary's folder or name.")
    max_keypoints: int = option(1000, "The strongest of what was not hidden.", low=1)
    num_seeds: int = option(3, "Releases of each picture and setting.", "--seeds", low=1)
    networks: Path | None = option(
        None, "Folder of inversion networks; the shipped ones otherwise."
    )
    shown: int = option(0, "Number of the picture drawn, from 0.")

    def about(self, detector: Detector, pictures: Sequence[Annotated]) -> dict[str, Any]:
        """What outcomes depend on; those of other settings are not mixed in."""
        names = ("margin", "reach", "epsilon", "subset_size", "max_keypoints", "num_seeds")
        return {
            **{name: getattr(self, name) for name in names},
            "detector": detector.name,
            "pictures": [item.name for item in pictures],
        }


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

    @property
    def key(self) -> tuple[str, str, bool, int]:
        return self.picture, self.hide, self.has_decoys, self.seed


JOURNAL = Journal("suppression", "the suppression experiment", Outcome)


def ways(settings: Settings) -> Iterator[tuple[str, bool, int]]:
    for seed in range(settings.num_seeds):
        for hide in HIDE:
            for has_decoys in (False, True) if hide != "nothing" else (False,):
                yield hide, has_decoys, seed


def run_suppression(
    pictures: Sequence[Annotated],
    detector: Detector,
    dictionary: Dictionary,
    settings: Settings,
    path: Path,
) -> None:
    """Release every picture in every way; outcomes are appended to `path` as they are made.

    The same call goes on where it was stopped. Releases are seeded: not for sending.
    """
    words = {"dictionary": dictionary.fingerprint, "num_words": dictionary.num_words}
    about = {**settings.about(detector, pictures), **words}
    kept = JOURNAL.begin(path, about, "outcomes of other pictures or settings")
    wanted = [
        (number, item, [key for key in ways(settings) if (item.name, *key) not in kept])
        for number, item in enumerate(pictures)
    ]
    todo = [work for work in wanted if work[2]]
    given = (detector, dictionary, settings)
    for found in worked_through(_outcomes, todo, "suppression", *given):
        kept.add(*found)


def _outcomes(
    detector: Detector,
    dictionary: Dictionary,
    settings: Settings,
    work: tuple[int, Annotated, list[tuple[str, bool, int]]],
) -> list[Outcome]:
    """One picture in each of these ways."""
    number, item, keys = work
    picture = _Picture(item, number, detector, dictionary, settings)
    return [picture.outcome(*key) for key in keys]


class _Picture:
    """One picture and its copy; what a detector sees in them is found once."""

    def __init__(
        self,
        item: Annotated,
        number: int,
        detector: Detector,
        dictionary: Dictionary,
        settings: Settings,
    ) -> None:
        self.item, self.number, self.settings, self.dictionary = item, number, settings, dictionary
        self.picture = load_image(item.picture)
        self.copy, self.homography = changed_copy(self.picture, seed=number)
        self.features = extract(self.picture, dictionary.extractor)
        self.copy_features = extract(self.copy, dictionary.extractor)
        (self.detected,) = detect([detector], self.picture, timeout=600)
        (self.copy_detected,) = detect([detector], self.copy, timeout=600)
        self.mechanism = SubsetMechanism(settings.epsilon, settings.subset_size, dictionary)

    def outcome(self, hide: str, has_decoys: bool, seed: int) -> Outcome:
        truth = self.item.truth
        boxes = {"nothing": NOTHING, "detected": self.detected, "given": truth}[hide]
        rng = SeededRandom(1000 * self.number + 10 * seed + HIDE.index(hide))
        decoys = Decoys(self.dictionary) if has_decoys else None
        sent = hide_and_keep(self.features, self.picture, boxes, self.settings, decoys, rng)
        made = self.mechanism.release(sent.features, rng=rng)
        release = Release.from_bytes(made.to_bytes())
        if not isinstance(release, WordRelease):
            raise InvalidInput("the mechanism of this experiment sends words.")
        real = ~decoy_rows(release, sent)
        inside = touches(boxes, release.keypoints, margin=self.settings.margin)
        on_people = touches(truth, release.keypoints)
        plain = KeepStrongest(self.settings.max_keypoints)(self.features, rng=rng)
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
            num_removed=sent.report.removed,
            num_regions=len(boxes),
            num_inside=int((inside & real).sum()),
            people=len(truth),
            people_detected=int(found.any(axis=1).sum()),
            on_people=int((on_people & real).sum()),
            on_people_before=int(touches(truth, places).sum()),
            guesses=len(guesses),
            right_guesses=int(hits.any(axis=0).sum()),
            people_guessed=int(hits.any(axis=1).sum()),
            inliers=self._inliers(sent.features, hide, decoys, rng) if seed == 0 else None,
        )

    def _inliers(self, first: Features, hide: str, decoys: Decoys | None, rng: SeededRandom) -> int:
        there = moved_boxes(self.item.truth, self.homography, self.copy.shape)
        boxes = {"nothing": NOTHING, "detected": self.copy_detected, "given": there}[hide]
        second = hide_and_keep(self.copy_features, self.copy, boxes, self.settings, decoys, rng)
        return count_inliers(first, second.features, self.homography)


NOTHING = Boxes(np.zeros((0, 4)), (), np.zeros(0))


@dataclass(frozen=True)
class Sent:
    """What goes to the mechanism, which rows of it are decoys, and what was hidden."""

    features: Features
    is_decoy: NDArray[np.bool_]
    report: Suppression


def hide_and_keep(
    features: Features,
    picture: NDArray[np.uint8],
    boxes: Boxes,
    settings: Settings,
    decoys: Decoys | None,
    rng: SeededRandom,
) -> Sent:
    """Suppress, then keep the strongest, with the bookkeeping that only an experiment needs."""
    reports: list[Suppression] = []
    suppress = Suppress(
        GivenBoxes(boxes),
        margin=settings.margin,
        reach=settings.reach,
        decoys=decoys,
        report=reports.append,
    )
    filled = suppress.look(features, picture, rng=rng)
    order = np.argsort(-filled.scores, kind="stable")[: settings.max_keypoints]
    kept = KeepStrongest(settings.max_keypoints)(filled, rng=rng)
    return Sent(kept, np.asarray(order >= reports[0].kept), reports[0])


def decoy_rows(release: KeypointRelease, sent: Sent) -> NDArray[np.bool_]:
    """Which rows of a release are decoys, by their place: no keypoint stands where they do."""
    decoys = {tuple(place) for place in sent.features.keypoints[sent.is_decoy].tolist()}
    return np.array([tuple(place) in decoys for place in release.keypoints.tolist()], dtype=bool)
