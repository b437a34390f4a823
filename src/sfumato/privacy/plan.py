"""Which |K|, ω and number of keypoints suit a map and an ε: tried on the map's own images.

Every trial takes an image of the map as if it were a query: its features are protected on the
device's side, localized on the server's, with the image itself left out of the map. What comes
out is a prediction for queries that look like the map's images; harder ones will do worse.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.core.checks import as_number, check_count, check_epsilon, check_same_extractor
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import RandomSource, SecureRandom
from sfumato.core.releases import WordRelease
from sfumato.core.types import Features
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.server.localize import LocalizeOptions, best_pose, match_release
from sfumato.server.mapping.map import Map
from sfumato.server.pose import PoseProblem
from sfumato.server.retrieval import retrieve_map_regions


@dataclass(frozen=True)
class Grid:
    """What is tried.

    keypoints     counts; 0 stands for all of an image's
    subset_sizes  ω
    level_step    1 tries all levels of a dictionary, 2 every second one, the largest always
    """

    keypoints: tuple[int, ...] = (0, 2000, 1000, 500)
    subset_sizes: tuple[int, ...] = (1, 2)
    level_step: int = 1


@dataclass(frozen=True)
class Choice:
    """One setting and what it gave."""

    num_words: int
    subset_size: int
    max_keypoints: int | None
    localized: int
    trials: int
    picture_epsilon: float  # mean over the images tried
    bytes_per_picture: float
    seconds: float  # median on this machine, server's side

    @property
    def share(self) -> float:
        return self.localized / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share."""
        n, p, z = self.trials, self.share, 1.96
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(middle - half, 0.0), min(middle + half, 1.0)


@dataclass(frozen=True)
class Plan:
    """All settings tried, best first. ε holds per descriptor; pictures compose to N·ε.

    hidden  the share of every picture's keypoints that was taken away as suppression would
    """

    epsilon: float
    picture_epsilon: float | None
    choices: tuple[Choice, ...]
    hidden: float = 0.0

    @property
    def recommended(self) -> Choice:
        return self.choices[0]


def plan(
    world: Map,
    dictionary: Dictionary,
    *,
    epsilon: float,
    picture_epsilon: float | None = None,
    keep: int | None = None,
    hidden: float = 0.0,
    num_images: int = 10,
    grid: Grid | None = None,
    max_distance: float = 0.25,
    max_angle_deg: float = 2.0,
    options: LocalizeOptions | None = None,
    progress: Progress = silent,
) -> Plan:
    """Try the dictionary's levels, subset sizes and keypoint counts on images of the map.

    picture_epsilon  the most a whole picture may spend: limits keypoints to B/ε
    keep             devices send this many keypoints and no other number is tried
    hidden           share of the keypoints that suppression is expected to take, as one box
    max_distance     a trial succeeds within this distance, in the map's unit, and max_angle_deg

    >>> from sfumato.privacy.plan import Grid
    >>> from sfumato.datasets import GallerySettings, load_gallery, map_scene
    >>> room = load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=2))
    >>> world = map_scene(room)
    >>> grid = Grid(keypoints=(0,), subset_sizes=(2,), level_step=20)
    >>> words = sf.Dictionary.load("bsds-16k")
    >>> made = sf.plan(world, words, epsilon=12.0, num_images=2, grid=grid)
    >>> len(made.choices)
    1
    """
    check_epsilon(epsilon)
    check_same_extractor("the map", world.extractor, "the dictionary", dictionary.extractor)
    if picture_epsilon is not None and not picture_epsilon >= 4 * epsilon:
        raise InvalidInput(
            f"a pose needs at least 4 keypoints, {4 * epsilon:g} at this epsilon; picture_epsilon "
            f"is {picture_epsilon!r}."
        )
    if keep is not None:
        check_count("keep", keep, low=4, why="a pose needs 4 keypoints")
        if picture_epsilon is not None and keep * epsilon > picture_epsilon:
            raise InvalidInput(
                f"{keep} keypoints spend {keep * epsilon:g} at this epsilon, picture_epsilon is "
                f"{picture_epsilon:g}; keep at most {math.floor(picture_epsilon / epsilon)}."
            )
    if not 0 <= as_number("hidden", hidden) < 1:
        raise InvalidInput(f"hidden must be a share from 0 to below 1, got {hidden!r}.")
    check_count("num_images", num_images, low=1)
    images = _spread_images(world, num_images)
    settings = list(_settings(grid or Grid(), dictionary, epsilon, picture_epsilon, keep))
    choices = []
    for done, (level, size, most) in enumerate(settings):
        progress("planning", done, len(settings))
        mechanism = SubsetMechanism(epsilon, size, level)
        trials = [
            _try(world, image, mechanism, most, hidden, max_distance, max_angle_deg, options)
            for image in images
        ]
        choices.append(
            Choice(
                num_words=level.num_words,
                subset_size=size,
                max_keypoints=most,
                localized=sum(trial.localized for trial in trials),
                trials=len(trials),
                picture_epsilon=float(np.mean([trial.num_keypoints for trial in trials])) * epsilon,
                bytes_per_picture=float(np.mean([trial.num_bytes for trial in trials])),
                seconds=float(np.median([trial.seconds for trial in trials])),
            )
        )
    progress("planning", len(settings), len(settings))
    # Most localized first; among equals the cheapest for privacy, then the quickest.
    choices.sort(key=lambda choice: (-choice.share, choice.picture_epsilon, choice.seconds))
    return Plan(epsilon, picture_epsilon, tuple(choices), hidden)


