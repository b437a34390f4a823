"""The demonstration: photographs of a room are protected, localized, and counted.

Device and server meet in this file, and only bytes pass between them. Every release is drawn
with secure randomness, as a real one is, so figures vary a little between runs.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence

from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import RandomSource, SecureRandom
from sfumato.core.releases import KeypointRelease, Release, WordRelease
from sfumato.core.types import Features, Localization
from sfumato.datasets import Scene, View, map_scene
from sfumato.device.mechanisms import Plain, SubsetMechanism
from sfumato.device.mechanisms.base import Mechanism
from sfumato.device.protect import Pipeline, select, send
from sfumato.dictionary import Dictionary
from sfumato.pages.demo_result import (
    OURS,
    PAPER,
    RAW,
    WORKS,
    Answer,
    DemoResult,
    DemoSettings,
    Example,
    Row,
)
from sfumato.server.ldp_feat_recipe import paper_localize
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map

Server = Callable[[KeypointRelease, Map], Localization]


def run_demo(
    scene: Scene,
    settings: DemoSettings | None = None,
    *,
    rng: RandomSource | None = None,
    progress: Progress = silent,
) -> DemoResult:
    """Map the scene, protect its queries at every ε per descriptor, localize them, compare."""
    settings = settings or DemoSettings()
    if not scene.queries:
        raise InvalidInput("a demonstration needs at least one query, got none.")
    source = SecureRandom() if rng is None else rng
    dictionary = Dictionary.load(settings.dictionary)
    world = map_scene(scene, max_turn_deg=settings.max_turn_deg, progress=progress)
    pipeline = Pipeline(Plain(), extractor=dictionary.extractor)
    features = [select(view.image, pipeline, rng=source) for view in scene.queries]
    total = len(scene.queries) * (1 + 2 * len(settings.epsilons))
    num_done = itertools.count(1)

    def ask(server: Server, sent: list[bytes]) -> tuple[Answer, ...]:
        answers = []
        for data, view in zip(sent, scene.queries, strict=True):
            answers.append(_answer(server, data, view, world, settings))
            progress("localizing", next(num_done), total)
        return tuple(answers)

    rows = [Row(RAW, None, None, ask(localize, _sent(scene.queries, features, Plain(), source)))]
    sent_at: dict[float, list[bytes]] = {}
    for epsilon in settings.epsilons:
        level = dictionary.at_epsilon(epsilon, settings.subset_size)
        world.word_index(level)
        mechanism = SubsetMechanism(epsilon, settings.subset_size, level)
        sent = _sent(scene.queries, features, mechanism, source)
        # The same bytes for both: servers are compared, not draws.
        for method, server in ((OURS, localize), (PAPER, by_the_paper)):
            answers = ask(server, sent)
            kept = mechanism.keep_probability
            rows.append(Row(method, epsilon, kept, answers, level.num_words))
        sent_at[epsilon] = sent

    shown = _most_private_that_works([row for row in rows if row.method == OURS])
    paper = next(row for row in rows if row.method == PAPER and row.epsilon == shown.epsilon)
    examples = tuple(
        Example(
            scene.queries[number],
            features[number],
            _received(sent_at[shown.epsilon or math.inf][number]),
            shown.answers[number],
            paper.answers[number],
        )
        for number in _worth_showing(scene.queries, settings.num_examples)
    )
    level = dictionary.at(shown.num_words or dictionary.num_words)
    return DemoResult(settings, world, level, tuple(rows), shown, examples)


def by_the_paper(release: KeypointRelease, world: Map) -> Localization:
    """The published recipe over all images of the map."""
    if not isinstance(release, WordRelease):
        raise InvalidInput(f"the paper's recipe matches words, got a release of {release.kind}.")
    return paper_localize(release, world)


def _answer(server: Server, data: bytes, view: View, world: Map, settings: DemoSettings) -> Answer:
    """Hand bytes to a server, and compare its pose with the truth."""
    start = time.perf_counter()
    release = Release.from_bytes(data)
    if not isinstance(release, KeypointRelease):
        raise InvalidInput(f"a release of {release.kind} cannot be localized.")
    localization = server(release, world)
    seconds = time.perf_counter() - start
    error_cm = error_deg = None
    is_right = False
    if localization.pose is not None:
        metres, error_deg = localization.pose.error_to(view.pose)
        error_cm = 100 * metres
        is_right = error_cm <= settings.max_cm and error_deg <= settings.max_deg
    return Answer(len(release), len(data), seconds, localization, error_cm, error_deg, is_right)


def _sent(
    queries: Sequence[View],
    features: Sequence[Features],
    mechanism: Mechanism,
    source: RandomSource,
) -> list[bytes]:
    """What leaves the device for every query."""
    return [
        send(described, mechanism, rng=source, camera=view.camera).to_bytes()
        for view, described in zip(queries, features, strict=True)
    ]


def _received(data: bytes) -> WordRelease:
    release = Release.from_bytes(data)
    if not isinstance(release, WordRelease):
        raise InvalidInput(f"examples are releases of words, got {release.kind}.")
    return release


def _most_private_that_works(rows: Sequence[Row]) -> Row:
    """The last row that finds nearly all queries; where none does, the one that finds most."""
    working = [row for row in rows if row.share_right >= WORKS]
    return working[-1] if working else max(rows, key=lambda row: row.share_right)


def _worth_showing(queries: Sequence[View], count: int) -> list[int]:
    """The first queries with the visitor in them, then others, if there are too few."""
    ranked = sorted(range(len(queries)), key=lambda number: queries[number].person_box is None)
    return ranked[:count]
