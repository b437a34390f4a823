"""Ours: what is recognised in paintings; what was measured of each, and rows made of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.adversary.metrics import share_interval
from sfumato.core.errors import InvalidInput
from sfumato.privacy.interval import clustered_wilson
from sfumato_papers.harness.outcomes import Journal
from sfumato_papers.harness.table import grouped
from sfumato_papers.ldp_feat.inversion.outcomes import Setting

PARTS = ("faces", "text")


@dataclass(frozen=True)
class Measures:
    """Of one painting: distances of its face to everybody's, or words found again of how many."""

    distances: tuple[float, ...] = ()
    found: int = 0
    total: int = 0


@dataclass(frozen=True)
class Outcome:
    """One picture under one row.

    person  who it shows; height of the letters on its sign
    network who painted it; empty for the photograph itself
    """

    part: str
    row: Setting
    picture: str
    measures: Measures
    num_keypoints: int
    network: str
    person: str = ""
    height: int = 0

    @property
    def key(self) -> tuple[str, Setting, str]:
        return self.part, self.row, self.picture


JOURNAL = Journal(
    "recognition", "the recognition experiment", Outcome, besides=("absent",), version=1
)


def threshold_at(distances: Sequence[float], false_accept: float) -> float:
    """The largest distance at which at most this share of pairs of two people is accepted.

    >>> threshold_at([0.5, 0.6, 0.7, 0.8], 0.25)
    0.5
    """
    values = np.sort(np.asarray(distances, dtype=np.float64))
    if not len(values) or not np.isfinite(values).all():
        raise InvalidInput("a threshold needs the distances of at least one pair of two people.")
    for value in np.unique(values)[::-1]:
        if np.mean(values <= value) <= false_accept:
            return float(value)
    return -math.inf  # nobody is accepted


def face_rows(
    outcomes: Sequence[Outcome], people: Sequence[str], false_accept: float
) -> tuple[list[dict[str, Any]], float]:
    """A row for every setting, and the threshold, chosen on the photographs themselves.

    same     share of pictures taken for their person, [low, high] over people (Wilson)
    first    share whose nearest of all known people is the right one
    others   share of pairs with somebody else that are accepted
    """
    where = {who: number for number, who in enumerate(people)}
    faces = [one for one in outcomes if one.part == "faces"]
    plain = [one for one in faces if one.row.attack == "photograph"]
    strangers = [d for one in plain for d in _strangers(one, where)]
    threshold = threshold_at(strangers, false_accept)
    rows = []
    for row, found in grouped(faces, lambda one: one.row).items():
        own = [one.measures.distances[where[one.person]] for one in found]
        by_person = grouped(range(len(found)), [one.person for one in found].__getitem__)
        first = [int(np.argmin(one.measures.distances)) == where[one.person] for one in found]

        def interval(values: Sequence[bool], groups: Any = by_person) -> tuple[float, float]:
            return clustered_wilson([[values[i] for i in group] for group in groups.values()])

        accepted = [distance <= threshold for distance in own]
        low, high = interval(accepted)
        first_low, first_high = interval(first)
        rows.append({
            **_about(row, found), "people": len(by_person),
            "share": float(np.mean(accepted)), "low": low, "high": high,
            "first": float(np.mean(first)), "first_low": first_low, "first_high": first_high,
            "others": float(np.mean([d <= threshold for o in found for d in _strangers(o, where)])),
            "distance": float(np.median(own)),
        })  # fmt: skip
    return rows, threshold


def _strangers(one: Outcome, where: dict[str, int]) -> list[float]:
    return [d for i, d in enumerate(one.measures.distances) if i != where[one.person]]


def text_rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """A row for every setting: share of words read again, by height of letters too."""
    rows = []
    signs = [one for one in outcomes if one.part == "text"]
    for row, found in grouped(signs, lambda one: one.row).items():
        share = share_interval(
            [one.measures.found for one in found], [one.measures.total for one in found]
        )
        by_height = {}
        for height, some in sorted(grouped(found, lambda one: one.height).items()):
            total = sum(one.measures.total for one in some)
            read = sum(one.measures.found for one in some)
            by_height[str(height)] = read / total if total else None
        rows.append({
            **_about(row, found), "words": share.count, "share": share.mean, "low": share.low,
            "high": share.high, "by_height": by_height,
        })  # fmt: skip
    return rows


def _about(row: Setting, found: Sequence[Outcome]) -> dict[str, Any]:
    keypoints = float(np.mean([one.num_keypoints for one in found]))
    epsilon = row.defence.epsilon
    return {
        "setting": row,
        "pictures": len(found),
        "num_keypoints": keypoints,
        "epsilon_per_picture": None if epsilon is None else epsilon * keypoints,
        "network": found[0].network,
    }


def better_of(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of several attacks on one defence the one that recognises most, in the order of rows.

    The photograph, raw descriptors and positions are no defences, and all stay.
    """
    kept: list[dict[str, Any]] = []
    for same in grouped(rows, lambda row: _what(row["setting"])).values():
        kept.append(max(same, key=lambda row: (row["share"], row.get("first", 0.0))))
    return kept


def _what(setting: Setting) -> Any:
    return setting.defence if setting.defence.name != "raw" else setting
