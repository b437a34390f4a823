"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: pictures, releases, measures.

Recovered descriptors are kept on disk: another network can be tried on them without attacking
again. Releases are drawn with known seeds: for measuring, not for sending.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.crops import fit_square
from sfumato.adversary.invert.lpips import Measure, find_lpips
from sfumato.adversary.invert.recovered import in_own_numbers, words_as_sent_plainly
from sfumato.adversary.invert.sheet import to_pixels
from sfumato.adversary.metrics import compare, match_boxes
from sfumato.adversary.recover.base import Recovered
from sfumato.adversary.recover.clustering import clustering_attack
from sfumato.adversary.recover.database import database_attack
from sfumato.adversary.recover.nearest import nearest_attack
from sfumato.adversary.recover.posterior import guess_words
from sfumato.adversary.recover.vertex import vertex_attack
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput, UnreadableImage
from sfumato.core.releases import KeypointRelease, PlainRelease, SubspaceRelease, WordRelease
from sfumato.core.types import Features
from sfumato.detectors.base import Boxes, Detector, check_boxes
from sfumato.dictionary import Dictionary
from sfumato.features import extract, list_images
from sfumato.features.image import decode_image
from sfumato.privacy.defence import Defence
from sfumato.privacy.known_truth import NUM_SUB_DATABASES
from sfumato_papers.harness.work import evenly, seed_of, tracked

SIDE = 256
MAX_KEYPOINTS = 1000


@dataclass(frozen=True, eq=False)
class Picture:
    """One photograph as the protocol wants it: its middle square, SIDE pixels wide."""

    name: str
    pixels: NDArray[np.uint8]

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.pixels.tobytes()).hexdigest()[:16]


def load_squares(folder: str | Path, num_pictures: int | None) -> tuple[tuple[Picture, ...], int]:
    """So many pictures of a folder, spread evenly, and how many could not be read."""
    if num_pictures is not None:
        check_count("num-pictures", num_pictures, low=1)
    chosen = evenly(list_images(folder), num_pictures)
    pictures, unreadable = [], 0
    for name in tracked(chosen, "reading pictures"):
        try:
            pixels = fit_square(decode_image(Path(folder) / name), SIDE)
        except UnreadableImage:
            unreadable += 1
            continue
        pictures.append(Picture(str(name), pixels))
    if not pictures:
        raise InvalidInput(
            f"no picture of this folder can be used: {len(chosen)} files, {unreadable} of them "
            "unreadable; give a folder of photographs."
        )
    return tuple(pictures), unreadable


def mean_colour(pictures: Sequence[Picture]) -> NDArray[np.float32]:
    """The colour of all pictures together: what can be painted knowing nothing of any."""
    means = np.array([picture.pixels.reshape(-1, 3).mean(axis=0) for picture in pictures])
    return np.asarray(means.mean(axis=0) / 255, dtype=np.float32)


@dataclass(frozen=True)
class Measures:
    """One reconstruction; lpips and objects (found again, of how many) are None if not measured."""

    mae: float
    ssim: float
    psnr: float
    lpips: float | None
    objects: tuple[int, int] | None


@dataclass
class Judge:
    """Compares reconstructions with their pictures.

    lpips     None where it cannot be had; `without` says why
    detector  what objects are looked for with; None leaves them out
    """

    lpips: Measure | None = None
    detector: Detector | None = None
    without: str = ""
    _seen: dict[str, Boxes] = field(default_factory=dict)

    def judge(self, picture: Picture, made: NDArray[np.float32]) -> Measures:
        alike = compare(picture.pixels, made)
        return Measures(
            mae=alike.mae,
            ssim=alike.ssim,
            psnr=alike.psnr,
            lpips=None if self.lpips is None else self.lpips(picture.pixels, made),
            objects=self._objects(picture, made),
        )

    def _objects(self, picture: Picture, made: NDArray[np.float32]) -> tuple[int, int] | None:
        if self.detector is None:
            return None
        height, width = picture.pixels.shape[:2]
        if picture.name not in self._seen:
            found = self.detector(picture.pixels)
            self._seen[picture.name] = check_boxes(found, (width, height))
        again = check_boxes(self.detector(to_pixels(made)), (width, height))
        return match_boxes(self._seen[picture.name], again)


def make_judge(detector: Detector | None = None) -> Judge:
    """A judge with LPIPS where torch and its weights are."""
    measure, reason = find_lpips()
    return Judge(measure, detector, reason)


Made = TypeVar("Made")

