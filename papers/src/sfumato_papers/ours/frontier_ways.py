"""Ours: every way to send a picture that `sfumato experiment frontier` compares, and its options.

Private words are tried at the largest ε that each limit allows, so every limit has candidates
that use it up. Raw, quantised and lifted descriptors promise nothing and are there to compare.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.accounting import PrivateAnswer
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.randomness import RandomSource
from sfumato.core.types import Features
from sfumato.datasets.query_rule import QueryRule
from sfumato.detectors.base import Boxes
from sfumato.detectors.given import GivenBoxes
from sfumato.device.filters import KeepStrongest, Suppress
from sfumato.device.mechanisms import Plain, SubsetMechanism, SubspaceLifting
from sfumato.device.objects import CapDensity
from sfumato.dictionary import Dictionary
from sfumato.dictionary.levels import level_for
from sfumato.privacy.price import check_limit, largest_epsilon, price_of
from sfumato_papers.harness.options import EXTRACTOR, Checked, folders, option
from sfumato_papers.ldp_feat.localization_releases import own_mechanism
from sfumato_papers.ldp_feat.poses import Within

STRATEGY = "sub-hybrid"
#: An object is seen by this many descriptors, where nothing else is said.
SEEN_BY = 10
_MOST_EPSILON = 20.0
_MOST_WORDS = 16_384  # without a choice; more words take longer to count than they gain
#: The person who is hidden: height and width, in heights of the picture.
_PERSON = (0.75, 0.3)

Limit = tuple[str, float]


@dataclass(frozen=True)
class Settings(Checked):
    """Utility against leak, for every mechanism at many settings, and which setting to take.

    Queries are localized, matched with a picture of the map, and attacked. Outcomes are written
    as they are made; the same command goes on where it was stopped. Releases are reproducible,
    not for sending. LPIPS is measured where torch is installed.

    Example: sfumato experiment frontier --data strecha/Herz-Jesus-P25 strecha/fountain-P11
    """

    data: tuple[Path, ...] = folders(
        "A scene with cameras.json; repeat for more in one map.",
        "a file of outcomes",
        further="Further scenes.",
    )
    hold_out: QueryRule = option(
        QueryRule("step"),
        "The queries: step:4, blocks:10/3 (every third block of ten) and others.",
        parse=QueryRule.parse,
        shown="step:4",
    )
    within: Within = option(
        Within(0.25, 2.0), "Localized: as near as this.", parse=Within.parse, shown="0.25m/2°"
    )
    extractor: str = option("sift", EXTRACTOR)
    dictionary: str = option(DEFAULT_DICTIONARY, "A dictionary's folder or name.")
    words: tuple[int, ...] = option(
        (), "|K|: levels of the dictionary; without it 16,384, 4,096 and 1,024.",
        low=2,
    )  # fmt: skip
    subset_sizes: tuple[int, ...] = option(
        (1, 2), "ω, words per descriptor; others than the first with the largest |K| alone.",
        "--subset-size", low=1,
    )  # fmt: skip
    pictures: tuple[float, ...] = option(
        (500.0, 1000.0, 2000.0), "Limits on E of a picture at δ = 1e-6.", "--picture"
    )
    objects: tuple[float, ...] = option(
        (0.1, 0.25), f"Limits on the advantage for an object that {SEEN_BY} descriptors see.",
        "--object",
    )  # fmt: skip
    keep: tuple[int, ...] = option((1000, 300), "Also only the N strongest keypoints.", low=4)
    caps: tuple[int, ...] = option(
        (SEEN_BY,), "Also at most so many descriptors that see any window.", "--cap", low=1
    )
    window: int = option(48, "Side of that window, in pixels.", low=1)
    dimensions: tuple[int, ...] = option((2, 4), "m of lifted queries; no ε.", "--lift", low=2)
    dithers: tuple[float, ...] = option((0.0, 0.2), "Noise before lifting.", "--dither")
    mechanisms: tuple[str, ...] = option(
        (), "Also mechanisms of your own, as module:name.", "--mechanism"
    )
    num_seeds: int = option(1, "Releases drawn of each query.", "--seeds", low=1)
    num_attacked: int = option(3, "Queries whose picture is attacked.", "--attacked", low=0)
    side: int = option(256, "Side of the middle of a picture that is painted again.", low=32)

    def __post_init__(self) -> None:
        super().__post_init__()
        for unit, limit in self.limits():
            check_limit(unit, limit)

    def limits(self) -> list[Limit]:
        """What may be paid, each with its unit: picture (E) or object (advantage)."""
        return [*(("picture", one) for one in self.pictures),
                *(("object", one) for one in self.objects)]  # fmt: skip


@dataclass(frozen=True)
class Way:
    """One way to send a picture: filters, then a mechanism.

    kind        raw, quantised, words, lifting or own
    epsilon     per descriptor; ∞ for quantised, None where there is none (own: what it says)
    own         module:name of somebody's own mechanism
    keep, cap   filters: the strongest N; at most so many that see any window
    """

    kind: str
    epsilon: float | None = None
    num_words: int | None = None
    subset_size: int | None = None
    dimension: int | None = None
    dither: float = 0.0
    own: str | None = None
    keep: int | None = None
    cap: int | None = None
    is_suppressed: bool = False

    @property
    def is_random(self) -> bool:
        return self.kind not in ("raw", "quantised")

    @property
    def family(self) -> str:
        """What it is for a figure: the mechanism, and whether a filter comes before it."""
        if self.kind == "lifting" and self.dither:
            return "lifting, dithered"
        filters = {"fewer": self.keep, "capped": self.cap, "suppressed": self.is_suppressed}
        used = [name for name, value in filters.items() if value]
        return ", ".join([self.own or self.kind, *used])

    def mechanism(self, levels: Mapping[int, Dictionary]) -> Any:
        """The mechanism with the words of its level."""
        largest = levels[max(levels)]
        if self.own is not None:
            return own_mechanism(self.own, largest)
        if self.kind == "lifting":
            return SubspaceLifting(STRATEGY, self.dimension or 2, largest, dither=self.dither)
        if self.epsilon is None or self.num_words is None:
            return Plain()
        return SubsetMechanism(self.epsilon, self.subset_size or 1, levels[self.num_words])

    def filtered(self, features: Features, window: int, rng: RandomSource) -> Features:
        """The features that are left when the filters were there."""
        if self.is_suppressed:
            width, height = features.image_size
            blank = np.zeros((height, width, 3), dtype=np.uint8)  # the box is given
            features = Suppress(GivenBoxes(person_box(width, height))).look(
                features, blank, rng=rng
            )
        if self.cap is not None:
            features = CapDensity(self.cap, (window, window))(features, rng=rng)
        if self.keep is not None:
            features = KeepStrongest(self.keep)(features, rng=rng)
        if self.kind == "lifting":  # nothing but zeros has no direction to lift
            features = features.take(np.flatnonzero(features.descriptors.any(axis=1)))
        return features


def person_box(width: int, height: int) -> Boxes:
    """Where a person would stand: right of the middle, whose other half stays, on the ground."""
    tall, wide = (share * height for share in _PERSON)
    middle, low = (width - 1) / 2, height - 1.0
    corners = np.array([[middle, low - tall, min(middle + wide, width - 1.0), low]])
    return Boxes(corners, ("person",), np.ones(1))


def levels_of(dictionary: Dictionary, wanted: Sequence[int]) -> tuple[int, ...]:
    """|K| that are tried: those wanted, else up to three levels, each a quarter of the last."""
    if wanted:
        return tuple(wanted)
    found: list[int] = []
    for level in sorted({*dictionary.levels, dictionary.num_words}, reverse=True):
        if level <= _MOST_WORDS and len(found) < 3 and (not found or 4 * level <= found[-1]):
            found.append(level)
    return tuple(found or [dictionary.num_words])


def affordable(limit: Limit, num_words: int, subset_size: int, count: int) -> float | None:
    """The largest ε, in steps of .1, at which `count` keypoints stay within a limit."""

    def price(epsilon: float) -> Any:
        return price_of(PrivateAnswer(epsilon, num_words, subset_size), count, SEEN_BY)

    return largest_epsilon(price, *limit, most=_MOST_EPSILON)


def rule_way(limit: Limit, levels: Sequence[int], count: int) -> Way | None:
    """Today's rule within a limit: all keypoints, ω = 1, |K| by ε, and the largest such ε."""
    for tenth in range(int(10 * _MOST_EPSILON), 0, -1):
        size = level_for(levels, tenth / 10, 1)
        price = price_of(PrivateAnswer(tenth / 10, size), count, SEEN_BY)
        if price.in_unit(limit[0]) <= limit[1]:
            return Way("words", tenth / 10, size, 1)
    return None


