"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: every attack on every defence.

At most 1,000 keypoints of the middle square, 256×256. What every reconstruction scored goes to
disk as it is made. Releases are drawn with known seeds: for measuring, not for sending.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sfumato.adversary.invert.sheet import to_pixels
from sfumato.core.checks import check_epsilon
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.releases import KeypointRelease
from sfumato.dictionary import Dictionary
from sfumato.features.extractors import find_extractor
from sfumato.privacy.defence import Defence
from sfumato_papers.harness.options import Checked, option
from sfumato_papers.harness.work import evenly, worked_through
from sfumato_papers.ldp_feat.inversion.networks import (
    Facts,
    Networks,
    mostly_right,
    network_of,
)
from sfumato_papers.ldp_feat.inversion.outcomes import Outcome, OutcomeFile, Setting
from sfumato_papers.ldp_feat.inversion.releases import (
    RECOVERIES,
    Judge,
    Picture,
    Releases,
    mean_colour,
    timed,
)

#: raw: SIFT and the baselines; lifting: ldp-feat Table 1; affine: its Fig. 3; words: ldp-feat
#: Table 4; descriptors: reverse Table 1 and supplement Table 3.
PARTS = ("raw", "lifting", "affine", "words", "descriptors")
LIFT_ATTACKS = (*RECOVERIES, "direct")
WORD_ATTACKS = ("posterior", "direct")
BASELINES = ("mean colour", "positions")


@dataclass(frozen=True)
class Settings(Checked):
    """Paint photographs from what was sent of them, by every attack, and measure.

    Outcomes are written as they are made; the same command goes on where it was stopped. A row
    whose network is missing is trained with --train, or listed with the reason.

    Example: sfumato experiment inversion --pictures photos --num-pictures 50 --parts raw,words
    """

    pictures: Path | None = option(
        None,
        "A folder of photographs to send and attack.",
        needed="give --pictures with a folder, or --evaluate with outcomes.",
    )
    num_pictures: int | None = option(
        None, "How many of them, spread evenly; all without it.", low=1
    )
    parts: tuple[str, ...] = option(
        ("raw", "words"), "raw, lifting, affine, words, descriptors: which tables.", choices=PARTS
    )
    database: tuple[str, ...] = option(
        (), "Lifts: folders of pictures the words W are drawn from, or a dictionary", repeat=True
    )
    public: tuple[Path, ...] = option(
        (), "Lifts: pictures a stranger has (Z); else every third of the database.", repeat=True
    )
    words: int = option(256_000, "Lifts: |W|, in 16 sub-databases.")
    attacks: tuple[str, ...] = option(
        LIFT_ATTACKS, "On lifts, several.", "--attack", choices=LIFT_ATTACKS
    )
    dimensions: tuple[int, ...] = option(
        (2, 4, 8, 16), "m of lifts, several.", "--dimension", low=2
    )
    dictionary: str = option(DEFAULT_DICTIONARY, "Of the words, by name or folder.")
    num_words: tuple[int, ...] = option(
        (), "|K|, several; without it as many as `protect` takes at each ε.", "--levels"
    )
    subset_sizes: tuple[int, ...] = option((1,), "ω, several.", "--subset-size")
    epsilons: tuple[float, ...] = option(
        (16.0, 14.0, 12.0, 10.0, 8.0), "ε per descriptor, several.", "--epsilon"
    )
    word_attacks: tuple[str, ...] = option(
        WORD_ATTACKS,
        "posterior: the likeliest word, painted as raw; direct: trained.",
        "--word-attack",
        choices=WORD_ATTACKS,
    )
    extractors: tuple[str, ...] = option(
        ("sift", "freak", "vgg", "beblid"), "Kinds of descriptors, several.", "--extractor"
    )
    networks: Path | None = option(None, "Folder of networks, and for those trained here.")
    train: tuple[Path, ...] = option(
        (), "Train missing attackers on these pictures (needs torch).", repeat=True
    )
    budget: int = option(800, "Training steps for each.", low=1)
    minutes: float | None = option(None, "At most so many minutes of training for each.")
    start_from: Path | None = option(
        None, "Let them begin as the network of this run or ONNX file."
    )
    width: int = option(48, "Width of the networks trained.", low=2)
    perceptual: bool = option(
        True, "Train with VGG16's loss, which needs its weights.", "--perceptual/--no-perceptual"
    )
    detector: str | None = option(None, "Look for objects: person, face, text or a YOLO file.")
    min_score: float = option(0.35, "How sure a YOLO file must be of an object.")
    one_look: bool = option(
        False, "Paint once, not four times turned: faster, worse.", "--one-look"
    )
    num_shown: int = option(6, "Pictures kept for contact sheets.", "--show")
    threads: int | None = option(None, "Of the networks.")
    strategy: str = "sub-hybrid"

    def __post_init__(self) -> None:
        super().__post_init__()
        for epsilon in self.epsilons:
            check_epsilon(epsilon, allow_infinite=True)
        for extractor in self.extractors:
            find_extractor(extractor)
        if not 0 < self.min_score < 1:
            raise InvalidInput(f"min-score must be between 0 and 1, got {self.min_score!r}.")
        if self.minutes is not None and not self.minutes > 0:
            raise InvalidInput(f"minutes must be above 0, got {self.minutes!r}.")

    @property
    def has_lifts(self) -> bool:
        return bool({"lifting", "affine"} & {*self.parts})

    def check_database(self) -> None:
        """Refuse lifts without the words they pass through."""
        if self.has_lifts and not self.database:
            raise InvalidInput("lifts need --database with other pictures or a dictionary.")

    def rows(self, dictionary: Dictionary | None) -> tuple[Setting, ...]:
        """Every row once, the cheap ones first; the dictionary is that of the words, if any."""
        rows = [Setting("raw"), *(Setting(name) for name in BASELINES)]
        if "lifting" in self.parts:
            for dimension in self.dimensions:
                lift = Defence(strategy=self.strategy, dimension=dimension)
                rows += [Setting(attack, lift) for attack in self.attacks]
        if "affine" in self.parts:
            lifts = [("nearest", "random", 2), ("nearest", "sub-hybrid", 2)]
            if "direct" in self.attacks:
                lifts += [("direct", "sub-hybrid", dimension) for dimension in (2, 4, 6)]
            rows += [Setting(a, Defence(strategy=s, dimension=m)) for a, s, m in lifts]
        if "words" in self.parts and dictionary is not None:
            rows += [
                Setting(attack, Defence(num_words=count, subset_size=size, epsilon=epsilon))
                for attack in self.word_attacks
                for size in self.subset_sizes
                for epsilon in self.epsilons
                for count in self.num_words or (dictionary.at_epsilon(epsilon, size).num_words,)
            ]
        if "descriptors" in self.parts:
            rows += [Setting("raw", Defence(extractor=name)) for name in self.extractors]
        return tuple(dict.fromkeys(rows))


