"""Picture → Release, on one page."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch, NotPrivate
from sfumato.core.randomness import RandomSource, SecureRandom, check_source
from sfumato.core.releases import Release, VectorRelease, WordRelease
from sfumato.core.storage import NewFile
from sfumato.core.types import Camera, Features, PrivacyEvent
from sfumato.core.wire import largest_size
from sfumato.device.ledger import Ledger
from sfumato.device.mechanisms.base import Mechanism
from sfumato.features import Extractor, check_image, extract, load_image
from sfumato.features.extractors import extractor_name
from sfumato.features.image import MAX_SIFT_PIXELS


class Filter(Protocol):
    """Features → Features, with randomness for those that need it.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> def right_half(features, *, rng):
    ...     return features.take(np.flatnonzero(features.keypoints[:, 0] > 32))
    >>> len(sf.protect(picture, sf.Pipeline(sf.Plain(), filters=(right_half,))))
    4
    """

    def __call__(self, features: Features, *, rng: RandomSource) -> Features: ...


@runtime_checkable
class PictureFilter(Protocol):
    """Features → Features, after a look at the picture itself; it raises where it cannot see."""

    def look(
        self, features: Features, picture: NDArray[np.uint8], *, rng: RandomSource
    ) -> Features: ...


@dataclass(frozen=True)
class Pipeline:
    """What a device does with every picture before anything leaves.

    mechanism  one of sfumato's, or your own
    extractor  a name, or your own
    filters    what to leave out first, in this order

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> pipeline = sf.Pipeline(sf.Plain(), filters=(sf.KeepStrongest(5),))
    >>> len(sf.protect(picture, pipeline))
    5
    """

    mechanism: Mechanism
    extractor: str | Extractor = "sift"
    filters: tuple[Filter | PictureFilter, ...] = ()
    max_keypoints: int | None = None

    @property
    def extractor_name(self) -> str:
        """What the features of this pipeline are called."""
        return extractor_name(self.extractor)

    def __post_init__(self) -> None:
        if isinstance(self.mechanism, type) or not isinstance(self.mechanism, Mechanism):
            given = self.mechanism if isinstance(self.mechanism, type) else type(self.mechanism)
            raise InvalidInput(
                "a mechanism must be an object with event(features) and release(features, *, rng, "
                f"camera), got {'the class ' if given is self.mechanism else ''}{given.__name__}."
            )


def protect(
    image: NDArray[Any] | str | os.PathLike[str],
    pipeline: Pipeline,
    *,
    rng: RandomSource | None = None,
    ledger: Ledger | None = None,
    camera: Camera | None = None,
) -> Release:
    """Extract, filter, charge, release: what a device does with one picture.

    ledger  charged before anything is drawn. None: nothing is counted; a library writes to no
            folder that it was not told about. `Ledger.default()` is the person's own ledger.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> mechanism = sf.SubsetMechanism(8, 2, sf.Dictionary.load("bsds-16k"))
    >>> sf.protect(picture, sf.Pipeline(mechanism), ledger=sf.Ledger("ledger.db"))
    WordRelease(16 keypoints × 2 of 16384 words, ε = 8 per descriptor)
    """
    source = check_source(SecureRandom() if rng is None else rng)
    features = select(image, pipeline, rng=source)
    return send(features, pipeline.mechanism, rng=source, ledger=ledger, camera=camera)


def select(
    image: NDArray[Any] | str | os.PathLike[str], pipeline: Pipeline, *, rng: RandomSource
) -> Features:
    """The features of a picture that may be released; they are still on the device."""
    if isinstance(image, str | os.PathLike):
        picture = load_image(image, max_pixels=MAX_SIFT_PIXELS)
    else:
        picture = check_image(image)
    features = extract(picture, pipeline.extractor, max_keypoints=pipeline.max_keypoints)
    return _filtered(features, picture, pipeline, rng)


def select_features(features: Features, pipeline: Pipeline, *, rng: RandomSource) -> Features:
    """The same for features that were found before, strongest first; the picture is not here."""
    if features.extractor != pipeline.extractor_name:
        raise Mismatch(
            f"the features are of {features.extractor!r}, {pipeline.extractor_name!r} is sent; "
            "name the same extractor on both sides."
        )
    if pipeline.max_keypoints is not None:
        features = features.take(np.arange(min(pipeline.max_keypoints, len(features))))
    return _filtered(features, None, pipeline, rng)


def _filtered(
    features: Features, picture: NDArray[np.uint8] | None, pipeline: Pipeline, rng: RandomSource
) -> Features:
    for keep in pipeline.filters:
        if not isinstance(keep, PictureFilter):
            features = keep(features, rng=rng)
        elif picture is not None:
            features = keep.look(features, picture, rng=rng)
        else:
            raise InvalidInput(
                f"{type(keep).__name__} must see the picture, and only its features are here; "
                "leave it out, or give the photograph."
            )
    return features


def release_size(features: Features, mechanism: Mechanism) -> int:
    """Bytes that the release of these features has at most, known before it is drawn."""
    rows, width = features.descriptors.shape
    subset_size: int = getattr(mechanism, "subset_size", 0)
    dimension: int = getattr(mechanism, "dimension", 0)
    dictionary = getattr(mechanism, "dictionary", None)
    if cap_bits := getattr(mechanism, "cap_bits", 0):
        return largest_size("vectors", rows, dimension, cap_bits)
    if subset_size and dictionary is not None:
        return largest_size("words", rows, dictionary.num_words, subset_size)
    if subset_size:
        return largest_size("candidates", rows, max(dimension, width), subset_size)
    return largest_size("subspaces", rows, width, dimension)  # with m = 0: as large as plain ones


def keep_release(file: NewFile, data: bytes, *, name: str | None = None) -> Path:
    """Write a release that was charged into the file that waits for it."""
    try:
        return file.finish(data, name=name)
    except InvalidInput as error:
        raise InvalidInput(f"{error} The release was charged before, and is lost.") from None


def send(
    features: Features,
    mechanism: Mechanism,
    *,
    rng: RandomSource,
    ledger: Ledger | None = None,
    camera: Camera | None = None,
) -> Release:
    """Charge, then release. Nothing is drawn before the ledger agreed."""
    _check_real(rng, ledger)
    event = event_of(features, mechanism)
    if ledger is not None:
        ledger.charge(event)
    return _released(features, mechanism, event, rng, camera)


def send_all(
    pictures: Sequence[tuple[Features, Camera | None]],
    mechanism: Mechanism,
    *,
    rng: RandomSource,
    ledger: Ledger | None = None,
) -> Iterator[Release]:
    """Charge several pictures in one transaction, all or none, then release one after the other.

    Nothing is charged before the first is asked for, and all are charged when it comes.
    """
    _check_real(rng, ledger)
    events = [event_of(features, mechanism) for features, _ in pictures]
    if ledger is not None and events:
        ledger.charge_all(events)
    for (features, camera), event in zip(pictures, events, strict=True):
        yield _released(features, mechanism, event, rng, camera)


def send_together(
    features: Features,
    mechanisms: Sequence[Mechanism],
    *,
    rng: RandomSource,
    ledger: Ledger | None = None,
    camera: Camera | None = None,
) -> list[Release]:
    """Several releases of one picture, charged in one transaction before any of them is drawn."""
    _check_real(rng, ledger)
    events = [event_of(features, mechanism) for mechanism in mechanisms]
    if ledger is not None:
        ledger.charge_picture(events)
    pairs = zip(mechanisms, events, strict=True)
    return [_released(features, one, event, rng, camera) for one, event in pairs]


def event_of(features: Features, mechanism: Mechanism) -> PrivacyEvent:
    """What a release of these features will cost, announced by its mechanism."""
    event = mechanism.event(features)
    if not isinstance(event, PrivacyEvent):
        raise InvalidInput(
            f"event of a mechanism must give a PrivacyEvent, got {type(event).__name__}."
        )
    return event


def _check_real(rng: RandomSource, ledger: Ledger | None) -> None:
    if ledger is not None and rng.reproducible:
        raise NotPrivate(
            "a release that is charged to a ledger is a real one and must not be made with a "
            "seeded generator; leave rng out, or leave the ledger out in an experiment."
        )


def _released(
    features: Features,
    mechanism: Mechanism,
    event: PrivacyEvent,
    rng: RandomSource,
    camera: Camera | None,
) -> Release:
    """Draw what was charged; refuse what is not what was announced."""
    release = mechanism.release(features, rng=rng, camera=camera)
    if not isinstance(release, Release):
        raise InvalidInput(
            f"release of a mechanism must give a Release, got {type(release).__name__}."
        )
    if isinstance(release, WordRelease) and event.num_values is not None:
        sent = (release.num_words, release.subset_size)
        if sent != (event.num_values, event.subset_size):
            raise NotPrivate(
                f"the {event.mechanism} mechanism announced {event.subset_size} of "
                f"{event.num_values:,} words and released {sent[1]} of {sent[0]:,}; both must be "
                "the same."
            )
    if isinstance(release, VectorRelease) and event.num_values != 1 << release.cap_bits:
        raise NotPrivate(
            f"the {event.mechanism} mechanism announced {event.num_values or 'unknown'} caps and "
            f"released with 2^{release.cap_bits}; both must be the same."
        )
    epsilon = getattr(release, "epsilon", event.epsilon)
    if epsilon != event.epsilon and (epsilon, event.epsilon) != (math.inf, None):
        raise NotPrivate(
            f"the {event.mechanism} mechanism announced epsilon={event.epsilon} and released with "
            f"epsilon={epsilon}; both must be the same."
        )
    return release
