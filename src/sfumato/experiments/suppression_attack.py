"""Attacks on suppressed releases: people found again in a reconstruction, decoys told apart."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.infer.decoys import area_under_curve, learn_decoys
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import SeededRandom
from sfumato.core.storage import file_checksum
from sfumato.datasets.pascal import Annotated
from sfumato.detectors.base import Boxes, Detector, overlap
from sfumato.detectors.run import detect
from sfumato.device.filters import Decoys
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.experiments.records import append_record, begin_records, read_records
from sfumato.experiments.suppression import (
    HIDE,
    MIN_OVERLAP,
    NOTHING,
    Grid,
    decoy_rows,
    hide_and_keep,
)
from sfumato.features import extract, load_image


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


def find_again(
    pictures: Sequence[Annotated],
    detector: Detector,
    inverter: Inverter,
    grid: Grid,
    path: Path,
    *,
    progress: Progress = silent,
) -> None:
    """Reconstruct from raw descriptors and look for people there; goes on where it stopped."""
    head = {
        "kind": "again",
        **asdict(grid),
        "detector": detector.name,
        "network": file_checksum(inverter.path),
        "pictures": [item.name for item in pictures],
    }
    done = _open(path, head)
    last: dict[str, NDArray[np.float64]] = {}
    for number, item in enumerate(pictures):
        if all((item.name, hide) in done for hide in HIDE):
            last = {}
            continue
        last = last or _seen_again(pictures[number - 1], detector, inverter, grid)[1]
        known, seen = _seen_again(item, detector, inverter, grid)
        for hide in HIDE:
            outcome = Again(
                picture=item.name,
                hide=hide,
                detected=len(known),
                again=_count(known, seen[hide]),
                by_chance=_count(known, last[hide]),
            )
            if (item.name, hide) not in done:
                append_record(path, {"kind": "outcome", **asdict(outcome)})
        last = seen
        progress("reconstruction", number + 1, len(pictures))


def _seen_again(
    item: Annotated, detector: Detector, inverter: Inverter, grid: Grid
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """True boxes a detector finds in a picture, and all boxes it finds in its reconstructions.

    Both as shares of the picture's sides, so that pictures of different sizes compare.
    """
    picture = load_image(item.picture)
    sides = np.array([picture.shape[1], picture.shape[0]] * 2, dtype=np.float64)
    (found,) = detect([detector], picture, timeout=600)
    made = reconstructions(picture, item.truth, found, inverter, grid)
    seen = {hide: detect([detector], image, timeout=600)[0].corners for hide, image in made.items()}
    known = (overlap(item.truth.corners, found.corners) >= MIN_OVERLAP).any(axis=1)
    return item.truth.corners[known] / sides, {hide: rows / sides for hide, rows in seen.items()}


def reconstructions(
    picture: NDArray[np.uint8], truth: Boxes, found: Boxes, inverter: Inverter, grid: Grid
) -> dict[str, NDArray[np.uint8]]:
    """Pictures guessed from raw descriptors, for each way of hiding."""
    features = extract(picture, inverter.architecture.extractor)
    made = {}
    for hide, boxes in zip(HIDE, (NOTHING, found, truth), strict=True):
        sent = hide_and_keep(features, picture, boxes, grid, None, SeededRandom(0))
        guess = inverter.reconstruct(sent.features, one_look=True).picture
        made[hide] = np.clip(np.rint(guess * 255), 0, 255).astype(np.uint8)
    return made


def _count(known: NDArray[np.float64], seen: NDArray[np.float64]) -> int:
    return int((overlap(known, seen) >= MIN_OVERLAP).any(axis=1).sum())


def read_again(path: Path) -> tuple[Again, ...]:
    head, *lines = [*read_records(path)] or [{}]
    if head.get("kind") != "again":
        raise InvalidInput(f"{path} is not a file of people found again.")
    try:
        return tuple(Again(**{k: v for k, v in line.items() if k != "kind"}) for line in lines)
    except TypeError as error:
        raise InvalidInput(f"{path} is damaged: {error}.") from None


def _open(path: Path, head: dict[str, Any]) -> set[Any]:
    begin_records(path, head, "people found with another network, pictures or settings")
    return {(item.picture, item.hide) for item in read_again(path)}


def tell_decoys_apart(
    pictures: Sequence[Annotated], dictionary: Dictionary, grid: Grid
) -> dict[str, float]:
    """AUC of an attacker who learned on half of the pictures, on the other half, both ways.

    positions  from where keypoints stand; words  with the words that were sent as well
    """
    releases, labels = [], []
    mechanism = SubsetMechanism(grid.epsilon, grid.subset_size, dictionary)
    for number, item in enumerate(pictures):
        rng = SeededRandom(number)
        picture = load_image(item.picture)
        features = extract(picture, dictionary.extractor)
        sent = hide_and_keep(features, picture, item.truth, grid, Decoys(dictionary), rng)
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
