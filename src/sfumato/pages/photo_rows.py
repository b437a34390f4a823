"""The attacks on one photograph: a row for each release and each way to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.encoders import as_released
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.invert.recovered import as_sent_plainly, words_as_sent_plainly
from sfumato.adversary.metrics import compare
from sfumato.adversary.recover.base import Recovered
from sfumato.adversary.recover.clustering import clustering_attack
from sfumato.adversary.recover.database import database_attack
from sfumato.adversary.recover.nearest import nearest_attack
from sfumato.adversary.recover.posterior import guess_words
from sfumato.adversary.recover.vertex import vertex_attack
from sfumato.core.errors import Mismatch
from sfumato.core.progress import Progress
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import KeypointRelease, SubspaceRelease
from sfumato.core.types import Features
from sfumato.device.mechanisms import Plain, SubspaceLifting
from sfumato.dictionary import Dictionary
from sfumato.pages.photo_people import Lookout
from sfumato.pages.photo_result import (
    DIRECT,
    FLAT,
    LIFTED,
    RAW,
    RECOVERIES,
    WORDS,
    Baseline,
    PhotoRow,
    PhotoSettings,
    Sent,
    Words,
)
from sfumato.privacy.known_truth import NUM_SUB_DATABASES, lift_picture

#: Nearer than this to the true unit vector, a recovered descriptor is the descriptor.
EXACT = 1e-3
#: Frames are found by painting where a word is more likely right than wrong.
MOST_RIGHT = 0.5
_STAGE = "attacking the photograph"


class Attacker:
    """Reads what is sent of one photograph, and paints it at the size of `photo`."""

    def __init__(
        self,
        photo: NDArray[np.uint8],
        features: Features,
        settings: PhotoSettings,
        painters: Mapping[str, Inverter],
        lookout: Lookout,
        progress: Progress,
    ) -> None:
        self._photo, self._features, self._settings = photo, features, settings
        self._painters, self._lookout, self._progress = painters, lookout, progress
        self._rows: list[PhotoRow] = []
        self._total = 1
        self.left_out: list[str] = []

    def run(self, words: Words | None, sent: Sequence[Sent]) -> tuple[PhotoRow, ...]:
        """All rows, the unprotected one first."""
        settings = self._settings
        lifting = None if words is None or not len(self._features) else words.lifting
        lifts = len(settings.dimensions) if lifting is not None else 0
        self._total += lifts * len(settings.attacks) + len(sent)
        self._progress(_STAGE, 0, self._total)
        self._raw()
        for one in sent:
            self._worded(one)
        if words is not None and lifting is not None:
            for dimension in settings.dimensions:
                self._lifted(dimension, words, lifting)
        return tuple(self._rows)

    def baselines(self) -> tuple[Baseline, ...]:
        """What can be painted without any descriptor."""
        mean = self._photo.reshape(-1, 3).mean(axis=0) / 255
        flat = np.broadcast_to(mean.astype(np.float32), self._photo.shape)
        pictures = {FLAT: flat}
        if "positions" in self._painters:
            pictures["positions only"] = self._paint("positions", as_released(self._features))
        return tuple(
            Baseline(name, picture, compare(self._photo, picture))
            for name, picture in pictures.items()
        )

    def _paint(
        self,
        kind: str,
        release: KeypointRelease,
        dictionary: Dictionary | None = None,
        *,
        refine: bool = False,
    ) -> NDArray[np.float32]:
        """The painting of a release, whose positions are scaled with the picture.

        refine  find frames by painting, where the attacker can be sure of most descriptors
        """
        scaled, painter = self._scaled(release), self._painters[kind]
        return painter.reconstruct(scaled, dictionary=dictionary, refine=refine).picture

    def _scaled(self, release: KeypointRelease) -> KeypointRelease:
        size = self._photo.shape[1], self._photo.shape[0]
        if size == release.image_size:
            return release
        scale = np.array(size) / release.image_size
        keypoints = ((release.keypoints + 0.5) * scale - 0.5).astype(np.float32)
        return replace(release, keypoints=keypoints, image_size=size)

    def _raw(self) -> None:
        mechanism, source = Plain(), SeededRandom(self._settings.seed)
        release = mechanism.release(self._features, rng=source)
        painted = self._painters["raw"].reconstruct(self._scaled(release))
        self._add(
            painted.picture,
            mechanism=RAW,
            event=mechanism.event(self._features),
            num_bytes=len(release.to_bytes()),
            knowledge=RECOVERIES["vertex"],
            remark=painted.remark,
        )

    def _lifted(self, dimension: int, words: Words, lifting: Dictionary) -> None:
        settings = self._settings
        mechanism = SubspaceLifting(settings.strategy, dimension, lifting)
        # A descriptor of nothing but zeros has no direction to lift.
        rows = np.flatnonzero(self._features.descriptors.any(axis=1))
        solid = self._features.take(rows[: settings.max_lifted])
        lift = lift_picture(solid, mechanism, len(solid), settings.seed)
        sent: dict[str, Any] = {
            "mechanism": LIFTED,
            "event": mechanism.event(solid),
            "num_bytes": len(lift.release.to_bytes()),
            "dimension": dimension,
        }
        if "subspace" in self._painters:
            try:
                picture = self._paint("subspace", lift.release)
            except Mismatch:
                self.left_out.append(
                    f"the network for subspaces at m = {dimension}: it is for another dimension"
                )
            else:
                knowledge = "a network trained on subspaces"
                self._add(picture, attack=DIRECT, knowledge=knowledge, **sent)
        for attack in settings.attacks:
            recovered = self._recover(attack, lift.release, words, lifting)
            distance = np.linalg.norm(recovered.descriptors - lift.truth, axis=1)
            plain = as_sent_plainly(lift.release, recovered)
            picture = self._paint("raw", plain, refine=attack == "vertex")
            right = float((distance < EXACT).mean())
            self._add(picture, attack=attack, knowledge=RECOVERIES[attack], right=right, **sent)

    def _recover(
        self, attack: str, release: SubspaceRelease, words: Words, lifting: Dictionary
    ) -> Recovered:
        progress = self._progress
        if attack == "nearest":
            return nearest_attack(release, database=words.public, progress=progress)
        if attack == "clustering":
            return clustering_attack(release, database=words.public, progress=progress)
        if attack == "vertex":
            return vertex_attack(release, progress=progress)
        return database_attack(
            release,
            database=lifting,
            num_sub_databases=NUM_SUB_DATABASES,
            progress=progress,
        )

    def _worded(self, sent: Sent) -> None:
        """The network that was trained on words first, where one is given."""
        mechanism, release = sent.mechanism, sent.release
        facts: dict[str, Any] = {
            "mechanism": WORDS,
            "event": sent.event,
            "num_bytes": len(release.to_bytes()),
            "keep_probability": mechanism.keep_probability,
        }
        if "words" in self._painters:
            try:
                picture = self._paint("words", release, mechanism.dictionary)
            except Mismatch:
                self.left_out.append(
                    "the network for words: it is for another number than "
                    f"{mechanism.subset_size} per descriptor"
                )
            else:
                knowledge = "the dictionary, and a network trained on words"
                self._add(picture, attack=DIRECT, knowledge=knowledge, **facts)
        guess = guess_words(release, seed=self._settings.seed)
        plain = words_as_sent_plainly(release, guess.words, mechanism.dictionary)
        picture = self._paint("raw", plain, refine=float(guess.probability.mean()) > MOST_RIGHT)
        right = float((guess.words == sent.truth).mean())
        self._add(picture, attack="posterior", knowledge="the dictionary", right=right, **facts)

    def _add(self, picture: NDArray[np.float32], **facts: Any) -> None:
        similarity = compare(self._photo, picture)
        again = self._lookout.again(picture)
        self._rows.append(PhotoRow(picture=picture, similarity=similarity, again=again, **facts))
        done = sum(row.attack != DIRECT for row in self._rows)
        self._progress(_STAGE, done, self._total)
