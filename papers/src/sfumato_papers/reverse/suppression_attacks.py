"""Reverse engineering, Table 2: people found again in a reconstruction, decoys told apart."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.infer.decoys import area_under_curve, learn_decoys
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.invert.sheet import to_pixels
from sfumato.core.randomness import SeededRandom
from sfumato.core.storage import file_checksum
from sfumato.datasets.pascal import Annotated
from sfumato.detectors.base import Boxes, Detector, overlap
from sfumato.detectors.run import detect
from sfumato.device.filters import Decoys
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.features import extract, load_image
from sfumato_papers.harness.outcomes import Journal, stored
from sfumato_papers.harness.work import show_progress
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
    last: dict[str, NDArray[np.float64]] = {}
    for number, item in enumerate(pictures):
        if all((item.name, hide) in kept for hide in HIDE):
            last = {}
            continue
        last = last or _seen_again(pictures[number - 1], detector, inverter, settings)[1]
        known, seen = _seen_again(item, detector, inverter, settings)
        for hide in HIDE:
            outcome = Again(
                picture=item.name,
                hide=hide,
                detected=len(known),
                again=_count(known, seen[hide]),
                by_chance=_count(known, last[hide]),
            )
            if outcome.key not in kept:
                kept.add(outcome)
        last = seen
        show_progress("reconstruction", number + 1, len(pictures))


def _seen_again(
    item: Annotated, detector: Detector, inverter: Inverter, settings: Settings
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
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


def tell_decoys_apart(
    pictures: Sequence[Annotated], dictionary: Dictionary, settings: Settings
) -> dict[str, float]:
    """AUC of an attacker who learned on half of the pictures, on the other half, both ways.

    positions  from where keypoints stand; words  with the words that were sent as well
    """
    releases, labels = [], []
    mechanism = SubsetMechanism(settings.epsilon, settings.subset_size, dictionary)
    for number, item in enumerate(pictures):
        rng = SeededRandom(number)
        picture = load_image(item.picture)
        features = extract(picture, dictionary.extractor)
        sent = hide_and_keep(features, picture, item.truth, settings, Decoys(dictionary), rng)
        release = mechanism.release(sent.features, rng=rng)
        releases.append(release)
        labels.append(decoy_rows(release, sent))
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
