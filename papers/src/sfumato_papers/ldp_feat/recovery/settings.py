"""LDP-FEAT, Tables 1, S2 and S3: what `sfumato experiment recover` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.device.mechanisms.lifting import STRATEGIES
from sfumato_papers.harness.options import Checked, option

#: database+ looks wider than the paper (|V| = 200, |U| = 3); vertex+ knows the words W too.
ATTACKS = ("nearest", "clustering", "database", "database+", "vertex", "vertex+")
PARTS = ("lifts", "words", "repeats", "inliers")
#: Distances of unit descriptors below which one is recovered, or nearly.
EXACT, CLOSE = 1e-3, 0.1
TOP = (50, 20, 10, 5)
_NEEDED = (
    "give --data with photographs and --database with other ones, or --evaluate with a file of "
    "results."
)


@dataclass(frozen=True)
class Settings(Checked):
    """Recover descriptors from lifts and words of photographs, by every attack there is.

    Results are written as they are made; the same command goes on where it was stopped.
    Releases are reproducible, not for sending.

    Example: sfumato experiment recover --data photos --database other-photos --pictures 10
    """

    data: tuple[Path, ...] = option(
        (), "A folder of photographs to attack; repeat for more.", repeat=True, needed=_NEEDED
    )
    database: tuple[str, ...] = option(
        (),
        "Folders of pictures the words W are drawn from, or one dictionary.",
        repeat=True,
        needed=_NEEDED,
    )
    public: tuple[Path, ...] = option(
        (),
        "Pictures a stranger has (Z); by default every third of the database.",
        repeat=True,
    )
    words: int = option(256_000, "|W|, in 16 sub-databases.")
    num_pictures: int = option(10, "How many photographs, spread evenly.", "--pictures")
    num_keypoints: int = option(
        200, "The strongest of each that are attacked.", "--keypoints", low=1
    )
    attacks: tuple[str, ...] = option(ATTACKS, "On lifts, several.", "--attack", choices=ATTACKS)
    strategies: tuple[str, ...] = option(
        STRATEGIES, "How to lift, several.", "--strategy", choices=STRATEGIES
    )
    dimensions: tuple[int, ...] = option((2, 4, 8, 16), "m, several.", "--dimension", low=2)
    precision: str = option("float32", "float32 or float16 on the wire.")
    dictionary: str = option("bsds-16k", "Of the LDP releases.")
    num_words: tuple[int, ...] = option(
        (1024, 16384), "|K| of the LDP releases, several.", "--levels"
    )
    epsilons: tuple[float, ...] = option(
        (2.0, 6.0, 10.0), "ε per descriptor, several.", "--epsilon", epsilon=True
    )
    subset_sizes: tuple[int, ...] = option((1, 2, 8), "ω, several.", "--subset-size", low=1)
    scenes: tuple[Path, ...] = option(
        (), "Scenes with cameras.json, for what inliers reveal; repeat for more.", repeat=True
    )
    parts: tuple[str, ...] = option(
        PARTS, "What to run: lifts, words, repeats, inliers.", choices=PARTS
    )
    repeats: tuple[int, ...] = (1, 2, 5, 10, 20)  # releases of one picture that are combined
    repeat_epsilon: float = 10.0
    repeat_size: int = 2  # ω of the repeated releases
