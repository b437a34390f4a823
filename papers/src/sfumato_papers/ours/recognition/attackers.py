"""Ours: what is recognised in paintings; what is sent of a picture, and who paints it.

Rows are those of the inversion experiment, and the photograph itself above them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.sheet import to_pixels
from sfumato.core.errors import Missing
from sfumato.core.releases import KeypointRelease
from sfumato.dictionary import Dictionary
from sfumato.privacy.defence import Defence
from sfumato_papers.ldp_feat.attacker_knowledge import load_words
from sfumato_papers.ldp_feat.inversion.networks import Facts, Networks, mostly_right, network_of
from sfumato_papers.ldp_feat.inversion.outcomes import Setting
from sfumato_papers.ldp_feat.inversion.painting import Settings as Painting
from sfumato_papers.ldp_feat.inversion.releases import Knowledge, Picture, Releases

PHOTOGRAPH = Setting("photograph")
#: Words are painted by a network that reads words, or guessed and painted as raw descriptors.
WORD_ATTACKS = ("direct", "posterior")


@dataclass(frozen=True, eq=False)
class Painted:
    """One picture from one row; keypoints that were sent, and who painted it."""

    pixels: NDArray[np.uint8]
    num_keypoints: int
    network: str


def rows_of(
    dimensions: Sequence[int],
    epsilons: Sequence[float],
    word_attacks: Sequence[str],
    dictionary: Dictionary,
) -> tuple[Setting, ...]:
    """Every row, the ones that show most first; words in the number that suits each ε."""
    lifts = [Defence(strategy="sub-hybrid", dimension=dimension) for dimension in dimensions]
    levels = [dictionary.at_epsilon(epsilon, 1).num_words for epsilon in epsilons]
    words = [
        Defence(num_words=level, subset_size=1, epsilon=epsilon)
        for level, epsilon in zip(levels, epsilons, strict=True)
    ]
    return (
        PHOTOGRAPH,
        Setting("raw"),
        *(Setting("vertex", lift) for lift in lifts),
        *(Setting(attack, defence) for defence in words for attack in word_attacks),
        Setting("positions"),
    )


class Attackers:
    """Sends pictures by every mechanism and paints them again; workers have one each."""

    def __init__(
        self,
        dictionary: Dictionary,
        database: Sequence[str],
        networks: Path | None,
        folder: Path,
        threads: int | None,
    ) -> None:
        self.knowledge = _knowledge(database, dictionary)
        self._releases = Releases(self.knowledge, dictionary, folder / "recovered")
        painting = Painting(networks=networks, threads=threads)
        self._networks = Networks(networks or folder / "networks", painting, dictionary=dictionary)

    def why_not(self, row: Setting) -> str:
        """Why a row cannot be made; empty where it can."""
        wanted = None if row == PHOTOGRAPH else network_of(row)
        if wanted is None or self._networks.has(wanted):
            return ""
        try:
            self._networks.find(wanted)
        except Missing as error:
            return str(error).partition(";")[0]
        return ""

    def painter_of(self, row: Setting) -> str:
        """Who paints a row, as outcomes name it; empty for the photograph itself."""
        wanted = None if row == PHOTOGRAPH else network_of(row)
        if wanted is None:
            return ""
        file = self._networks.find(wanted).path.stem  # one file may paint several rows
        return _said(file, self._networks.facts(wanted))

    def paint(self, picture: Picture, row: Setting) -> Painted:
        """What an attacker sees of a picture."""
        sent = self._releases.sent(picture, row.defence)
        wanted = None if row == PHOTOGRAPH else network_of(row)
        if wanted is None:
            return Painted(picture.pixels, len(sent), "")
        level = self._releases.level(row.defence) if wanted.kind == "words" else None
        made = self._networks.find(wanted).reconstruct(
            self._read(picture, row, sent), dictionary=level, refine=mostly_right(row, sent)
        )
        return Painted(to_pixels(made.picture), len(sent), self.painter_of(row))

    def _read(self, picture: Picture, row: Setting, sent: KeypointRelease) -> KeypointRelease:
        if row.attack == "vertex":
            return self._releases.recovered(picture, row.defence, row.attack)
        if row.attack == "posterior":
            return self._releases.guessed(picture, row.defence)
        return sent


def _knowledge(database: Sequence[str], dictionary: Dictionary) -> Knowledge:
    """The words W of lifts; a stranger's descriptors are used by no attack here."""
    words = load_words(database, (), 256_000)[0] if database else dictionary
    return Knowledge(words, np.zeros((0, words.words.shape[1]), dtype=np.uint8))


def _said(file: str, facts: Facts) -> str:
    steps = "steps unknown" if facts.steps is None else f"{facts.steps:,} steps"
    origin = "shipped, " if facts.shipped else ""
    return f"{file} ({origin}{steps}, {facts.fingerprint[:8]})"
