"""Attack × strategy × m on real photographs: [ldp-feat, Table 1] by descriptors, S2 and S3.

The paper measures how well a network paints the picture from recovered descriptors; here the
descriptors themselves are compared. Releases are drawn with known seeds: not for sending.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered
from sfumato.adversary.recover.clustering import clustering_attack
from sfumato.adversary.recover.database import database_attack, neighbours_of
from sfumato.adversary.recover.geometry import database_points
from sfumato.adversary.recover.nearest import nearest_attack
from sfumato.adversary.recover.vertex import vertex_attack
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Features
from sfumato.device.mechanisms import SubspaceLifting
from sfumato.device.mechanisms.lifting import STRATEGIES
from sfumato.dictionary import Dictionary
from sfumato.experiments.records import append_record, drop_torn_line, read_records
from sfumato.experiments.recover_assumptions import collisions, near_forming
from sfumato.experiments.recover_data import seed_of
from sfumato.privacy.known_truth import NUM_SUB_DATABASES, Lift, lift_picture

#: database+ looks wider than the paper (|V| = 200, |U| = 3); vertex+ knows the words W too.
ATTACKS = ("nearest", "clustering", "database", "database+", "vertex", "vertex+")
EXACT, CLOSE = 1e-3, 0.1
TOP = (50, 20, 10, 5)


@dataclass(frozen=True)
class Grid:
    """Which lifts are attacked, how, and at how many keypoints of each picture."""

    attacks: tuple[str, ...] = ATTACKS
    strategies: tuple[str, ...] = STRATEGIES
    dimensions: tuple[int, ...] = (2, 4, 8, 16)
    num_keypoints: int = 200
    precision: str = "float32"

    def __post_init__(self) -> None:
        for name, given, known in (
            ("attack", self.attacks, ATTACKS),
            ("strategy", self.strategies, STRATEGIES),
        ):
            for value in given:
                if value not in known:
                    raise InvalidInput(f"{name} must be one of {', '.join(known)}, got {value!r}.")
        for dimension in self.dimensions:
            check_count("dimension", dimension, low=2)
        check_count("keypoints", self.num_keypoints, low=1)


class RecordFile:
    """Appends results to a file of one problem; what it holds already is not done again."""

    def __init__(self, path: Path, problem: dict[str, Any]) -> None:
        self.path = path
        self._done: set[tuple[Any, ...]] = set()
        head = {"kind": "problem", "format": 1, **problem}
        if path.exists():
            drop_torn_line(path)
            first, *rest = read_results(path)
            if {**first, "pictures": 0} != {**head, "pictures": 0}:  # more may be added
                raise Mismatch(f"{path} holds results of another problem; give another folder.")
            self._done = {_key(record) for record in rest}
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            append_record(path, head)

    def has(self, **key: Any) -> bool:
        return _key(key) in self._done

    def add(self, record: dict[str, Any]) -> None:
        append_record(self.path, record)
        self._done.add(_key(record))


def read_results(path: Path) -> list[dict[str, Any]]:
    """All records of a file; the first describes the problem, with the pictures done so far."""
    records = list(read_records(path))
    if not records or records[0].get("kind") != "problem" or records[0].get("format") != 1:
        raise InvalidInput(f"{path} is not a file of recoveries: its first line says no problem.")
    done = {one["picture"] for one in records[1:] if one.get("kind") != "inliers"}
    records[0]["pictures"] = len(done)
    return records


_KEYS = ("kind", "picture", "strategy", "dimension", "attack", "num_words", "subset_size",
         "epsilon", "prior", "releases", "mechanism")  # fmt: skip


def _key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(record.get(name) for name in _KEYS)


def run_recover(
    pictures: Mapping[str, Features],
    words: Dictionary,
    public: NDArray[Any],
    grid: Grid,
    file: RecordFile,
    *,
    progress: Progress = silent,
) -> None:
    """Attack every lift the grid asks for that the file does not hold yet."""
    work = [
        (name, strategy, dimension)
        for name in pictures
        for strategy in grid.strategies
        for dimension in grid.dimensions
    ]
    for done, (name, strategy, dimension) in enumerate(work):
        progress("attacking lifts", done, len(work))
        what = {"picture": name, "strategy": strategy, "dimension": dimension}
        if all(file.has(kind="lift", attack=attack, **what) for attack in grid.attacks):
            continue
        mechanism = SubspaceLifting(strategy, dimension, words, precision=grid.precision)
        seed = seed_of(name, strategy, dimension)
        lift = lift_picture(pictures[name], mechanism, grid.num_keypoints, seed)
        parts = NUM_SUB_DATABASES if strategy.startswith("sub-") else 1
        for attack in grid.attacks:
            if not file.has(kind="lift", attack=attack, **what):
                file.add({**what, **_attacked(attack, lift, words, public, mechanism, parts)})
        told = not mechanism.num_adversarial or file.has(kind="assumptions", **what)
        if not told and (lift.words >= 0).all():
            file.add({"kind": "assumptions", **what, **_assumptions(lift, words, parts)})
    progress("attacking lifts", len(work), len(work))


def _attacked(
    attack: str,
    lift: Lift,
    words: Dictionary,
    public: NDArray[Any],
    mechanism: SubspaceLifting,
    parts: int,
) -> dict[str, Any]:
    release = lift.release
    run: dict[str, Callable[[], Recovered]] = {
        "nearest": lambda: nearest_attack(release, database=public),
        "clustering": lambda: clustering_attack(
            release,
            database=public,
            others=[lift.rest],
            num_adversarial=mechanism.num_adversarial,
        ),
        "database": lambda: database_attack(release, database=words, num_sub_databases=parts),
        "database+": lambda: database_attack(
            release, database=words, num_sub_databases=parts, num_neighbours=200, num_used=3
        ),
        "vertex": lambda: vertex_attack(release),
        "vertex+": lambda: vertex_attack(release, database=words),
    }
    start = time.process_time()  # of all threads together: what one core would have needed
    found = run[attack]()
    seconds = (time.process_time() - start) / max(len(release), 1)
    error = np.linalg.norm(found.descriptors - lift.truth, axis=1)
    return {
        "kind": "lift",
        "attack": attack,
        "errors": [float(f"{value:.4g}") for value in error],
        "confidence": [float(f"{value:.3g}") for value in found.confidence],
        "certified": [int(value) for value in found.certified],
        "seconds_per_descriptor": seconds,
    }


def _assumptions(lift: Lift, words: Dictionary, parts: int) -> dict[str, Any]:
    """Were all words found? S2: is what is near D near its makers? S3: who meets D?"""
    points = database_points(words, lift.release)
    near = neighbours_of(lift.release, points, num_neighbours=max(TOP), num_sub_databases=parts)
    all_found = wrong = 0
    for rows, is_word, true in zip(near.rows, near.is_word, lift.words, strict=True):
        found = {points[row].tobytes() for row in rows[is_word]}
        wanted = {points[row].tobytes() for row in true}
        all_found += wanted <= found
        wrong += not found <= wanted
    forming = np.concatenate([lift.truth[:, None], points[lift.words].astype(np.float64)], axis=1)
    return {
        "total": len(lift.release),
        "all_words_found": all_found,
        "wrong_words_found": wrong,
        "near_forming": near_forming(near, points, forming, TOP),
        **collisions(lift, forming),
    }


def problem_of(
    data: Sequence[str | Path],
    pictures: Mapping[str, Features],
    words: Dictionary,
    public: NDArray[Any],
    grid: Grid,
) -> dict[str, Any]:
    """What a file of results is about; no path of this machine."""
    return {
        "data": " + ".join(Path(folder).resolve().name for folder in data),
        "pictures": len(pictures),
        "keypoints": grid.num_keypoints,
        "precision": grid.precision,
        "words": words.num_words,
        "words_fingerprint": words.fingerprint,
        "words_provenance": words.manifest["provenance"],
        "public": len(public),
    }
