"""Ours: does the planner keep its promise? `sfumato experiment planning`.

A map is made of a part of a data set and planned for. The setting that the plan chooses is then
predicted at several ε on images of the map, and measured on the real queries, which the planner
never sees. Draws are seeded: reproducible releases, not for sending.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom
from sfumato.datasets import load_gallery, map_scene
from sfumato.datasets.query_rule import QueryRule
from sfumato.datasets.scenes import Problem, Query, open_scenes
from sfumato.device.filters.keep import keep_filter
from sfumato.device.filters.stable import KeepStable
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from sfumato.privacy.plan import plan
from sfumato.privacy.plan_grid import Grid
from sfumato.privacy.price import UNITS
from sfumato.privacy.race import EPSILONS
from sfumato.privacy.rehearsal import Question, Rehearsal, Setting
from sfumato.privacy.stretches import Surroundings, ViewChange
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map
from sfumato_papers.harness.options import EXTRACTOR, Checked, extractor_for, option
from sfumato_papers.harness.outcomes import Journal, Kept, append_record, records_of
from sfumato_papers.harness.work import seeded, show_progress, worked_through
from sfumato_papers.ldp_feat.poses import judge

GALLERY = "gallery"
#: Where shares come from: two ways to predict, and the queries.
STRETCHES, STATED, MEASURED = "stretches", "stated", "measured"


@dataclass(frozen=True)
class Settings(Checked):
    """Plan for a map, then measure on real queries what was predicted.

    Outcomes are written as they are made; the same command goes on where it was stopped.

    Example: sfumato experiment planning --data tum_desk --queries blocks:10/3 -o planning/
    """

    data: str = option(GALLERY, "A scene with cameras.json; gallery: the built-in one.")
    queries: str = option("auto", "Which pictures are queries, as in the localization experiment.")
    share: float = option(0.9, "The share localized that is planned for.")
    unit: str = option("picture", "What is paid: total, picture or object.", choices=UNITS)
    around: tuple[float, ...] = option(
        (-2.0, -1.0, 0.0, 1.0), "ε predicted and measured, beside the plan's.", "--around"
    )
    words: int = option(4096, "The smallest |K| that is tried.", low=2)
    keypoints: tuple[int, ...] = option((0, 1000, 500), "The most sent, several; 0: all.", low=0)
    subset_sizes: tuple[int, ...] = option(
        (1, 2), "ω, words per descriptor, several.", "--subset-size", low=1
    )
    num_trials: int = option(80, "Trials on images of the map that predict.", "--trials", low=1)
    draws: int = option(2, "Draws of every query.", low=1)
    extractor: str = option("sift", EXTRACTOR)
    dictionary: str = option(DEFAULT_DICTIONARY, "A dictionary's folder or name.")


@dataclass(frozen=True)
class Outcome:
    """One image or query, one draw.

    way    stretches: an image of the map with its stretch left out; stated: with all views left
           out that are nearer than queries are; measured: a query
    group  answers of one group are alike: a stretch, or one query
    """

    way: str
    epsilon: float
    picture: str
    draw: int
    group: str
    is_localized: bool

    @property
    def key(self) -> tuple[str, float, str, int]:
        return self.way, self.epsilon, self.picture, self.draw


JOURNAL = Journal(
    "planning", "the planning experiment", Outcome, version=1, besides=("plan", "views")
)


def open_problem(settings: Settings, work: Path, dictionary: Dictionary) -> Problem:
    """The map and the queries that are not in it."""
    extractor = extractor_for(settings.extractor, dictionary)
    if settings.data != GALLERY:
        rule = QueryRule.parse(settings.queries)
        return open_scenes(
            [settings.data], work, queries=rule, extractor=extractor, progress=show_progress
        )
    if extractor != "sift":
        raise InvalidInput("the gallery's map is of sift; give --data a scene for another.")
    room = load_gallery()
    queries = tuple(
        Query(view.name, GALLERY, extract(view.image), view.camera, view.pose)
        for view in room.queries
    )
    return Problem(GALLERY, map_scene(room, progress=show_progress), queries, (GALLERY,))


def run(settings: Settings, path: Path) -> None:
    """Plan, predict and measure what the file does not hold yet."""
    dictionary = Dictionary.load(settings.dictionary)
    problem = open_problem(settings, path.parent, dictionary)
    about = {
        "data": problem.data,
        "fingerprint": problem.fingerprint,
        "images": problem.world.num_images,
        "points": len(problem.world.points),
        "queries": len(problem.queries),
        "dictionary": Path(settings.dictionary).name,
        "share": settings.share,
        "unit": settings.unit,
    }
    kept = JOURNAL.begin(path, about, "outcomes of another map, other queries or another plan")
    setting, epsilon = _planned(settings, problem, dictionary, path)
    around = Surroundings(problem.world)
    changes = [around.nearest(query.truth) for query in problem.queries if query.truth is not None]
    stated = float(np.median([change.degrees for change in changes]))
    least, most = EPSILONS
    epsilons = sorted({round(min(max(epsilon + one, least), most), 9) for one in settings.around})
    known = {record["way"] for record in records_of(path, "views")}
    rehearsal = Rehearsal(
        problem.world, [dictionary], Question(), settings.num_trials, SeededRandom(0)
    )
    for way, degrees in ((STRETCHES, None), (STATED, stated)):
        rehearsal.question = Question(degrees=degrees)  # the words found for one way serve both
        if way not in known:
            append_record(path, _views(way, rehearsal.view_changes()))
        _predict(kept, way, rehearsal, setting, epsilons, settings.num_trials)
    if MEASURED not in known:
        append_record(path, _views(MEASURED, changes))
    _measure(kept, problem, dictionary, setting, epsilons, settings.draws)


def _views(way: str, changes: Iterable[ViewChange]) -> dict[str, Any]:
    found = [(one.turn_deg, one.distance, one.degrees) for one in changes]
    turn, distance, degrees = np.array(found).T
    return {
        "kind": "views",
        "way": way,
        "turn_deg": round(float(np.median(turn)), 2),
        "distance": round(float(np.median(distance)), 4),
        "degrees": [round(float(q), 2) for q in np.quantile(degrees, (0.1, 0.5, 0.9))],
    }


def _planned(
    settings: Settings, problem: Problem, dictionary: Dictionary, path: Path
) -> tuple[Setting, float]:
    """What the planner chooses, from the file where it has chosen before."""
    for record in records_of(path, "plan"):
        return Setting(**record["setting"]), record["epsilon"]
    made = plan(
        problem.world,
        dictionary,
        share=settings.share,
        unit=settings.unit,
        num_trials=settings.num_trials,
        grid=Grid(settings.keypoints, settings.subset_sizes, smallest=settings.words),
        question=Question(seen_by=10 if settings.unit == "object" else None),
        rng=seeded("plan", problem.fingerprint),
        progress=show_progress,
    )
    best = made.recommended
    record = {
        "setting": asdict(best.setting),
        "epsilon": best.epsilon,
        "price": asdict(best.price),
        "share": best.share,
        "interval": list(best.interval),
        "trials": made.num_trials,
    }
    append_record(path, {"kind": "plan", **record})
    return best.setting, best.epsilon


def _predict(
    kept: Kept[Outcome],
    way: str,
    rehearsal: Rehearsal,
    setting: Setting,
    epsilons: Iterable[float],
    num_trials: int,
) -> None:
    names, images = rehearsal.world.image_names, rehearsal.images
    todo = [
        (epsilon, draw, image)
        for epsilon in epsilons
        for number in range(num_trials)
        for draw, image in [(number // len(images), images[number % len(images)])]
        if (way, epsilon, names[image], draw) not in kept
    ]
    stage, given = f"predicting, {way}", (way, rehearsal, setting)
    for (epsilon, draw, image), found in zip(
        todo, worked_through(_predicted, todo, stage, *given), strict=True
    ):
        group = str(rehearsal.around.stretch_of[image])
        kept.add(Outcome(way, epsilon, names[image], draw, group, found))


def _predicted(
    way: str, rehearsal: Rehearsal, setting: Setting, asked: tuple[float, int, int]
) -> bool:
    epsilon, draw, image = asked
    rng = seeded(way, epsilon, rehearsal.world.image_names[image], draw)
    return rehearsal.run(setting, epsilon, image, rng=rng).is_localized


def _measure(
    kept: Kept[Outcome],
    problem: Problem,
    dictionary: Dictionary,
    setting: Setting,
    epsilons: Iterable[float],
    draws: int,
) -> None:
    level = dictionary.at(setting.num_words)
    keep = keep_filter(setting.max_keypoints, setting.keep_by)
    assert not isinstance(keep, KeepStable)  # the plan was not asked to try it
    todo = [
        (query, epsilon, draw)
        for query in problem.queries
        for epsilon in epsilons
        for draw in range(draws)
        if (MEASURED, epsilon, query.name, draw) not in kept
    ]
    for outcome in worked_through(
        _measured, todo, "measuring", problem.world, level, keep, setting.subset_size
    ):
        kept.add(outcome)


def _measured(
    world: Map,
    level: Dictionary,
    keep: Any,
    subset_size: int,
    asked: tuple[Query, float, int],
) -> Outcome:
    query, epsilon, draw = asked
    assert query.truth is not None
    rng = seeded(MEASURED, epsilon, query.name, draw)
    features = keep(query.features, rng=rng)
    mechanism = SubsetMechanism(epsilon, subset_size, level)
    release = mechanism.release(features, rng=rng, camera=query.camera)
    found = localize(release, world, dictionary=level)
    inside, _ = judge(found.pose, query.truth)
    return Outcome(MEASURED, epsilon, query.name, draw, query.name, inside[0])