#: Attacks that give descriptors back, weakest first; each is painted by the network for raw ones.
RECOVERIES = ("nearest", "clustering", "database", "vertex")


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The words W that lifts are drawn through, and the descriptors Z a stranger has."""

    words: Dictionary
    public: NDArray[Any]

    @property
    def fingerprint(self) -> str:
        strangers = hashlib.sha256(np.ascontiguousarray(self.public).tobytes()).hexdigest()[:16]
        return f"{self.words.fingerprint[:16]}-{strangers}"

    def facts(self) -> dict[str, Any]:
        return {
            "words": self.words.num_words,
            "provenance": self.words.manifest["provenance"],
            "public": len(self.public),
            "fingerprint": self.fingerprint,
        }


class Releases:
    """Releases of the pictures of one experiment, and descriptors recovered from them."""

    def __init__(
        self, knowledge: Knowledge | None, dictionary: Dictionary | None, kept: Path
    ) -> None:
        self.knowledge, self.dictionary, self._kept = knowledge, dictionary, kept.resolve()
        self._known = knowledge.fingerprint if knowledge else ""
        self._last: dict[tuple[str, object], Any] = {}
        self._levels: dict[int, Dictionary] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": {}, "_levels": {}}  # a worker makes its own

    def level(self, defence: Defence) -> Dictionary | None:
        """The dictionary at the size a defence uses; None for one without words."""
        count = defence.num_words
        if not count:
            return None
        if self.dictionary is None:
            raise InvalidInput("words need a dictionary; give one.")
        if count not in self._levels:
            self._levels[count] = self.dictionary.at(count)
        return self._levels[count]

    def features(self, picture: Picture, extractor: str) -> Features:
        return self._remember(
            picture,
            extractor,
            lambda: extract(picture.pixels, extractor, max_keypoints=MAX_KEYPOINTS),
        )

    def sent(self, picture: Picture, defence: Defence) -> KeypointRelease:
        """What leaves the device: the same at every call."""
        seed = seed_of(picture.name, defence)
        words = self.knowledge.words if self.knowledge else None
        return self._remember(
            picture,
            defence,
            lambda: defence.send(
                self.features(picture, defence.extractor), seed, words, self.level(defence)
            ),
        )

    def recovered(self, picture: Picture, defence: Defence, attack: str) -> PlainRelease:
        """The lift of a picture as an attack reads it, in the form raw descriptors have."""
        release = self.sent(picture, defence)
        content = f"{self._known} {picture.fingerprint} {picture.name} {defence} {attack}"
        file = self._kept / f"{hashlib.sha256(content.encode()).hexdigest()[:32]}.npy"
        try:
            descriptors = np.load(file, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            found = self._attack(release, attack)
            descriptors = in_own_numbers(found.descriptors, release.extractor)
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, descriptors)  # half a file would be made again
        return PlainRelease(
            descriptors=descriptors,
            keypoints=release.keypoints,
            image_size=release.image_size,
            extractor=release.extractor,
            reproducible=True,
        )

    def guessed(self, picture: Picture, defence: Defence) -> PlainRelease:
        """The likeliest word of each keypoint, taken for its descriptor."""
        release, level = self.sent(picture, defence), self.level(defence)
        if not isinstance(release, WordRelease) or level is None:
            raise InvalidInput("only words can be guessed from words.")
        guess = guess_words(release, seed=seed_of(picture.name, "guess"))
        return words_as_sent_plainly(release, guess.words, level)

    def _attack(self, release: KeypointRelease, attack: str) -> Recovered:
        if self.knowledge is None or not isinstance(release, SubspaceRelease):
            raise InvalidInput("recovering descriptors needs a lift and the words of its database.")
        words, public = self.knowledge.words, self.knowledge.public
        if attack == "nearest":
            return nearest_attack(release, database=public)
        if attack == "clustering":
            return clustering_attack(release, database=public)
        if attack == "database":
            return database_attack(release, database=words, num_sub_databases=NUM_SUB_DATABASES)
        return vertex_attack(release)

    def _remember(self, picture: Picture, what: object, make: Callable[[], Made]) -> Made:
        """Kept while one picture is at work, forgotten with the next."""
        if any(name != picture.name for name, _ in self._last):
            self._last.clear()
        key = (picture.name, what)
        if key not in self._last:
            self._last[key] = make()
        kept: Made = self._last[key]
        return kept


def timed(make: Callable[[], Made]) -> tuple[Made, float]:
    """A result and the processor time it took, of all threads together."""
    start = time.process_time()
    made = make()
    return made, time.process_time() - start
