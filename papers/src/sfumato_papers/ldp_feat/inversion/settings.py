"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: what is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.core.checks import check_epsilon
from sfumato.core.errors import InvalidInput
from sfumato.features.extractors import find_extractor
from sfumato.privacy.defence import Defence
from sfumato_papers.harness.options import Checked, option
from sfumato_papers.ldp_feat.inversion.outcomes import Setting
from sfumato_papers.ldp_feat.inversion.releases import RECOVERIES

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
        ("raw", "words"),
        "raw, lifting, affine, words, descriptors: which tables.",
        choices=PARTS,
    )
    database: tuple[str, ...] = option(
        (),
        "Lifts: folders of pictures the words W are drawn from, or a dictionary",
        repeat=True,
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
    dictionary: str = option("bsds-16k", "Of the words, by name or folder.")
    num_words: tuple[int, ...] = option((16_384,), "|K|, several.", "--levels")
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
    start_from: Path | None = option(None, "Let them begin as the network of this training run.")
    width: int = option(48, "Width of the networks trained.")
    perceptual: bool = option(
        True, "Train with VGG16's loss, which needs its weights.", "--perceptual/--no-perceptual"
    )
    detector: str | None = option(None, "Look for objects: person, face, text or a YOLO file.")
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

    @property
    def has_lifts(self) -> bool:
        return bool({"lifting", "affine"} & {*self.parts})

    def check_database(self) -> None:
        """Refuse lifts without the words they pass through."""
        if self.has_lifts and not self.database:
            raise InvalidInput("lifts need --database with other pictures or a dictionary.")

    def rows(self) -> tuple[Setting, ...]:
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
