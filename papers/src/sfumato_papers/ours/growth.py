"""Ours: what is lost, and what it costs, as a map grows? `sfumato experiment growth`.

The same queries are localized in the map of their scenes, and in maps that are 10 and 100 times
larger by other photographs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.datasets.query_rule import QueryRule
from sfumato.datasets.scenes import Problem, Query, open_scenes
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.features.folder import extract_folder
from sfumato.features.h5 import list_feature_names, read_features
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.memory import word_query_memory
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import Checked, folders, needed, option
from sfumato_papers.harness.outcomes import Journal, append_record, records_of
from sfumato_papers.harness.table import grouped, table_of, wilson
from sfumato_papers.harness.work import evenly, seed_of, seeded, show_progress, worked_through
from sfumato_papers.ldp_feat.poses import WRONG_BEYOND, Within
from sfumato_papers.ours.growth_map import grown_map


@dataclass(frozen=True)
class Settings(Checked):
    """Localize the same queries in ever larger maps: share found, wrong poses, time, memory.

    Releases are reproducible, not for sending.

    Example: sfumato experiment growth --data tum_desk --photos photographs --hold-out blocks:10/3
    """

    data: tuple[Path, ...] = folders(
        "A scene with cameras.json; repeat for more.",
        "a file of outcomes",
        further="Further scenes.",
    )
    photos: Path | None = option(
        None, "Folder of photographs that no query shows.", needed="give --photos with a folder."
    )
    hold_out: QueryRule = option(
        QueryRule("step"),
        "The queries: step:4, blocks:10/3 (every third block of ten) and others.",
        parse=QueryRule.parse,
        shown="step:4",
    )
    within: Within = option(
        Within(0.05, 5.0), "Found: as near as this.", parse=Within.parse, shown="0.05m/5°"
    )
    dictionary: str = option(DEFAULT_DICTIONARY, "Name or folder of a dictionary.")
    words: int = option(4096, "|K|, a level of it.", low=2)
    epsilons: tuple[float, ...] = option(
        (8.0, 6.0), "ε per descriptor, several.", "--epsilon", epsilon=True
    )
    times: tuple[int, ...] = option((1, 10, 100), "Sizes of the map, several.", low=1)
    num_queries: int | None = option(None, "So many of the queries.", "--queries", low=1)
    num_seeds: int = option(1, "Releases drawn of each query.", "--seeds", low=1)


@dataclass(frozen=True)
class Outcome:
    """One answer; seconds are of the processor, errors in the world's unit and degrees."""

    times: int
    epsilon: float
    seed: int
    query: str
    seconds: float
    distance: float | None = None
    degrees: float | None = None

    @property
    def key(self) -> tuple[int, float, int, str]:
        return self.times, self.epsilon, self.seed, self.query

    def is_within(self, limit: Within) -> bool:
        """Whether there is a pose, as near as this."""
        if self.distance is None or self.degrees is None:
            return False
        return self.distance <= limit.distance and self.degrees <= limit.degrees


JOURNAL = Journal("growth", "the growth experiment", Outcome, besides=("map",))


def run_growth(settings: Settings, path: Path) -> None:
    dictionary = Dictionary.load(settings.dictionary).at(settings.words)
    about = {
        "data": [folder.name for folder in settings.data],
        "hold_out": str(settings.hold_out),
        "words": settings.words,
        "dictionary": dictionary.fingerprint,
        "within": str(settings.within),
    }
    kept = JOURNAL.begin(path, about, "outcomes of other settings")
    problem = open_scenes(
        settings.data, path.parent / "map", queries=settings.hold_out, progress=show_progress
    )
    file = path.parent / "photographs.h5"
    extract_folder(needed(settings.photos), file, extractor="sift", progress=show_progress)
    names = list_feature_names(file)
    order = np.random.default_rng(seed_of("photographs")).permutation(len(names))
    for times in settings.times:
        work = [
            (epsilon, seed, query)
            for epsilon in settings.epsilons
            for seed in range(settings.num_seeds)
            for query in evenly(problem.queries, settings.num_queries)
            if (times, epsilon, seed, query.name) not in kept
        ]
        if not work:
            continue
        photographs = (read_features(file, names[number]) for number in order)
        world = grown_map(problem.world, photographs, times)
        world.word_index(dictionary)
        append_record(path, {"kind": "map", "times": times, **_size(world, problem, dictionary)})
        _answer(world, dictionary, times, (work[0][0], 0, work[0][2]))  # compiled, caches filled
        stage = f"localizing in a map of {times} times the size"
        for outcome in worked_through(_answer, work, stage, world, dictionary, times):
            kept.add(outcome)


