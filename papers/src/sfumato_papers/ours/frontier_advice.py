"""Ours: rows, Pareto fronts and recommended settings of `sfumato experiment frontier`.

Whoever tries many settings and reports the best is too optimistic. So a setting is chosen on one
half of the queries and measured on the other, both ways round: every query is measured once, under
a setting that was chosen without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato_papers.harness.table import clustered_wilson, grouped
from sfumato_papers.ours.frontier import Outcome
from sfumato_papers.ours.frontier_ways import Limit, Way, rule_way

Row = dict[str, Any]
#: What a front is drawn against: E of a picture, advantage for an object, SSIM of the best attack.
LEAKS = ("picture", "object", "ssim")


def rows_of(outcomes: Sequence[Outcome], queries: Sequence[str]) -> list[Row]:
    """One row per way, in the order tried; a way that was stopped half-way is no row yet.

    picture  the largest E of any query; object: the advantage for an object of ten
    fronts   the leaks for which no other way is both tighter and better
    """
    found = [
        _row(way, group)
        for way, group in grouped(outcomes, lambda one: one.way).items()
        if len(group) % len(queries) == 0
    ]
    for leak in LEAKS:
        known = [row for row in found if row[leak] is not None]
        for row, is_on in zip(known, on_front([(r[leak], r["share"]) for r in known]), strict=True):
            if is_on and row["share"]:  # to leak least and find nothing is no feat
                row["fronts"].append(leak)
    return found


def _row(way: Way, group: Sequence[Outcome]) -> Row:
    attacks = [one.attack for one in group if one.attack is not None]
    promised = group[0].picture is not None
    return {
        "way": way,
        **measured(group),
        "wrong": sum(one.is_wrong for one in group),
        "keypoints": float(np.mean([one.num_keypoints for one in group])),
        "picture": max(one.picture or 0.0 for one in group) if promised else None,
        "object": group[0].object,
        "recall": float(np.mean([one.recall for one in group])),
        **{name: _mean([getattr(one, name) for one in attacks])
           for name in ("ssim", "lpips", "right", "grey")},
        "attack": max((one.name for one in attacks), key=[a.name for a in attacks].count,
                      default=None),
        "fronts": [],
    }  # fmt: skip


def measured(group: Sequence[Outcome]) -> Row:
    """The share localized with its interval; draws of one query are not independent."""
    answers = grouped(group, lambda one: one.query).values()
    share = sum(one.is_localized for one in group) / len(group)
    interval = clustered_wilson([[one.is_localized for one in own] for own in answers])
    return {"share": share, "share_interval_95": interval, "answers": len(group)}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None


def on_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Which points (leak, utility) no other beats: none leaks less or alike and is better or alike.

    >>> from sfumato_papers.ours.frontier_advice import on_front
    >>> on_front([(1.0, 0.2), (2.0, 0.2), (2.0, 0.9), (3.0, 0.8)])
    [True, False, True, False]
    """
    return [
        not any(
            leak <= own_leak and use >= own_use and (leak, use) != (own_leak, own_use)
            for leak, use in points
        )
        for own_leak, own_use in points
    ]


def recommend(
    outcomes: Sequence[Outcome], head: Mapping[str, Any], limits: Sequence[Limit]
) -> list[Row]:
    """For every limit the best way within it, and today's rule. Who is hidden is no setting.

    advised   chosen on all queries: what to use; None where no way within localizes any
    measured  each half of the queries under the way that the other half chose: what to expect
    rule      all keypoints, |K| by the rule that knows ε only, at the largest ε within the limit
    """
    queries = head["queries"]
    half_of = {name: number % 2 for number, name in enumerate(queries)}
    ways = {
        way: group
        for way, group in grouped(outcomes, lambda one: one.way).items()
        if len(group) % len(queries) == 0
    }
    found = []
    for unit, limit in limits:
        within = {way: group for way, group in ways.items()
                  if _costs(group, unit) <= limit and not way.is_suppressed}  # fmt: skip
        rule = rule_way((unit, limit), head["levels"], head["most_keypoints"])
        rule_group = ways.get(rule) if rule is not None else None
        row: Row = {
            "unit": unit,
            "limit": limit,
            "tried": len(within),
            "rule": rule,
            "rule_measured": measured(rule_group) if rule_group else None,
            "rule_cost": _costs(rule_group, unit) if rule_group else None,
        }
        if within:
            advised = _best(within)
            finds = any(one.is_localized for one in within[advised])
            chosen = [
                _best({way: [o for o in group if half_of[o.query] == half]
                       for way, group in within.items()})
                for half in (0, 1)
            ]  # fmt: skip
            judged = [o for half in (0, 1) for o in within[chosen[1 - half]]
                      if half_of[o.query] == half]  # fmt: skip
            row |= {
                "advised": advised if finds else None,
                "cost": _costs(within[advised], unit) if finds else None,
                "chosen_by_halves": chosen,
                "measured": measured(judged) if len(queries) > 1 else None,
            }
        found.append(row)
    return found


def _costs(group: Sequence[Outcome], unit: str) -> float:
    """The highest price of any query; infinite where nothing is promised."""
    prices = [getattr(one, unit) for one in group]
    return float("inf") if None in prices else max(prices)


def _best(ways: Mapping[Way, Sequence[Outcome]]) -> Way:
    """The way that localizes most; of equals the one that matches more."""

    def merit(way: Way) -> tuple[float, float]:
        group = ways[way]
        return (float(np.mean([one.is_localized for one in group] or [False])),
                float(np.mean([one.recall for one in group] or [0.0])))  # fmt: skip

    return max(ways, key=merit)
