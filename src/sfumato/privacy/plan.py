"""Which |K|, ω, ε and keypoints localize a wanted share at the least price: tried on the map.

Images of the map are asked about with their surroundings left out (`stretches.py`), protected as a
device would and localized as a server would (`rehearsal.py`). Settings race (`race.py`), and the
winner is tried once more with fresh draws: that share is the prediction.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number, check_count, check_epsilon, check_same_extractor
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import RandomSource, SecureRandom
from sfumato.dictionary import Dictionary
from sfumato.features.extractors import Extractor, extractor_name
from sfumato.privacy.interval import clustered_wilson
from sfumato.privacy.plan_grid import Grid, check_photos, settings_of
from sfumato.privacy.price import Price, check_limit, check_unit
from sfumato.privacy.race import EPSILONS, Point, Race, settle
from sfumato.privacy.rehearsal import Question, Rehearsal, Setting, Trial
from sfumato.privacy.stretches import ViewChange
from sfumato.server.mapping.map import Map

#: The share that is wanted where neither a share nor a limit is given.
SHARE = 0.9
_CONFIRMING = 20  # images that decide on the last steps of ε
_SHOWN = 8  # settings besides the recommended one


@dataclass(frozen=True)
class Choice:
    """One setting with its ε, what it costs, and what it gave.

    price     of a picture that sends as many keypoints as the setting allows
    interval  95 %, of images like those that were tried
    is_fresh  tried again after it was chosen; the share of others is that of lucky draws
    """

    setting: Setting
    epsilon: float
    price: Price
    localized: int
    trials: int
    interval: tuple[float, float]
    bytes_per_picture: float
    seconds: float  # median on this machine, server's side
    is_fresh: bool = False

    @property
    def share(self) -> float:
        return self.localized / self.trials


@dataclass(frozen=True)
class Plan:
    """The recommended setting, others that were tried, and for which queries it is meant.

    unit           of the price: total (N·ε), picture (E at δ = 1e-6) or object (advantage)
    share, at_most what was asked for
    view_changes   of the images that were asked about, to the nearest view left in the map
    """

    unit: str
    share: float | None
    at_most: float | None
    recommended: Choice
    others: tuple[Choice, ...]
    view_changes: tuple[ViewChange, ...]
    question: Question
    num_trials: int
    seconds: float

    @property
    def reaches(self) -> bool:
        """Whether the recommended setting gave the share that is wanted."""
        return self.share is None or self.recommended.share >= self.share


def plan(
    world: Map,
    dictionary: Dictionary | Sequence[Dictionary],
    *,
    share: float | None = None,
    at_most: float | None = None,
    unit: str = "picture",
    epsilon: float | None = None,
    epsilons: tuple[float, float] = EPSILONS,
    keep: int | None = None,
    photos: Mapping[str, NDArray[np.uint8]] | None = None,
    extractor: str | Extractor | None = None,
    num_trials: int = 80,
    grid: Grid | None = None,
    question: Question | None = None,
    rng: RandomSource | None = None,
    progress: Progress = silent,
) -> Plan:
    """The cheapest setting that localizes a wanted share; or the best within a limit on the price.

    dictionary  one or several; all their levels may be tried
    share       wanted, above 0 and at most 1; .9 where neither it nor a limit is given
    at_most     limit on the price. With a share too: the cheapest within the limit
    unit        of the price: "picture" (E at δ = 1e-6), "total" (N·ε) or "object" (advantage)
    epsilon     per descriptor, where it is given; otherwise searched for between `epsilons`
    keep        devices send this many keypoints and no other number is tried
    photos      the map's pictures by name, for objects and for keypoints kept by stability
    extractor   what described them, where that is your own or a network
    num_trials  that the prediction is made with: different images as far as there are any

    >>> from sfumato.privacy.plan_grid import Grid
    >>> from sfumato.datasets import GallerySettings, load_gallery, map_scene
    >>> room = load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=2))
    >>> grid = Grid(keypoints=(0,), subset_sizes=(1,), smallest=16_384)
    >>> words = sf.Dictionary.load("bsds-16k")
    >>> made = sf.plan(map_scene(room), words, epsilon=12.0, num_trials=4, grid=grid)
    >>> made.recommended.setting.num_words, made.recommended.trials
    (16384, 4)
    """
    start = time.monotonic()
    question, grid = question or Question(), grid or Grid()
    dictionaries = [dictionary] if isinstance(dictionary, Dictionary) else list(dictionary)
    if share is None and at_most is None:
        share = SHARE
    _check(world, dictionaries, share, at_most, unit, epsilon, keep, question)
    check_photos(grid, question, photos)
    if extractor is not None:
        name = extractor_name(extractor)
        check_same_extractor("the map", world.extractor, "the extractor of its photographs", name)
    check_count("num_trials", num_trials, low=1)
    if not 0 < epsilons[0] <= epsilons[1]:
        raise InvalidInput(f"epsilons must be the least and the most, got {epsilons!r}.")
    rehearsal = Rehearsal(
        world,
        dictionaries,
        question,
        num_trials,
        rng or SecureRandom(),
        photos=photos,
        extractor=extractor,
    )
    settings = list(settings_of(grid, rehearsal, keep))
    race = Race(rehearsal, settings, unit, epsilon, epsilons, progress)
    if at_most is not None and not race.affordable(at_most):
        raise InvalidInput(
            f"no setting is as cheap as {at_most:g} per {unit}; allow more, or send fewer "
            "keypoints."
        )
    if share is None:
        best = race.best_within(at_most or 0)
    else:
        best, target = race.cheapest(share, at_most)
        if epsilon is None:
            best = _settled(race, best, target, at_most)
    judged = _judge(race, best, num_trials)
    others = _others(race, best)
    fresh = _choice(race, best, judged, is_fresh=True)
    spent = sum(len(trials) for trials in race.tried.values()) + len(judged)
    return Plan(
        unit=unit,
        share=share,
        at_most=at_most,
        recommended=fresh,
        others=others,
        view_changes=tuple(rehearsal.view_changes()),
        question=question,
        num_trials=spent,
        seconds=time.monotonic() - start,
    )


def interval_of(rehearsal: Rehearsal, trials: Sequence[Trial]) -> tuple[float, float]:
    """95 %, for images that lie in stretches of neighbours and were drawn several times."""
    groups: dict[int, list[bool]] = {}
    for trial in trials:
        stretch = int(rehearsal.around.stretch_of[trial.image])
        groups.setdefault(stretch, []).append(trial.is_localized)
    return clustered_wilson(list(groups.values()))


def _settled(race: Race, best: Point, share: float, at_most: float | None) -> Point:
    """The last steps of ε, by fresh draws."""
    images = race.rehearsal.images[:_CONFIRMING]
    rounds = 0

    def reaches(point: Point) -> bool:
        nonlocal rounds
        rounds += 1
        race.progress(f"settling on ε = {point[1]:g}", rounds - 1, rounds)
        trials = list(race.rehearsal.run_all((*point, image) for image in images))
        race.tried.setdefault(point, []).extend(trials)
        race.progress(f"settling on ε = {point[1]:g}", rounds, rounds)
        return sum(trial.is_localized for trial in trials) >= share * len(trials)

    def allowed(point: Point) -> bool:
        inside = race.epsilons[0] <= point[1] <= race.epsilons[1]
        return inside and (at_most is None or race.price(point) <= at_most)

    return settle(best, reaches, allowed)


def _judge(race: Race, point: Point, num_trials: int) -> list[Trial]:
    images = race.rehearsal.images
    race.progress("trying the best again", 0, num_trials)
    trials = []
    wanted = ((*point, images[done % len(images)]) for done in range(num_trials))
    for trial in race.rehearsal.run_all(wanted):
        trials.append(trial)
        race.progress("trying the best again", len(trials), num_trials)
    return trials


def _choice(race: Race, point: Point, trials: Sequence[Trial], *, is_fresh: bool = False) -> Choice:
    return Choice(
        setting=point[0],
        epsilon=point[1],
        price=race.rehearsal.price(*point),
        localized=sum(trial.is_localized for trial in trials),
        trials=len(trials),
        interval=interval_of(race.rehearsal, trials),
        bytes_per_picture=float(np.mean([trial.num_bytes for trial in trials])),
        seconds=float(np.median([trial.seconds for trial in trials])),
        is_fresh=is_fresh,
    )


def _others(race: Race, best: Point) -> tuple[Choice, ...]:
    """Of every other setting that was tried most: the ε that came nearest to the best's price."""
    most = max(len(trials) for trials in race.tried.values())
    near: dict[Setting, Point] = {}
    wanted = race.price(best)
    for point, trials in race.tried.items():
        if point[0] != best[0] and len(trials) >= min(most, 10):
            known = near.get(point[0])
            away = abs(race.price(point) - wanted)
            if known is None or away < abs(race.price(known) - wanted):
                near[point[0]] = point
    found = [_choice(race, point, race.tried[point]) for point in near.values()]
    found.sort(key=lambda one: (-one.share, one.price.in_unit(race.unit)))
    return tuple(found[:_SHOWN])


