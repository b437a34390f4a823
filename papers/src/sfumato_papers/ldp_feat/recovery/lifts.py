"""LDP-FEAT, Tables 1, S2 and S3: attack × strategy × m on lifts of photographs.

The paper measures how well a network paints the picture from recovered descriptors; here the
descriptors themselves are compared. Releases are drawn with known seeds: not for sending.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered, check_recovered
from sfumato.adversary.recover.clustering import clustering_attack
from sfumato.adversary.recover.database import database_attack, neighbours_of
from sfumato.adversary.recover.geometry import database_points
from sfumato.adversary.recover.nearest import nearest_attack
from sfumato.adversary.recover.vertex import vertex_attack
from sfumato.cli.own_code import load_ready
from sfumato.core.errors import InvalidInput
from sfumato.core.plugins import asked_for
from sfumato.core.releases import SubspaceRelease
from sfumato.core.types import Features
from sfumato.device.mechanisms import SubspaceLifting
from sfumato.device.mechanisms.lifting import STRATEGIES
from sfumato.dictionary import Dictionary
from sfumato.privacy.known_truth import NUM_SUB_DATABASES, Lift, lift_picture
from sfumato_papers.harness.options import Checked, option
from sfumato_papers.harness.outcomes import RecordFile, read_records
from sfumato_papers.harness.work import seed_of, worked_through
from sfumato_papers.ldp_feat.recovery.assumptions import collisions, near_forming

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
        (), "Pictures a stranger has (Z); by default every third of the database.", repeat=True
    )
    words: int = option(256_000, "|W|, in 16 sub-databases.")
    num_pictures: int = option(10, "How many photographs, spread evenly.", "--pictures")
    num_keypoints: int = option(
        200, "The strongest of each that are attacked.", "--keypoints", low=1
    )
    attacks: tuple[str, ...] = option(
        ATTACKS,
        "On lifts, several; your own as module:name.",
        "--attack",
        choices=ATTACKS,
        own=True,
    )
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


def run_recover(
    pictures: Mapping[str, Features],
    words: Dictionary,
    public: NDArray[Any],
    settings: Settings,
    file: RecordFile,
) -> None:
    """Attack every lift the grid asks for that the file does not hold yet."""
    work = []
    for name, features in pictures.items():
        for strategy in settings.strategies:
            for dimension in settings.dimensions:
                what = {"picture": name, "strategy": strategy, "dimension": dimension}
                has = partial(file.has, **what)
                attacks = [one for one in settings.attacks if not has(kind="lift", attack=one)]
                if attacks:
                    work.append((what, features, attacks, has(kind="assumptions")))
    for records in worked_through(_attack_lift, work, "attacking lifts", words, public, settings):
        for record in records:
            file.add(record)


def _attack_lift(
    words: Dictionary,
    public: NDArray[Any],
    settings: Settings,
    item: tuple[dict[str, Any], Features, list[str], bool],
) -> list[dict[str, Any]]:
    """Lift one picture in one way and attack it: a record for each attack, and one more."""
    what, features, attacks, is_known = item
    mechanism = SubspaceLifting(
        what["strategy"], what["dimension"], words, precision=settings.precision
    )
    lift = lift_picture(features, mechanism, settings.num_keypoints, seed_of(*what.values()))
    parts = NUM_SUB_DATABASES if mechanism.strategy.startswith("sub-") else 1
    found = [
        {**what, **_attacked(attack, lift, words, public, mechanism, parts)} for attack in attacks
    ]
    if mechanism.num_adversarial and not is_known and (lift.words >= 0).all():
        found.append({"kind": "assumptions", **what, **_assumptions(lift, words, parts)})
    return found


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
            release, database=public, others=[lift.rest], num_adversarial=mechanism.num_adversarial
        ),
        "database": lambda: database_attack(release, database=words, num_sub_databases=parts),
        "database+": lambda: database_attack(
            release, database=words, num_sub_databases=parts, num_neighbours=200, num_used=3
        ),
        "vertex": lambda: vertex_attack(release),
        "vertex+": lambda: vertex_attack(release, database=words),
    }
    start = time.process_time()  # of all threads together: what one core would have needed
    found = run[attack]() if attack in run else _own_attack(attack, release, words)
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


def _own_attack(name: str, release: SubspaceRelease, words: Dictionary) -> Recovered:
    """module:name, called with a release; as `dictionary` or `database` it gets the words W."""
    attack = load_ready(name, "an attack")
    known = asked_for(attack, dictionary=words, database=words)
    return check_recovered(attack(release, **known), name)


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


_KEYS = ("kind", "picture", "strategy", "dimension", "attack", "num_words", "subset_size",
         "epsilon", "prior", "releases", "mechanism")  # fmt: skip


def open_results(
    path: Path,
    pictures: Mapping[str, Features],
    words: Dictionary,
    public: NDArray[Any],
    settings: Settings,
) -> RecordFile:
    """Begin a file of results or go on with it; more pictures may be added. No path is in it."""
    head = {
        "kind": "problem",
        "format": 1,
        "data": " + ".join(folder.resolve().name for folder in settings.data),
        "pictures": len(pictures),
        "keypoints": settings.num_keypoints,
        "precision": settings.precision,
        "words": words.num_words,
        "words_fingerprint": words.fingerprint,
        "words_provenance": words.manifest["provenance"],
        "public": len(public),
    }
    return RecordFile(path, head, "results of another problem", _KEYS, may_change=("pictures",))


def read_results(path: Path) -> list[dict[str, Any]]:
    """All records of a file; the first describes the problem, with the pictures done so far."""
    records = list(read_records(path))
    if not records or records[0].get("kind") != "problem" or records[0].get("format") != 1:
        raise InvalidInput(f"{path} is not a file of recoveries: its first line says no problem.")
    done = {one["picture"] for one in records[1:] if one.get("kind") != "inliers"}
    records[0]["pictures"] = len(done)
    return records