def _size(world: Map, problem: Problem, dictionary: Dictionary) -> dict[str, Any]:
    """What the map is made of, and the memory that queries by words need."""
    return {
        "images": world.num_images,
        "observations": world.num_observations,
        "real": problem.world.num_observations,
        "bytes": word_query_memory(world, dictionary.fingerprint),
    }


def _answer(
    world: Map, dictionary: Dictionary, times: int, asked: tuple[float, int, Query]
) -> Outcome:
    epsilon, seed, query = asked
    # The same release in every map: a difference is the map's.
    rng = seeded(seed, query.name, dictionary.num_words, epsilon)
    mechanism = SubsetMechanism(epsilon, 1, dictionary)
    release = mechanism.release(query.features, rng=rng, camera=query.camera)
    start = time.process_time()
    found = localize(release, world)
    seconds = time.process_time() - start
    made = (times, epsilon, seed, query.name, seconds)
    if found.pose is None or query.truth is None:
        return Outcome(*made)
    return Outcome(*made, *found.pose.error_to(query.truth))


def rows(
    outcomes: Sequence[Outcome], maps: Sequence[dict[str, Any]], within: Within
) -> Iterator[dict[str, Any]]:
    """For each ε and size: share found, poses that are wrong, seconds, memory."""
    sizes = {one["times"]: one for one in maps}
    for (epsilon, times), group in sorted(
        grouped(outcomes, lambda one: (-one.epsilon, one.times)).items()
    ):
        near, right = ([one.is_within(limit) for one in group] for limit in (within, WRONG_BEYOND))
        told = sum(one.distance is not None for one in group)
        seconds = [one.seconds for one in group]
        size = sizes[times]
        yield {
            "epsilon": -epsilon,
            "times": times,
            "images": size["images"],
            "observations": size["observations"],
            "answers": len(group),
            "share": sum(near) / len(group),
            "interval_95": wilson(sum(near), len(group)),
            "wrong": told - sum(right),
            "median_seconds": float(np.median(seconds)),
            "max_seconds": max(seconds),
            "bytes": sum(size["bytes"].values()) / size["observations"],
        }


def report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    maps = records_of(path, "map")
    found = list(rows(outcomes, maps, Within.parse(head["within"])))
    table = table_of(
        found,
        ("ε", "epsilon", "g"), ("map ×", "times"), ("images", "images", ","),
        ("observations", "observations", ","), ("answers", "answers"),
        ("found %", "share", ".0f", 100),
        ("95 %", lambda row: "–".join(f"{100 * end:.0f}" for end in row["interval_95"])),
        ("wrong", "wrong"), ("CPU s", "median_seconds", ".2f"), ("most", "max_seconds", ".2f"),
        ("bytes/obs.", "bytes", ".0f"),
        left=(),
    )  # fmt: skip
    largest = max(maps, key=lambda one: one["times"])
    parts = ", ".join(
        f"{name} {size / largest['observations']:.1f}" for name, size in largest["bytes"].items()
    )
    notes = [
        f"{' + '.join(head['data'])}, queries {head['hold_out']}. The map grows by photographs "
        "with their own descriptors and positions; depths are borrowed from the scenes, and where "
        "photographs do not suffice they come again mirrored.",
        f"found: within {head['within']} of the truth, Wilson's interval; wrong: a pose "
        f"that is not within {WRONG_BEYOND}. CPU s: median of localizing, after protection; "
        "most: the slowest.",
        f"bytes per observation that queries by words read, largest map: {parts}. Descriptors (128 "
        "bytes) are not among them.",
        f"1 of {head['words']:,} words; ε is per descriptor, positions and their number are not "
        "protected. Releases are reproducible (seeded), not for sending.",
        f"outcomes: {path}",
    ]
    return Report([table, "", *notes], {**head, "rows": found, "maps": maps})


command = make_command(
    Settings, run_growth, report, "experiment-growth", writes="Folder for maps and outcomes."
)
