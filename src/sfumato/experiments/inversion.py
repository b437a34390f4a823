"""From descriptors back to the picture: attack × defence on a folder of photographs.

[ldp-feat, Tables 1 and 4; affine, Fig. 3; reverse, Table 1 and supplement Table 3]: at most
1,000 keypoints of the middle square, 256×256. What every reconstruction scored goes to disk as
it is made. Releases are drawn with known seeds: for measuring, not for sending.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sfumato.adversary.invert.sheet import to_pixels
from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import KeypointRelease
from sfumato.experiments.inversion_data import (
    RECOVERIES,
    Releases,
    timed,
)
from sfumato.experiments.inversion_measures import Judge
from sfumato.experiments.inversion_networks import Networks, Wanted
from sfumato.experiments.inversion_outcomes import Outcome, OutcomeFile, Setting
from sfumato.experiments.inversion_pictures import Picture, mean_colour
from sfumato.features.extractors import find_extractor
from sfumato.privacy.defence import Defence

PARTS = ("raw", "lifting", "affine", "words", "descriptors")
LIFT_ATTACKS = (*RECOVERIES, "direct")
WORD_ATTACKS = ("posterior", "direct")
BASELINES = ("mean colour", "positions")
PICTURES = "pictures"


@dataclass(frozen=True)
class Grid:
    """Which rows to make.

    parts        raw: SIFT and the baselines; lifting: ldp-feat Table 1; affine: its Fig. 3;
                 words: ldp-feat Table 4; descriptors: reverse Table 1 and supplement Table 3
    attacks      on lifts, and on words
    dimensions   m of lifts; the affine part has its own
    """

    parts: tuple[str, ...] = ("raw", "lifting", "words")
    attacks: tuple[str, ...] = LIFT_ATTACKS
    strategy: str = "sub-hybrid"
    dimensions: tuple[int, ...] = (2, 4, 8, 16)
    word_attacks: tuple[str, ...] = WORD_ATTACKS
    num_words: tuple[int, ...] = (16_384,)
    subset_sizes: tuple[int, ...] = (1, 2, 4)
    epsilons: tuple[float, ...] = (16, 14, 12, 10, 8)
    extractors: tuple[str, ...] = ("sift", "freak", "vgg", "beblid")

    def __post_init__(self) -> None:
        for name, given, known in (
            ("parts", self.parts, PARTS),
            ("attack", self.attacks, LIFT_ATTACKS),
            ("word-attack", self.word_attacks, WORD_ATTACKS),
        ):
            for value in given:
                if value not in known:
                    raise InvalidInput(f"{name} must be of {', '.join(known)}, got {value!r}.")
        for dimension in self.dimensions:
            check_count("dimension", dimension, low=2)
        for epsilon in self.epsilons:
            check_epsilon(epsilon, allow_infinite=True)
        for extractor in self.extractors:
            find_extractor(extractor)

    def settings(self) -> tuple[Setting, ...]:
        """Every row once, the cheap ones first."""
        rows = [Setting("raw"), *(Setting(name) for name in BASELINES)]
        if "lifting" in self.parts:
            for dimension in self.dimensions:
                lift = Defence(strategy=self.strategy, dimension=dimension)
                rows += [Setting(attack, lift) for attack in self.attacks]
        if "affine" in self.parts:
            for strategy in ("random", "sub-hybrid"):
                rows.append(Setting("nearest", Defence(strategy=strategy, dimension=2)))
            if "direct" in self.attacks:
                for dimension in (2, 4, 6):
                    lift = Defence(strategy="sub-hybrid", dimension=dimension)
                    rows.append(Setting("direct", lift))
        if "words" in self.parts:
            rows += [
                Setting(attack, Defence(num_words=count, subset_size=size, epsilon=epsilon))
                for attack in self.word_attacks
                for count in self.num_words
                for size in self.subset_sizes
                for epsilon in self.epsilons
            ]
        if "descriptors" in self.parts:
            rows += [Setting("raw", Defence(extractor=name)) for name in self.extractors]
        return tuple(dict.fromkeys(rows))


def run_inversion(
    pictures: Sequence[Picture],
    releases: Releases,
    networks: Networks,
    grid: Grid,
    judge: Judge,
    file: OutcomeFile,
    *,
    num_shown: int = 6,
    progress: Progress = silent,
) -> None:
    """Make every row the grid asks for that the file does not hold yet.

    Rows whose network is there come first; then the others are trained one by one, if there is
    a budget, or are put down as absent with the reason.
    """
    step = max(len(pictures) / num_shown, 1) if num_shown else 1
    shown = {pictures[int(i * step)].name for i in range(min(num_shown, len(pictures)))}
    run = _Run(releases, networks, judge, file, mean_colour(pictures), shown)
    file.tell("lpips", judge.without)
    rows = grid.settings()
    needed = {row: wanted for row in rows if (wanted := network_of(row)) is not None}
    ready = [row for row in rows if row not in needed or networks.has(needed[row])]
    _fill(run, pictures, ready, progress)
    for row, wanted in needed.items():
        if row in ready:
            continue
        try:
            networks.find(wanted)
        except Missing as error:
            file.absent(row, str(error))
        else:
            _fill(run, pictures, [row], progress)


def _fill(
    run: _Run, pictures: Sequence[Picture], rows: Sequence[Setting], progress: Progress
) -> None:
    for done, picture in enumerate(pictures):
        progress("painting pictures", done, len(pictures))
        for row in rows:
            if not run.file.has(row, picture.name):
                run.make(picture, row)
    progress("painting pictures", len(pictures), len(pictures))


def network_of(row: Setting) -> Wanted | None:
    """Who paints a row; None for a flat colour."""
    if row.attack == "mean colour":
        return None
    if row.attack == "positions":
        return Wanted("positions", Defence(extractor=row.defence.extractor))
    if row.attack == "direct":
        return Wanted("subspace" if row.defence.strategy else "words", row.defence)
    return Wanted("raw", Defence(extractor=row.defence.extractor))


@dataclass(frozen=True)
class _Run:
    releases: Releases
    networks: Networks
    judge: Judge
    file: OutcomeFile
    colour: NDArray[np.float32]
    shown: set[str]

    def make(self, picture: Picture, row: Setting) -> None:
        """Send, recover, paint, judge and write down one row of one picture."""
        sent = self.releases.sent(picture, row.defence)
        wanted = network_of(row)
        read, seconds = timed(lambda: self._read(picture, row))
        if wanted is None:
            made = np.broadcast_to(self.colour, picture.pixels.shape)
        else:
            self.file.tell(f"network {wanted.name}", asdict(self.networks.facts(wanted)))
            level = self.releases.level(row.defence) if wanted.kind == "words" else None
            painter = self.networks.find(wanted)
            made = painter.reconstruct(
                read, dictionary=level, one_look=self.networks.one_look
            ).picture
        if picture.name in self.shown:
            self._keep(picture, row, made)
        self.file.add(
            Outcome(
                setting=row,
                picture=picture.name,
                measures=self.judge.judge(picture, made),
                num_keypoints=len(sent),
                num_bytes=len(sent.to_bytes()) if row.attack not in BASELINES else 0,
                seconds=seconds,
                network="" if wanted is None else wanted.name,
            )
        )

    def _read(self, picture: Picture, row: Setting) -> KeypointRelease:
        if row.attack in RECOVERIES:
            return self.releases.recovered(picture, row.defence, row.attack)
        if row.attack == "posterior":
            return self.releases.guessed(picture, row.defence)
        return self.releases.sent(picture, row.defence)

    def _keep(self, picture: Picture, row: Setting, made: NDArray[np.float32]) -> None:
        folder = self.file.path.parent / PICTURES / Path(picture.name).stem
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture.pixels).save(folder / "original.png")
        Image.fromarray(to_pixels(made)).save(folder / f"{row.name}.png")