def _check(
    world: Map,
    dictionaries: Sequence[Dictionary],
    share: float | None,
    at_most: float | None,
    unit: str,
    epsilon: float | None,
    keep: int | None,
    question: Question,
) -> None:
    if not dictionaries:
        raise InvalidInput("a plan needs at least one dictionary.")
    for one in dictionaries:
        check_same_extractor("the map", world.extractor, "the dictionary", one.extractor)
    if share is not None and not 0 < as_number("share", share) <= 1:
        raise InvalidInput(f"share must be above 0 and at most 1, got {share!r}.")
    if at_most is not None:
        check_limit(unit, at_most)
    if check_unit(unit) == "object" and question.object_size is None and question.seen_by is None:
        raise InvalidInput(
            "a price per object needs the object: its size in pixels, or how many descriptors "
            "see it."
        )
    if epsilon is not None:
        check_epsilon(epsilon)
    if keep is not None:
        check_count("keep", keep, low=4, why="a pose needs 4 keypoints")
    if question.seen_by is not None:
        check_count("seen_by", question.seen_by, low=1)
    if not 0 <= as_number("hidden", question.hidden) < 1:
        raise InvalidInput(f"hidden must be a share from 0 to below 1, got {question.hidden!r}.")
    degrees = question.degrees
    if degrees is not None and not 0 <= as_number("degrees", degrees) <= 180:
        raise InvalidInput(f"degrees must be from 0 to 180, got {degrees!r}.")
    for name in ("max_distance", "max_angle_deg"):
        if not as_number(name, getattr(question, name)) > 0:
            raise InvalidInput(
                f"{name}, within which a trial succeeds, must be above 0, got "
                f"{getattr(question, name)!r}."
            )
