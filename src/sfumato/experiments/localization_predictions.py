"""Predictions on disk.

The first line describes the problem, with the true poses, so that a file can be judged where the
pictures are not.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.types import Localization, Pose
from sfumato.datasets.scenes import Problem
from sfumato.dictionary import Dictionary
from sfumato.experiments.records import append_record, drop_torn_line, read_records


@dataclass(frozen=True)
class Setting:
    """What one row of the table is about.

    recipe       raw, lifted, paper or sfumato
    dictionary   its name; None for raw descriptors, and so are num_words and subset_size (ω)
    epsilon      per descriptor; ∞ for quantised, None for raw and lifted
    strategy     of lifting, and dimension (m) of its subspaces; None elsewhere
    shortlist    images matched: "all", "top N" by votes, or "pairs" from a list
    iterations   RANSAC's limit, where the recipe is the paper's
    is_control   the query's own scene is not in the map: every pose is wrong
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

    @property
    def is_random(self) -> bool:
        return self.strategy is not None or self.epsilon not in (None, math.inf)


@dataclass(frozen=True)
class Prediction:
    """What was answered to one query under one setting and seed."""

    setting: Setting
    seed: int
    query: str
    num_keypoints: int
    pose: Pose | None
    num_inliers: int
    num_matches: int
    log10_chance: float
    seconds: float
    reason: str | None

    @staticmethod
    def of(
        setting: Setting, seed: int, query: str, count: int, found: Localization, seconds: float
    ) -> Prediction:
        return Prediction(
            setting=setting,
            seed=seed,
            query=query,
            num_keypoints=count,
            pose=found.pose,
            num_inliers=found.num_inliers,
            num_matches=found.num_matches,
            log10_chance=found.log10_chance,
            seconds=seconds,
            reason=found.reason,
        )

    @property
    def key(self) -> tuple[Setting, int, str]:
        return self.setting, self.seed, self.query


@dataclass(frozen=True, eq=False)
class Predictions:
    """A whole file: the problem in figures, true poses by query, dictionaries, predictions."""

    problem: dict[str, Any]
    truth: dict[str, Pose | None]
    dictionaries: dict[str, dict[str, Any]]
    predictions: tuple[Prediction, ...]


class PredictionFile:
    """Appends predictions to a file of one problem."""

    def __init__(self, path: str | Path, problem: Problem) -> None:
        self.path = Path(path)
        line = describe_problem(problem)
        if self.path.exists():
            drop_torn_line(self.path)
            known = read_predictions(self.path)
            if known.problem["fingerprint"] != line["fingerprint"]:
                raise Mismatch(
                    f"{self.path} holds predictions for another map or other queries; give another "
                    "folder."
                )
            self.done = {prediction.key for prediction in known.predictions}
            self._dictionaries = known.dictionaries
        else:
            self.done = set()
            self._dictionaries = {}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            append_record(self.path, line)

    def add_dictionary(self, name: str, dictionary: Dictionary) -> None:
        """Say which words a name stands for; the name cannot stand for others later."""
        manifest = dictionary.manifest
        facts = {
            "fingerprint": dictionary.fingerprint,
            "levels": sorted({*dictionary.levels, dictionary.num_words}),
            "built_from_map": manifest["built_from_map"],
            "provenance": manifest["provenance"],
        }
        known = self._dictionaries.get(name)
        if known is None:
            append_record(self.path, {"kind": "dictionary", "name": name, **facts})
            self._dictionaries[name] = facts
        elif known["fingerprint"] != facts["fingerprint"]:
            raise Mismatch(
                f"{self.path} holds predictions with another dictionary {name!r}; give another "
                "folder."
            )

    def add(self, prediction: Prediction) -> None:
        line = asdict(prediction) | {
            "kind": "prediction",
            "pose": None if prediction.pose is None else pose_numbers(prediction.pose),
        }
        append_record(self.path, line)
        self.done.add(prediction.key)


def describe_problem(problem: Problem) -> dict[str, Any]:
    world = problem.world
    return {
        "kind": "problem",
        "format": 1,
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
    lines = list(read_records(Path(path)))
    problem = lines[0] if lines else {}
    if problem.get("kind") != "problem" or problem.get("format") != 1:
        raise InvalidInput(f"{path} is not a file of predictions: its first line says no problem.")
    dictionaries: dict[str, dict[str, Any]] = {}
    predictions: list[Prediction] = []
    number = 1
    try:
        truth = {name: _pose(numbers) for name, numbers in problem["queries"].items()}
        for line in lines[1:]:
            number += 1
            if line.pop("kind") == "dictionary":
                dictionaries[line.pop("name")] = line
            else:
                setting = Setting(**line.pop("setting"))
                predictions.append(
                    Prediction(setting=setting, pose=_pose(line.pop("pose")), **line)
                )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFile(f"{path} is damaged in line {number}: {error}") from None
    return Predictions(problem, truth, dictionaries, tuple(predictions))


def pose_numbers(pose: Pose) -> list[float]:
    """qw, qx, qy, qz, tx, ty, tz of cam_from_world, as COLMAP and the benchmarks write poses."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(pose.rotation).as_quat(canonical=True)
    return [float(value) for value in (w, x, y, z, *pose.translation)]


def _pose(numbers: list[float] | None) -> Pose | None:
    from scipy.spatial.transform import Rotation

    if numbers is None:
        return None
    w, x, y, z, *translation = numbers
    return Pose(Rotation.from_quat([x, y, z, w]).as_matrix(), np.array(translation))
