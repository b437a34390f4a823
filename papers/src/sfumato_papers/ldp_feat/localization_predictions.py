"""LDP-FEAT, Tables 2, 3 and S1: predictions of localization on disk, and as a submission."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from sfumato.core.errors import Mismatch
from sfumato.core.storage import write_file
from sfumato.core.types import Localization, Pose
from sfumato.datasets.scenes import Problem
from sfumato.dictionary import Dictionary
from sfumato_papers.harness.outcomes import Journal, Kept, append_record, decode, records_of
from sfumato_papers.ldp_feat.poses import pose_numbers, pose_of


@dataclass(frozen=True)
class Setting:
    """What one row of the table is about.

    recipe       raw, lifted, own, paper, words (ours without positions) or sfumato
    dictionary   its name; None for raw descriptors, and so are num_words and subset_size (ω)
    epsilon      per descriptor; ∞ for quantised, None for raw and lifted
    strategy     of lifting, and dimension (m) of its subspaces; of recipe own: module:name
    shortlist    images matched: "all", "top N" by votes, or "pairs" from a list
    iterations   RANSAC's limit, where the recipe is the paper's
    is_control   the query's own scene is not in the map: every pose is wrong
    num_frames   releases of a moving device that are asked together; odometry: its error
    is_shared    these releases together send as many keypoints as one would
    gravity_error  of the direction of gravity, in degrees; None where it is exact or not given
    """

    recipe: str
    dictionary: str | None = None
    num_words: int | None = None
    subset_size: int | None = None
    epsilon: float | None = None
    matching: str = "vocabulary"
    shortlist: str = "all"
    iterations: int | None = None
    max_keypoints: int | None = None
    has_gravity: bool = False
    is_control: bool = False
    strategy: str | None = None
    dimension: int | None = None
    num_frames: int = 1
    is_shared: bool = False
    odometry: str | None = None
    gravity_error: float | None = None

    @property
    def is_random(self) -> bool:
        return self.strategy is not None or self.epsilon not in (None, math.inf)


@dataclass(frozen=True)
class Prediction:
    """What was answered to one query under one setting and seed; pose in numbers, or None."""

    setting: Setting
    seed: int
    query: str
    num_keypoints: int
    pose: tuple[float, ...] | None
    num_inliers: int
    num_matches: int
    log10_chance: float
    seconds: float
    reason: str | None

    @classmethod
    def of(
        cls,
        asked: tuple[Setting, int, str],
        found: Localization,
        *,
        num_keypoints: int,
        seconds: float,
    ) -> Prediction:
        """What was found when this setting, seed and query were asked."""
        setting, seed, query = asked
        return cls(
            setting=setting,
            seed=seed,
            query=query,
            num_keypoints=num_keypoints,
            pose=None if found.pose is None else tuple(pose_numbers(found.pose)),
            num_inliers=found.num_inliers,
            num_matches=found.num_matches,
            log10_chance=found.log10_chance,
            seconds=seconds,
            reason=found.reason,
        )

    @property
    def key(self) -> tuple[Setting, int, str]:
        return self.setting, self.seed, self.query

    @property
    def answer(self) -> Pose | None:
        return None if self.pose is None else pose_of(self.pose)


@dataclass(frozen=True, eq=False)
class Predictions:
    """A whole file: the problem in figures, true poses by query, dictionaries, predictions."""

    problem: dict[str, Any]
    truth: dict[str, Pose | None]
    dictionaries: dict[str, dict[str, Any]]
    predictions: tuple[Prediction, ...]


JOURNAL = Journal(
    "problem",
    "predictions: its first line says no problem",
    Prediction,
    label="prediction",
    version=1,
    besides=("dictionary",),
)


def open_predictions(
    path: Path, problem: Problem, dictionaries: Mapping[str, Dictionary]
) -> Kept[Prediction]:
    """Begin a file or go on with it; it says which words the name of a dictionary stands for."""
    others = "predictions for another map or other queries"
    kept = JOURNAL.begin(path, describe_problem(problem), others)
    known = _dictionaries(path)
    for name, dictionary in dictionaries.items():
        facts = {
            "fingerprint": dictionary.fingerprint,
            "levels": sorted({*dictionary.levels, dictionary.num_words}),
            "built_from_map": dictionary.manifest["built_from_map"],
            "provenance": dictionary.manifest["provenance"],
        }
        if name not in known:
            append_record(path, {"kind": "dictionary", "name": name, **facts})
        elif known[name]["fingerprint"] != facts["fingerprint"]:
            raise Mismatch(
                f"{path} holds predictions with another dictionary {name!r}; give another folder."
            )
    return kept


def _dictionaries(path: Path) -> dict[str, dict[str, Any]]:
    return {one.pop("name"): one for one in records_of(path, "dictionary")}


def describe_problem(problem: Problem) -> dict[str, Any]:
    """The first line of a file, with true poses: it can be judged where the pictures are not."""
    world = problem.world
    about: dict[str, Any] = {"hold_out": problem.rule, "skipped": dict(problem.skipped)}
    if problem.foreign is not None:
        about["foreign"] = ", ".join(dict.fromkeys(one.split("/")[0] for one in
                                                   problem.foreign.image_names))  # fmt: skip
    return {
        **{name: fact for name, fact in about.items() if fact},
        "data": problem.data,
        "scenes": list(problem.scenes),
        "fingerprint": problem.fingerprint,
        "images": world.num_images,
        "points": len(world.points),
        "observations": world.num_observations,
        "extractor": world.extractor,
        "queries": {
            query.name: None if query.truth is None else pose_numbers(query.truth)
            for query in problem.queries
        },
    }


def read_predictions(path: str | Path) -> Predictions:
    """Read a whole file; a line that is not one of ours is refused with its number."""
    problem, predictions = JOURNAL.read(path)
    poses = dict[str, tuple[float, ...] | None]
    damaged = f"{path} is damaged in line 1"
    truth = {
        name: None if numbers is None else pose_of(numbers)
        for name, numbers in decode(poses, problem["queries"], damaged).items()
    }
    return Predictions(problem, truth, _dictionaries(Path(path)), predictions)


def submission_text(found: Predictions, setting: Setting, seed: int = 0) -> str:
    """One line per pose: name qw qx qy qz tx ty tz, cam_from_world, names without folders.

    A query without a pose has no line; the benchmark counts it as a failure.
    """
    return "".join(
        f"{PurePosixPath(one.query).name} {' '.join(f'{value:.9g}' for value in one.pose)}\n"
        for one in found.predictions
        if (one.setting, one.seed) == (setting, seed) and one.pose is not None
    )


def write_submissions(found: Predictions, folder: Path) -> None:
    """One file for every setting and seed, named after them."""
    folder.mkdir(parents=True, exist_ok=True)
    for setting, seed in dict.fromkeys((one.setting, one.seed) for one in found.predictions):
        path = folder / f"Aachen_eval_{setting_name(setting)}_seed{seed}.txt"
        write_file(path, submission_text(found, setting, seed).encode())


def setting_name(setting: Setting) -> str:
    """A setting as part of a file name; different settings have different names."""
    epsilon = "" if setting.epsilon is None else f"{setting.epsilon:g}".replace("inf", "-inf")
    parts = (
        ("{}", setting.recipe), ("{}", setting.dictionary), ("K{}", setting.num_words),
        ("w{}", setting.subset_size), ("eps{}", epsilon),
        ("{}", setting.matching.replace("vocabulary", "")),
        ("{}", setting.shortlist.replace("all", "").replace(" ", "")),
        ("it{}", setting.iterations), ("N{}", setting.max_keypoints),
        ("frames{}", setting.num_frames if setting.num_frames > 1 else None),
        ("{}", "shared" if setting.is_shared else None),
    )  # fmt: skip
    return "_".join(form.format(part) for form, part in parts if part)
