"""A device and a server rehearse: an image of the map is asked about in the map without it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.accounting import PrivateAnswer
from sfumato.core.errors import Mismatch
from sfumato.core.randomness import RandomSource, SecureRandom, SeededRandom
from sfumato.core.types import Features
from sfumato.device.filters.keep import keep_filter
from sfumato.device.filters.stable import KeepStable
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.device.objects import CapDensity, most_in_window
from sfumato.dictionary import Dictionary
from sfumato.execution import Execution, Shared, current
from sfumato.features import extract
from sfumato.features.extractors import Extractor
from sfumato.privacy.price import Price, price_of
from sfumato.privacy.stretches import Surroundings, ViewChange
from sfumato.server.localize import LocalizeOptions, localize
from sfumato.server.mapping.held_out import HeldOut
from sfumato.server.mapping.map import Map

_MOST_KEPT = 1 << 25  # features of all maps without a stretch that are kept in memory


@dataclass(frozen=True, order=True)
class Setting:
    """What devices do, besides ε.

    dictionary     its number among those given
    max_keypoints  no picture sends more, so the price holds for every one
    object_limit   at most so many descriptors see any object; None for no limit
    """

    dictionary: int
    num_words: int
    subset_size: int
    max_keypoints: int
    keep_by: str = "strength"
    object_limit: int | None = None


@dataclass(frozen=True)
class Trial:
    """One image, one draw. evidence: how many powers of ten a pose is from chance."""

    image: int
    is_localized: bool
    evidence: float
    num_keypoints: int
    num_bytes: int
    seconds: float


@dataclass(frozen=True)
class Question:
    """Whose queries are meant, and when one is localized.

    hidden        share of the keypoints that suppression takes, as one box
    degrees       by how much queries differ from the nearest view of the map; None: as images do
                  when their stretch is left out
    object_size   width and height in pixels of the object a price is about
    seen_by       how many descriptors see it, where that is known
    max_distance  in the map's unit
    """

    hidden: float = 0.0
    degrees: float | None = None
    object_size: tuple[float, float] | None = None
    seen_by: int | None = None
    max_distance: float = 0.25
    max_angle_deg: float = 2.0
    options: LocalizeOptions | None = None


@dataclass(eq=False)
class Rehearsal:
    """Tries settings on images of a map, each with its surroundings left out.

    photos  the pictures of the map's images by name: where keypoints are kept by stability, or
            counted by the objects they see; a map does not keep how large its keypoints are
    extractor  what described these pictures, where that is not known by the map's name for it
    """

    world: Map
    dictionaries: Sequence[Dictionary]
    question: Question
    num_images: int
    rng: RandomSource
    photos: Mapping[str, NDArray[np.uint8]] | None = None
    extractor: str | Extractor | None = None
    _maps: dict[tuple[int, ...], Map] = field(default_factory=dict)
    _words: dict[tuple[int, int, int], NDArray[np.uint32]] = field(default_factory=dict)
    _features: dict[int, Features] = field(default_factory=dict)
    _seen: dict[tuple[int, str], int] = field(default_factory=dict)
    _shared: tuple[Execution, Shared[Rehearsal]] | None = None

    @cached_property
    def around(self) -> Surroundings:
        return Surroundings(self.world)

    @cached_property
    def images(self) -> list[int]:
        """Images to ask about: the first few lie in different stretches."""
        return self.around.spread(self.num_images)

    @cached_property
    def _held_out(self) -> HeldOut:
        return HeldOut(self.world, self.dictionaries)

    @cached_property
    def most_keypoints(self) -> int:
        """Of any image that is asked about."""
        return max(int(np.diff(self.world.feature_start)[image]) for image in self.images)

    def view_changes(self) -> list[ViewChange]:
        """How each image differs from the nearest view that stays in the map."""
        return [
            self.around.nearest(self.world.pose(image), self._left_out(image))
            for image in self.images
        ]

    def _left_out(self, image: int) -> NDArray[np.int64]:
        return self.around.left_out(image, self.question.degrees)

    def price(self, setting: Setting, epsilon: float) -> Price:
        """What the picture pays that sends as much as the setting allows."""
        answer = PrivateAnswer(epsilon, setting.num_words, setting.subset_size)
        return price_of(answer, setting.max_keypoints, self._seen_by(setting))

    def _seen_by(self, setting: Setting) -> int | None:
        """How many see the object: what is given, promised by a limit, or the most of any image."""
        question = self.question
        if question.seen_by is not None or question.object_size is None:
            return question.seen_by
        if setting.object_limit is not None:
            return setting.object_limit
        key = setting.max_keypoints, setting.keep_by
        if key not in self._seen:
            self._seen[key] = max(
                most_in_window(self._sent(setting, image, self.rng), question.object_size)
                for image in self.images
            )
        return self._seen[key]

    def run_all(self, wanted: Iterable[tuple[Setting, float, int]]) -> Iterator[Trial]:
        """One trial of each setting with its ε and image; on many workers where there are some.

        Every trial draws from a source of its own, which the present one chooses: the trials are
        the same on any number of workers.
        """
        drawn = (
            (*one, None if isinstance(self.rng, SecureRandom) else self.rng.below(1 << 31, 2))
            for one in wanted
        )
        execution = current()
        if self._shared is None or self._shared[0] is not execution:
            self._shared = execution, execution.share(self)
        return execution.map(_try, drawn, self._shared[1], threads=1)

    def __getstate__(self) -> dict[str, Any]:
        """What a worker needs: what was computed on the way it computes again."""
        known = {item.name: getattr(self, item.name) for item in fields(self)}
        found: dict[str, Any] = {name: {} for name in known if name.startswith("_")}
        return known | found | {"rng": None, "_shared": None}

    def run(
        self, setting: Setting, epsilon: float, image: int, *, rng: RandomSource | None = None
    ) -> Trial:
        """Protect the image as a device would, and localize it as a server would."""
        rng = rng or self.rng
        level = self._level(setting)
        mechanism = SubsetMechanism(epsilon, setting.subset_size, level)
        sent = self._sent(setting, image, rng)
        words = self._true_words(setting, image)[_rows(sent, self.features(image))]
        camera = self.world.camera(image)
        release = mechanism.release_words(sent, words, rng=rng, camera=camera)
        world = self._map_without(image)
        start = time.perf_counter()
        answer = localize(release, world, dictionary=level, options=self.question.options)
        seconds = time.perf_counter() - start
        good = False
        if answer.pose is not None:
            distance, degrees = answer.pose.error_to(self.world.pose(image))
            good = distance <= self.question.max_distance
            good &= degrees <= self.question.max_angle_deg
        size = len(release.to_bytes())
        return Trial(image, bool(good), -answer.log10_chance, len(release), size, seconds)

    def _level(self, setting: Setting) -> Dictionary:
        return self.dictionaries[setting.dictionary].at(setting.num_words)

    def _map_without(self, image: int) -> Map:
        out = tuple(self._left_out(image).tolist())
        if out not in self._maps:
            if (len(self._maps) + 1) * len(self.world.keypoints) > _MOST_KEPT:
                self._maps.clear()
            self._maps[out] = self._held_out.without(out)
        return self._maps[out]

    def _true_words(self, setting: Setting, image: int) -> NDArray[np.uint32]:
        """The true word of each of the image's features: searched for once."""
        key = setting.dictionary, setting.num_words, image
        if key not in self._words:
            self._words[key] = self._level(setting).nearest(self.features(image).descriptors)
        return self._words[key]

    def _sent(self, setting: Setting, image: int, rng: RandomSource) -> Features:
        """The features that leave the device."""
        features = without_box(self.features(image), self.question.hidden, rng=rng)
        size = self.question.object_size
        if setting.object_limit is not None and size is not None:
            features = CapDensity(setting.object_limit, size)(features)
        keep = keep_filter(setting.max_keypoints, setting.keep_by, self.extractor)
        if isinstance(keep, KeepStable):
            return keep.look(features, self._photo(image), rng=rng)
        return keep(features, rng=rng)

    def features(self, image: int) -> Features:
        """The features of an image; with their sizes where its photograph is given."""
        if image not in self._features:
            own = image_features(self.world, image)
            if self.photos is not None:
                found = extract(self._photo(image), self.extractor or self.world.extractor)
                own = _with_sizes(own, found, self.world.image_names[image])
            self._features[image] = own
        return self._features[image]

    def _photo(self, image: int) -> NDArray[np.uint8]:
        assert self.photos is not None  # `plan` refuses what needs them without them
        return self.photos[self.world.image_names[image]]


