"""The attacks on one photograph: a row for each release and each way to read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from sfumato.core.releases import SubspaceRelease
from sfumato.core.types import Features
from sfumato.device.mechanisms import Plain, SubsetMechanism, SubspaceLifting
from sfumato.pages.photo_result import (
    DIRECT,
    LIFTED,
    RAW,
    RECOVERIES,
    WORDS,
    Baseline,
    PhotoRow,
    PhotoSettings,
    Words,
)
from sfumato.privacy.known_truth import NUM_SUB_DATABASES, draw_words, lift_picture

#: Nearer than this to the true unit vector, a recovered descriptor is the descriptor.
EXACT = 1e-3
_STAGE = "attacking the photograph"


class Attacker:
    """Sends the features of one photograph, reads what was sent, and paints it."""

    def __init__(
        self,
        photo: NDArray[np.uint8],
        features: Features,
        settings: PhotoSettings,
        painters: Mapping[str, Inverter],
        progress: Progress,
    ) -> None:
        self._photo, self._features, self._settings = photo, features, settings
        self._painters, self._progress = painters, progress
        self._rows: list[PhotoRow] = []
        self._total = 1
        self.left_out: list[str] = []

    def run(self, words: Words | None) -> tuple[PhotoRow, ...]:
        """All rows, the unprotected one first."""
        settings = self._settings
        usable = words if len(self._features) else None
        if usable is not None:
            lifts = len(settings.dimensions) if usable.lifting is not None else 0
            self._total += lifts * len(settings.attacks) + len(settings.epsilons)
        self._progress(_STAGE, 0, self._total)
        self._raw()
        if not len(self._features):
            self.left_out.append("lifting and words: the photograph has no keypoints to send")
        if usable is None:
            return tuple(self._rows)
        if usable.lifting is not None:
            for dimension in settings.dimensions:
                self._lifted(dimension, usable)
        for epsilon in settings.epsilons:
            self._worded(epsilon, usable)
        return tuple(self._rows)

    def baselines(self) -> tuple[Baseline, ...]:
        """What can be painted without any descriptor."""
        mean = self._photo.reshape(-1, 3).mean(axis=0) / 255
        flat = np.broadcast_to(mean.astype(np.float32), self._photo.shape)
        pictures = {"mean colour": flat}
        if "positions" in self._painters:
            painted = self._painters["positions"].reconstruct(self._features)
            pictures["positions only"] = painted.picture
        return tuple(
            Baseline(name, picture, compare(self._photo, picture))
            for name, picture in pictures.items()
        )

    def _raw(self) -> None:
        mechanism, source = Plain(), SeededRandom(self._settings.seed)
        release = mechanism.release(self._features, rng=source)
        painted = self._painters["raw"].reconstruct(release)
        self._add(
            painted.picture,
            mechanism=RAW,
            event=mechanism.event(self._features),
            num_bytes=len(release.to_bytes()),
            knowledge=RECOVERIES["vertex"],
            remark=painted.remark,
        )

    def _lifted(self, dimension: int, words: Words) -> None:
        settings = self._settings
        mechanism = SubspaceLifting(settings.strategy, dimension, words.lifting)
        # A descriptor of nothing but zeros has no direction to lift.
        solid = self._features.take(np.flatnonzero(self._features.descriptors.any(axis=1)))
        lift = lift_picture(solid, mechanism, len(solid), settings.seed)
        sent: dict[str, Any] = {
            "mechanism": LIFTED,
            "event": mechanism.event(solid),
            "num_bytes": len(lift.release.to_bytes()),
            "dimension": dimension,
        }
        for attack in settings.attacks:
            recovered = self._recover(attack, lift.release, words)
            distance = np.linalg.norm(recovered.descriptors - lift.truth, axis=1)
            plain = as_sent_plainly(lift.release, recovered)
            picture = self._painters["raw"].reconstruct(plain).picture
            right = float((distance < EXACT).mean())
            self._add(picture, attack=attack, knowledge=RECOVERIES[attack], right=right, **sent)
        if "subspace" in self._painters:
            try:
                picture = self._painters["subspace"].reconstruct(lift.release).picture
            except Mismatch:
                self.left_out.append(
                    f"the network for subspaces at m = {dimension}: it is for another dimension"
                )
            else:
                knowledge = "a network trained on subspaces"
                self._add(picture, attack=DIRECT, knowledge=knowledge, **sent)

    def _recover(self, attack: str, release: SubspaceRelease, words: Words) -> Recovered:
        progress = self._progress
        if attack == "nearest":
            return nearest_attack(release, database=words.public, progress=progress)
        if attack == "clustering":
            return clustering_attack(release, database=words.public, progress=progress)
        if attack == "vertex":
            return vertex_attack(release, progress=progress)
        assert words.lifting is not None
        return database_attack(
            release,
            database=words.lifting,
            num_sub_databases=NUM_SUB_DATABASES,
            progress=progress,
        )

    def _worded(self, epsilon: float, words: Words) -> None:
        settings = self._settings
        level = words.dictionary.at_epsilon(epsilon, settings.subset_size)
        mechanism = SubsetMechanism(epsilon, settings.subset_size, level)
        release, truth, _ = draw_words(self._features, mechanism, settings.seed)
        sent: dict[str, Any] = {
            "mechanism": WORDS,
            "event": mechanism.event(self._features),
            "num_bytes": len(release.to_bytes()),
            "keep_probability": mechanism.keep_probability,
        }
        guess = guess_words(release, seed=settings.seed)
        plain = words_as_sent_plainly(release, guess.words, level)
        picture = self._painters["raw"].reconstruct(plain).picture
        right = float((guess.words == truth).mean())
        self._add(picture, attack="posterior", knowledge="the dictionary", right=right, **sent)
        if "words" in self._painters:
            painter = self._painters["words"]
            try:
                picture = painter.reconstruct(release, dictionary=level).picture
            except Mismatch:
                self.left_out.append(
                    f"the network for words: it is for another number than {settings.subset_size} "
                    "per descriptor"
                )
            else:
                knowledge = "the dictionary, and a network trained on words"
                self._add(picture, attack=DIRECT, knowledge=knowledge, **sent)

    def _add(self, picture: NDArray[np.float32], **facts: Any) -> None:
        similarity = compare(self._photo, picture)
        self._rows.append(PhotoRow(picture=picture, similarity=similarity, **facts))
        done = sum(row.attack != DIRECT for row in self._rows)
        self._progress(_STAGE, done, self._total)