PICTURES = "pictures"


def run_inversion(
    pictures: Sequence[Picture],
    releases: Releases,
    networks: Networks,
    settings: Settings,
    judge: Judge,
    file: OutcomeFile,
) -> None:
    """Make every row the grid asks for that the file does not hold yet.

    Rows whose network is there come first; then the others are trained one by one, if there is
    a budget, or are put down as absent with the reason.
    """
    shown = {p.name for p in evenly(pictures, settings.num_shown)} if settings.num_shown else set()
    run = _Run(_Painter(releases, networks, mean_colour(pictures)), judge, file, shown)
    file.tell("lpips", judge.without)
    rows = settings.rows(releases.dictionary)
    needed = {row: wanted for row in rows if (wanted := network_of(row)) is not None}
    ready = [row for row in rows if row not in needed or networks.has(needed[row])]
    _fill(run, pictures, ready)
    for row, wanted in needed.items():
        if row in ready:
            continue
        try:
            networks.find(wanted)
        except Missing as error:
            file.absent(row, str(error))
        else:
            _fill(run, pictures, [row])


def _fill(run: _Run, pictures: Sequence[Picture], rows: Sequence[Setting]) -> None:
    todo = [
        (picture, row)
        for picture in pictures
        for row in rows
        if not run.file.has(row, picture.name)
    ]
    for painted in worked_through(_Painter.paint, todo, "painting pictures", run.painter):
        run.write_down(painted)


@dataclass(frozen=True, eq=False)
class _Painted:
    """What came of one row of one picture; network None for a flat colour."""

    picture: Picture
    row: Setting
    made: NDArray[np.float32]
    num_keypoints: int
    num_bytes: int
    seconds: float
    network: Facts | None


@dataclass(frozen=True)
class _Painter:
    """All that it takes to send, recover and paint; workers have one each."""

    releases: Releases
    networks: Networks
    colour: NDArray[np.float32]

    def paint(self, item: tuple[Picture, Setting]) -> _Painted:
        picture, row = item
        sent = self.releases.sent(picture, row.defence)
        wanted = network_of(row)
        read, seconds = timed(lambda: self._read(picture, row))
        made, facts = np.broadcast_to(self.colour, picture.pixels.shape), None
        if wanted is not None:
            level = self.releases.level(row.defence) if wanted.kind == "words" else None
            facts = self.networks.facts(wanted)
            made = self.networks.paint(wanted, read, level, refine=mostly_right(row, sent))
        num_bytes = len(sent.to_bytes()) if row.attack not in BASELINES else 0
        return _Painted(picture, row, made, len(sent), num_bytes, seconds, facts)

    def _read(self, picture: Picture, row: Setting) -> KeypointRelease:
        if row.attack in RECOVERIES:
            return self.releases.recovered(picture, row.defence, row.attack)
        if row.attack == "posterior":
            return self.releases.guessed(picture, row.defence)
        return self.releases.sent(picture, row.defence)


@dataclass(frozen=True)
class _Run:
    painter: _Painter
    judge: Judge
    file: OutcomeFile
    shown: set[str]

    def write_down(self, painted: _Painted) -> None:
        """Judge what was painted and write it to disk."""
        picture, row, network = painted.picture, painted.row, painted.network
        if network is not None:
            self.file.tell(f"network {network.name}", asdict(network))
        if picture.name in self.shown:
            self._keep(picture, row, painted.made)
        self.file.add(
            Outcome(
                setting=row,
                picture=picture.name,
                measures=self.judge.judge(picture, painted.made),
                num_keypoints=painted.num_keypoints,
                num_bytes=painted.num_bytes,
                seconds=painted.seconds,
                network="" if network is None else network.name,
            )
        )

    def _keep(self, picture: Picture, row: Setting, made: NDArray[np.float32]) -> None:
        folder = self.file.path.parent / PICTURES / Path(picture.name).stem
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture.pixels).save(folder / "original.png")
        Image.fromarray(to_pixels(made)).save(folder / f"{row.name}.png")
