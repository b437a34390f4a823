"""LDP-FEAT, Tables 2, 3 and S1: what predictions say, one row per setting, and which are shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato.core.types import Pose
from sfumato.dictionary.levels import level_for
from sfumato_papers.harness.table import clustered_wilson, grouped
from sfumato_papers.ldp_feat.localization_predictions import Prediction, Predictions, Setting
from sfumato_papers.ldp_feat.poses import THRESHOLDS, WRONG_BEYOND, Within, judge

Row = dict[str, Any]
Truths = Mapping[str, Pose | None]


@dataclass(frozen=True)
class Judgement:
    """How poses are judged: near enough within `thresholds`, wrong beyond `wrong_beyond`."""

    thresholds: tuple[Within, ...] = THRESHOLDS
    wrong_beyond: Within = WRONG_BEYOND


def whole_draws(found: Predictions) -> Predictions:
    """The draws in which every query was answered.

    A draw that was stopped half-way has answered the easy or the hard queries only; the draws
    before it count all the same.
    """
    draws = grouped(found.predictions, lambda one: (one.setting, one.seed))
    whole = [one for draw in draws.values() if len(draw) == len(found.truth) for one in draw]
    return replace(found, predictions=tuple(whole))


def evaluate(found: Predictions, how: Judgement | None = None) -> list[Row]:
    """One row per setting, in the order in which settings were first tried."""
    how = how or Judgement()
    groups = grouped(found.predictions, lambda prediction: prediction.setting)
    raw = {
        setting.max_keypoints: group
        for setting, group in groups.items()
        if setting.recipe == "raw" and not setting.is_control and setting.num_frames == 1
    }
    return [
        _row(setting, group, found.truth, raw.get(setting.max_keypoints), how)
        for setting, group in groups.items()
    ]


def _row(
    setting: Setting,
    group: Sequence[Prediction],
    truths: Truths,
    raw: Sequence[Prediction] | None,
    how: Judgement,
) -> Row:
    """chosen: why this |K| and ω. within: None where the truth is secret, or raw was not asked."""
    returned = sum(prediction.pose is not None for prediction in group)
    wrong, within, within_raw = None, None, None
    if setting.is_control:  # the place is not in the map: whatever is returned is wrong
        wrong = returned
    else:
        if None not in [truths[one.query] for one in group]:
            within, wrong = _shares(group, truths, how)
        if raw is not None:
            within_raw, _ = _shares(group, {one.query: one.answer for one in raw}, how)
    keypoints = float(np.mean([prediction.num_keypoints for prediction in group]))
    medians = {"matches": "num_matches", "inliers": "num_inliers", "seconds": "seconds"}
    return {
        "setting": setting,
        "chosen": "given",
        "answers": len(group),
        "seeds": len({prediction.seed for prediction in group}),
        "poses_returned": returned,
        "wrong_poses": wrong,
        "within": within,
        "within_raw": within_raw,
        "mean_keypoints": keypoints,
        "epsilon_per_picture": None if setting.epsilon is None else setting.epsilon * keypoints,
        **{
            f"median_{name}": float(np.median([getattr(one, field) for one in group]))
            for name, field in medians.items()
        },
    }


def exact_epsilon(row: Row) -> float | None:
    """E at δ = 10⁻⁶ of all keypoints an answer took, in all its frames: what a ledger counts."""
    setting: Setting = row["setting"]
    if setting.epsilon is None or not math.isfinite(setting.epsilon):
        return setting.epsilon
    answer = PrivateAnswer(setting.epsilon, setting.num_words, setting.subset_size or 1)
    return Composition({answer: round(row["mean_keypoints"])}).epsilon()


def _shares(group: Sequence[Prediction], truths: Truths, how: Judgement) -> tuple[list[Row], int]:
    """The share within each threshold of these poses, and how many poses are wrong.

    A query for which there is no pose to compare with counts as a failure.
    """
    judged = grouped([(one.query, _judge(one, truths, how)) for one in group], lambda one: one[0])
    wrong = sum(is_wrong for draws in judged.values() for _, (_, is_wrong) in draws)
    shares = []
    for place, threshold in enumerate(how.thresholds):
        inside = [[within[place] for _, (within, _) in draws] for draws in judged.values()]
        shares.append(
            {
                "max_distance": threshold.distance,
                "max_angle_deg": threshold.degrees,
                "share": sum(map(sum, inside)) / len(group),
                "share_interval_95": clustered_wilson(inside),
            }
        )
    return shares, wrong


def _judge(one: Prediction, truths: Truths, how: Judgement) -> tuple[tuple[bool, ...], bool]:
    truth = truths.get(one.query)
    if truth is None:
        return tuple(False for _ in how.thresholds), False
    return judge(one.answer, truth, how.thresholds, how.wrong_beyond)


def choose_rows(rows: Iterable[Row], found: Predictions) -> list[Row]:
    """Of settings that differ in |K| and ω only, the best; of ours also the one by rule.

    The best is chosen with the truth in hand, which favours it; the rule knows only ε.
    """
    rows = list(rows)
    chosen = [row for row in rows if row["setting"].is_control]
    asked = [row for row in rows if not row["setting"].is_control]
    groups = grouped(asked, lambda row: replace(row["setting"], num_words=None, subset_size=None))
    for group in groups.values():
        best = max(group, key=_merit)
        ruled = [row for row in group if _is_by_rule(row["setting"], found)]
        chosen += [{**row, "chosen": "rule"} for row in ruled]
        if best not in ruled:
            chosen.append({**best, "chosen": f"best of {len(group)}"} if len(group) > 1 else best)
    return sorted(chosen, key=lambda row: _place(row["setting"]))


def _place(setting: Setting) -> tuple[Any, ...]:
    return (
        setting.is_control,
        setting.dictionary or "",
        -(setting.epsilon or math.inf),
        ("raw", "lifted", "own", "sfumato", "words", "paper").index(setting.recipe),
        setting.dimension or 0,
        (setting.num_frames, setting.is_shared),
    )


def _merit(row: Row) -> tuple[float, ...]:
    total = row["answers"]
    within = row["within"] or row["within_raw"] or [{"share": row["poses_returned"] / total}]
    return (*(one["share"] for one in within), -(row["wrong_poses"] or 0) / total, total)


def _is_by_rule(setting: Setting, found: Predictions) -> bool:
    if setting.recipe != "sfumato" or setting.dictionary is None or setting.epsilon is None:
        return False
    levels = tuple(found.dictionaries[setting.dictionary]["levels"])
    words = level_for(levels, setting.epsilon, setting.subset_size or 1)
    return setting.subset_size == 1 and setting.num_words == words