@dataclass(frozen=True)
class _Trial:
    localized: bool
    num_keypoints: int
    num_bytes: int
    seconds: float


def _settings(
    grid: Grid,
    dictionary: Dictionary,
    epsilon: float,
    picture_epsilon: float | None,
    keep: int | None,
) -> Iterator[tuple[Dictionary, int, int | None]]:
    limit = None if picture_epsilon is None else math.floor(picture_epsilon / epsilon)
    counts = {keep} if keep is not None else {count or None for count in grid.keypoints}
    if limit is not None and keep is None:
        counts = {limit, *(count for count in counts if count is not None and count < limit)}
    levels = sorted({*dictionary.levels, dictionary.num_words}, reverse=True)
    for num_words in reversed(levels[:: grid.level_step]):
        level = dictionary.at(num_words)
        for size in grid.subset_sizes:
            if size < num_words:
                for count in sorted(counts, key=lambda count: count or math.inf):
                    yield level, size, count


def _spread_images(world: Map, count: int) -> list[int]:
    """Images spread over the map that see enough to be asked about."""
    usable = np.flatnonzero(world.observations_per_image >= 20)
    if not len(usable):
        raise InvalidInput("no image of this map sees 20 points; there is nothing to plan with.")
    rows = np.unique(np.linspace(0, len(usable) - 1, min(count, len(usable))).round().astype(int))
    return [int(image) for image in usable[rows]]


def _try(
    world: Map,
    image: int,
    mechanism: SubsetMechanism,
    most: int | None,
    hidden: float,
    max_distance: float,
    max_angle_deg: float,
    options: LocalizeOptions | None,
) -> _Trial:
    options = options or LocalizeOptions()
    camera = world.camera(image)
    rng = SecureRandom()
    features = without_box(image_features(world, image), hidden, rng=rng)
    kept = features.take(np.arange(len(features) if most is None else min(most, len(features))))
    release = mechanism.release(kept, rng=rng, camera=camera)
    start = time.perf_counter()
    candidates = match_release(release, world, mechanism.dictionary)
    candidates = candidates.without(world.features_of(image))
    retrieval = retrieve_map_regions(release, candidates, world, options.retrieval)
    answer = best_pose(
        retrieval, PoseProblem(release.keypoints, world.points, camera, options.pose)
    )
    seconds = time.perf_counter() - start
    good = False
    if answer.pose is not None:
        distance, degrees = answer.pose.error_to(world.pose(image))
        good = distance <= max_distance and degrees <= max_angle_deg
    return _Trial(good, len(release), _size_of(release), seconds)


def without_box(features: Features, share: float, *, rng: RandomSource) -> Features:
    """The features outside a square around one of them that holds this share, rounded down.

    Suppression takes what lies together, which costs a pose more than losses here and there.
    """
    count = math.floor(share * len(features))
    if not count:
        return features
    middle = features.keypoints[rng.below(len(features), 1)]
    away = np.abs(features.keypoints - middle).max(axis=1)
    inside = np.argsort(away, kind="stable")[:count]
    return features.take(np.setdiff1d(np.arange(len(features)), inside))


def image_features(world: Map, image: int) -> Features:
    """The features of an image of the map, strongest first as they were extracted."""
    rows = world.features_of(image)
    count = rows.stop - rows.start
    camera = world.camera(image)
    return Features(
        keypoints=np.asarray(world.keypoints[rows]),
        descriptors=np.asarray(world.descriptors[rows]),
        scores=np.zeros(count, dtype=np.float32),
        scales=np.zeros(count, dtype=np.float32),
        angles=np.full(count, -1, dtype=np.float32),
        image_size=(camera.width, camera.height),
        extractor=world.extractor,
    )


def _size_of(release: WordRelease) -> int:
    return len(release.to_bytes())