def ways_of(settings: Settings, dictionary: Dictionary, most: int) -> list[Way]:
    """Every way once, those without a promise first; most: keypoints of the largest query."""
    return list(dict.fromkeys([*_without_promise(settings, dictionary),
                               *_private(settings, dictionary, most)]))  # fmt: skip


def _without_promise(settings: Settings, dictionary: Dictionary) -> Iterator[Way]:
    raw = Way("raw")
    yield raw
    yield from (replace(raw, keep=count) for count in settings.keep)
    yield from (replace(raw, cap=count) for count in settings.caps)
    yield replace(raw, is_suppressed=True)
    for size in levels_of(dictionary, settings.words):
        yield Way("quantised", math.inf, size, 1)
    for dimension in settings.dimensions:
        yield from (Way("lifting", dimension=dimension, dither=d) for d in settings.dithers)
    for address in settings.mechanisms:
        epsilon = getattr(own_mechanism(address, dictionary), "epsilon", None)
        yield Way("own", epsilon, own=address)


def _private(settings: Settings, dictionary: Dictionary, most: int) -> Iterator[Way]:
    levels = levels_of(dictionary, settings.words)
    every = sorted({*dictionary.levels, dictionary.num_words})
    fewer = [count for count in settings.keep if count < most]
    first, *others = settings.subset_sizes or (1,)
    for limit in settings.limits():
        tried: list[tuple[int, int, int | None]] = [(words, first, None) for words in levels]
        tried += [(levels[0], size, None) for size in others]
        if limit[0] == "picture":  # an object is seen by as many as before
            tried += [(words, first, count) for words in levels for count in fewer]
        for words, size, keep in tried:
            epsilon = affordable(limit, words, size, keep or most)
            if epsilon is not None:
                yield Way("words", epsilon, words, size, keep=keep)
        epsilon = affordable(limit, levels[0], 1, most)
        if epsilon is not None and limit[0] == "object":
            yield from (Way("words", epsilon, levels[0], 1, cap=count) for count in settings.caps)
        elif epsilon is not None and limit[1] == max(settings.pictures):
            yield Way("words", epsilon, levels[0], 1, is_suppressed=True)
        if (rule := rule_way(limit, every, most)) is not None:
            yield rule