def _try(
    rehearsal: Rehearsal, trial: tuple[Setting, float, int, NDArray[np.uint32] | None]
) -> Trial:
    setting, epsilon, image, seed = trial
    rng = SecureRandom() if seed is None else SeededRandom(int(seed[0]) << 31 | int(seed[1]))
    return rehearsal.run(setting, epsilon, image, rng=rng)


def image_features(world: Map, image: int) -> Features:
    """The features of an image of the map, strongest first as they were extracted.

    A map does not keep how strong they were; their rank stands for it.
    """
    rows = world.features_of(image)
    count = rows.stop - rows.start
    camera = world.camera(image)
    return Features(
        keypoints=np.asarray(world.keypoints[rows]),
        descriptors=np.asarray(world.descriptors[rows]),
        scores=np.arange(count, 0, -1, dtype=np.float32),
        scales=np.zeros(count, dtype=np.float32),
        angles=np.full(count, -1, dtype=np.float32),
        image_size=(camera.width, camera.height),
        extractor=world.extractor,
    )


def _rows(some: Features, every: Features) -> NDArray[np.int64]:
    """Where these features stand among all: ranks are their scores."""
    return len(every) - np.asarray(some.scores, dtype=np.int64)


def _with_sizes(features: Features, found: Features, name: str) -> Features:
    if len(found) < len(features) or not np.array_equal(
        found.keypoints[: len(features)], features.keypoints
    ):
        raise Mismatch(
            f"the photograph {name} has other keypoints than the map; give the photographs that "
            "the map was made of."
        )
    return replace(features, scales=found.scales[: len(features)])


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
