"""Reverse engineering, Table 2: people found again in a reconstruction, decoys told apart."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.infer.decoys import area_under_curve, learn_decoys
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.invert.sheet import to_pixels
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import WordRelease
from sfumato.core.storage import file_checksum
from sfumato.datasets.pascal import Annotated
from sfumato.detectors.base import Boxes, Detector, overlap
from sfumato.detectors.run import detect
from sfumato.device.filters import Decoys
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.features import extract, load_image
from sfumato_papers.harness.outcomes import Journal, stored
from sfumato_papers.harness.work import worked_through
from sfumato_papers.reverse.suppression import (
    HIDE,
    MIN_OVERLAP,
    NOTHING,
    Settings,
    decoy_rows,
    hide_and_keep,
)


@dataclass(frozen=True)
class Again:
    """People a detector finds in a picture, and of those the ones it finds again.

    by_chance  those "found again" by what is found in the reconstruction of another picture,
               stretched to fit
    """

    picture: str
    hide: str
    detected: int
    again: int
    by_chance: int

    @property
    def key(self) -> tuple[str, str]:
        return self.picture, self.hide


JOURNAL = Journal("again", "people found again", Again)

#: True boxes that are found in a picture, and all that are found in its reconstructions.
Seen = tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]


def find_again(
    pictures: Sequence[Annotated],
    detector: Detector,
    inverter: Inverter,
    settings: Settings,
    path: Path,
) -> None:
    """Reconstruct from raw descriptors and look for people there; goes on where it stopped."""
    about = {**settings.about(detector, pictures), "network": file_checksum(inverter.path)}
    others = "people found with another network, pictures or settings"
    kept = JOURNAL.begin(path, about, others)
    wanted = [
        number
        for number, item in enumerate(pictures)
        if not all((item.name, hide) in kept for hide in HIDE)
    ]
    # What is found by chance: boxes of the picture before, and of the last before the first.
    order = [near % len(pictures) for number in wanted for near in (number - 1, number)]
    order = list(dict.fromkeys(order))
    looked: dict[int, Seen] = {}
    given = (detector, inverter, settings)
    todo = [pictures[number] for number in order]
    for number, found in zip(
        order, worked_through(_seen_again, todo, "reconstruction", *given), strict=True
    ):
        looked[number] = found
        while wanted and {wanted[0], (wanted[0] - 1) % len(pictures)} <= looked.keys():
            first = wanted.pop(0)
            last = looked[(first - 1) % len(pictures)][1]
            made = _outcomes(pictures[first].name, *looked[first], last)
            kept.add(*(outcome for outcome in made if outcome.key not in kept))


def _outcomes(
    name: str,
    known: NDArray[np.float64],
    seen: Mapping[str, NDArray[np.float64]],
    last: Mapping[str, NDArray[np.float64]],
) -> list[Again]:
    return [
        Again(
            picture=name,
            hide=hide,
            detected=len(known),
            again=_count(known, seen[hide]),
            by_chance=_count(known, last[hide]),
        )
        for hide in HIDE
    ]


def _seen_again(
    detector: Detector, inverter: Inverter, settings: Settings, item: Annotated
) -> Seen:
    """True boxes a detector finds in a picture, and all boxes it finds in its reconstructions.

    Both as shares of the picture's sides, so that pictures of different sizes compare.
    """
    picture = load_image(item.picture)
    sides = np.array([picture.shape[1], picture.shape[0]] * 2, dtype=np.float64)
    (found,) = detect([detector], picture, timeout=600)
    made = reconstructions(picture, item.truth, found, inverter, settings)
    seen = {hide: detect([detector], image, timeout=600)[0].corners for hide, image in made.items()}
    known = (overlap(item.truth.corners, found.corners) >= MIN_OVERLAP).any(axis=1)
    return item.truth.corners[known] / sides, {hide: rows / sides for hide, rows in seen.items()}


def reconstructions(
    picture: NDArray[np.uint8], truth: Boxes, found: Boxes, inverter: Inverter, settings: Settings
) -> dict[str, NDArray[np.uint8]]:
    """Pictures guessed from raw descriptors, for each way of hiding."""
    features = extract(picture, inverter.architecture.extractor)
    made = {}
    for hide, boxes in zip(HIDE, (NOTHING, found, truth), strict=True):
        sent = hide_and_keep(features, picture, boxes, settings, None, SeededRandom(0))
        guess = inverter.reconstruct(sent.features, one_look=True).picture
        made[hide] = to_pixels(guess)
    return made


def _count(known: NDArray[np.float64], seen: NDArray[np.float64]) -> int:
    return int((overlap(known, seen) >= MIN_OVERLAP).any(axis=1).sum())


def read_again(path: Path) -> tuple[Again, ...]:
    """People found again; none where nothing was reconstructed."""
    return JOURNAL.read(path)[1] if stored(path).exists() else ()


def _with_decoys(
    dictionary: Dictionary, settings: Settings, work: tuple[int, Annotated]
) -> tuple[WordRelease, NDArray[np.bool_]]:
    """A picture's release with its people hidden, and which of its rows are decoys."""
    number, item = work
    rng = SeededRandom(number)
    picture = load_image(item.picture)
    features = extract(picture, dictionary.extractor)
    sent = hide_and_keep(features, picture, item.truth, settings, Decoys(dictionary), rng)
    mechanism = SubsetMechanism(settings.epsilon, settings.subset_size, dictionary)
    release = mechanism.release(sent.features, rng=rng)
    return release, decoy_rows(release, sent)


def tell_decoys_apart(
    pictures: Sequence[Annotated], dictionary: Dictionary, settings: Settings
) -> dict[str, float]:
    """AUC of an attacker who learned on half of the pictures, on the other half, both ways.

    positions  from where keypoints stand; words  with the words that were sent as well
    """
    work = list(enumerate(pictures))
    made = list(worked_through(_with_decoys, work, "decoys", dictionary, settings))
    releases, labels = [one[0] for one in made], [one[1] for one in made]
    side = [hashlib.sha256(item.name.encode()).digest()[0] % 2 for item in pictures]
    result = {"decoys": float(sum(row.sum() for row in labels))}
    for name, use_words in (("positions", False), ("words", True)):
        scores = [np.zeros(0)] * len(pictures)
        for test in (0, 1):
            learn = [i for i, half in enumerate(side) if half != test]
            attack = learn_decoys(
                [releases[i] for i in learn], [labels[i] for i in learn], use_words=use_words
            )
            for i, half in enumerate(side):
                if half == test:
                    scores[i] = attack.scores(releases[i])
        result[name] = area_under_curve(np.concatenate(scores), np.concatenate(labels))
    return result
