"""LDP-FEAT, Tables 2, 3 and S1: the options of `sfumato experiment localization`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfumato.cli.options import CAMERA_SCALE
from sfumato.cli.values import camera_scale as parse_camera_scale
from sfumato.cli.values import names, number, whole_number
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput
from sfumato.datasets.layouts.choose import READERS, read_layout
from sfumato.datasets.layouts.common import LayoutOptions
from sfumato.datasets.query_rule import QueryRule
from sfumato.server.ldp_feat_recipe import MATCHING, MAX_ITERATIONS
from sfumato.server.mapping.scenes import Scene
from sfumato.server.motion import OdometryError
from sfumato_papers.harness.options import Checked, folders, option
from sfumato_papers.ldp_feat.localization_predictions import Setting
from sfumato_papers.ldp_feat.poses import THRESHOLDS, WRONG_BEYOND, Within, parse_thresholds

RECIPES = ("paper", "words", "sfumato")
BUDGETS = ("each", "shared")
AUTO = QueryRule("auto")


def _words(text: str) -> tuple[int | str, ...]:
    return tuple(one if one == "auto" else whole_number("words", one) for one in names(text))


def _degrees(text: str) -> float:
    value = number("gravity-error", text)
    if not 0 <= value <= 45:
        raise InvalidInput(f"--gravity-error is an angle from 0 to 45 degrees, got {text!r}.")
    return value


@dataclass(frozen=True)
class Settings(Checked):
    """Localize held-out photographs by words alone: our recipe beside the paper's.

    Predictions are written to OUTPUT as they are made; the same command goes on where it was
    stopped. For Aachen the benchmark's submission files are written too. Releases are
    reproducible, not for sending.

    Example: sfumato experiment localization --data strecha/Herz-Jesus-P25 strecha/fountain-P11
    """

    data: tuple[Path, ...] = folders(
        "A scene of any layout, or Aachen's folder; repeat for more scenes.",
        "a predictions file",
        further="Further scenes.",
    )
    hold_out: QueryRule = option(
        AUTO,
        "The queries: step:4, blocks:10/3 (every third block of ten), list:FILE, folder:NAME; "
        "auto: as the data set says, else step:4.",
        parse=QueryRule.parse,
        shown=str(AUTO),
    )
    layout: str = option(
        "auto", f"Of the folders: auto, {', '.join(READERS)}.", choices=("auto", *READERS)
    )
    stride: int = option(1, "Take every so-many-th picture only, of long videos.", low=1)
    camera: str | None = option(
        None, "Intrinsics of all pictures instead of the data set's: MODEL,PARAM,…"
    )
    camera_scale: float | None = option(
        1.0,
        CAMERA_SCALE,
        parse=parse_camera_scale,
        shown="1",
    )
    extractor: str = option("sift", "The extractor of map and queries.")
    recipes: tuple[str, ...] = option(
        ("paper", "sfumato"),
        "paper; sfumato; words: ours without the search by positions; several.",
        "--recipe",
        choices=RECIPES,
    )
    dictionaries: tuple[str, ...] = option(
        (DEFAULT_DICTIONARY,),
        "Names or folders of dictionaries; map, or map:4096: words of the map's own images.",
        "--dictionary",
    )
    epsilons: tuple[float, ...] = option(
        (12.0, 10.0, 8.0, 7.0, 6.0), "ε per descriptor, several.", "--epsilon", epsilon=True
    )
    words: tuple[int | str, ...] = option(
        ("auto",),
        "|K|: levels of the dictionary; auto: by a rule that knows ε.",
        low=2,
        parse=_words,
    )
    subset_sizes: tuple[int, ...] = option((1,), "ω, words per descriptor.", "--subset-size", low=1)
    dimensions: tuple[int, ...] = option(
        (), "Also lifted queries, of these dimensions; no ε belongs to them.", "--lift"
    )
    strategy: str = option("sub-hybrid", "How queries are lifted.")
    mechanisms: tuple[str, ...] = option(
        (), "Also mechanisms of your own, as module:name.", "--mechanism"
    )
    num_seeds: int = option(3, "Releases drawn of each query.", "--seeds", low=1)
    max_keypoints: int | None = option(None, "Send only the N strongest of each query.", low=4)
    pairs: Path | None = option(None, "hloc's pairs.txt: query, image of the map.")
    top: int | None = option(
        None, "Match only the N most voted images in the paper's recipe.", low=1
    )
    matching: tuple[str, ...] = option(
        ("vocabulary",), "vocabulary, nearest or both, in the paper's recipe.", choices=MATCHING
    )
    iterations: int = option(
        MAX_ITERATIONS, "RANSAC's limit in the paper's recipe (the paper: 10,000,000).", low=1
    )
    has_gravity: bool = option(False, "Give our recipe the direction an IMU would.", "--gravity")
    gravity_error: float = option(
        2.0,
        "Error of that direction in degrees, one standard deviation.",
        parse=_degrees,
        shown="2",
    )
    frames: tuple[int, ...] = option(
        (1,), "Releases asked together, of a device that moved; several.", low=1
    )
    budgets: tuple[str, ...] = option(
        BUDGETS,
        "Of several frames: each sends as one would, or together (shared) they send as many.",
        "--frame-budget",
        choices=BUDGETS,
    )
    odometry: OdometryError = option(
        OdometryError(),
        "Error made of the motion between two frames: a share of the way, and an angle.",
        parse=OdometryError.parse,
        shown=str(OdometryError()),
    )
    has_control: bool = option(
        True, "Also ask for places that are not in the map.", "--control/--no-control"
    )
    control_seeds: int = option(1, "Releases drawn of each query for that control.", low=1)
    foreign: tuple[Path, ...] = option(
        (), "A scene for a second map, the control: no query is in it; repeat.", repeat=True
    )
    distractors: tuple[Path, ...] = option(
        (), "A scene that is in the map and has no query; repeat.", "--distractor", repeat=True
    )
    within: tuple[Within, ...] = option(
        THRESHOLDS,
        "How near is near enough: 0.05m/5deg, 5cm/5deg, or .25/2 in the world's unit; several.",
        parse=parse_thresholds,
        shown=",".join(map(str, THRESHOLDS)),
    )
    wrong_beyond: Within = option(
        WRONG_BEYOND,
        "A pose that was returned and is farther off than this is wrong.",
        parse=Within.parse,
        shown=str(WRONG_BEYOND),
    )
    against: tuple[str, ...] = option(
        ("truth",), "Compare poses with truth, raw's own, or both.", choices=("truth", "raw")
    )
    every: bool = option(False, "Print every setting tried.", "--all")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pairs is not None and self.top is not None:
            raise InvalidInput("--pairs and --top both choose the images to match; give one.")
        if self.frames != (1,) and (self.pairs is not None or self.has_gravity):
            raise InvalidInput("several frames are asked without --pairs and --gravity.")

    def scenes(self, folders: Sequence[Path]) -> list[Scene]:
        """The scenes in these folders, read as the options say."""
        options = LayoutOptions(self.camera, self.camera_scale)
        return [read_layout(folder, self.layout, options, stride=self.stride) for folder in folders]

    def draws_of(self, setting: Setting) -> int:
        """How many releases of each query are drawn; one where nothing is random."""
        if not setting.is_random:
            return 1
        return self.control_seeds if setting.is_control else self.num_seeds

    @property
    def shortlist(self) -> str:
        """Which images are matched: "all", "top N" (the paper's recipe only) or "pairs"."""
        if self.pairs is not None:
            return "pairs"
        return "all" if self.top is None else f"top {self.top}"
