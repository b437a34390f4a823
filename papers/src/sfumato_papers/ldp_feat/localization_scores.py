"""LDP-FEAT, Tables 2, 3 and S1: from predictions to shares, wrong poses, matches, seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato_papers.harness.table import wilson
from sfumato_papers.ldp_feat.localization import rule_words
from sfumato_papers.ldp_feat.localization_predictions import Prediction, Predictions, Setting
from sfumato_papers.poses import THRESHOLDS, judge


@dataclass(frozen=True)
class Row:
    """One setting and what came of it.

    chosen       why this |K| and ω: "rule", "best of n", or "given"
    within       answers within each of THRESHOLDS; None where the truth is secret
    num_wrong    poses returned beyond the last threshold
    """

    setting: Setting
    chosen: str
    num_answers: int
    num_seeds: int
    num_returned: int
    within: tuple[int, ...] | None
    num_wrong: int | None
    mean_keypoints: float
    median_matches: float
    median_inliers: float
    median_seconds: float

    @property
    def picture_epsilon(self) -> float | None:
        """N·ε of the mean picture."""
        epsilon = self.setting.epsilon
        return None if epsilon is None else epsilon * self.mean_keypoints

    def as_dict(self) -> dict[str, Any]:
        shares = None
        if self.within is not None:
            shares = [
                {
                    "max_distance_m": metres,
                    "max_angle_deg": degrees,
                    "share": count / self.num_answers,
                    "share_interval_95": list(wilson(count, self.num_answers)),
                }
                for (metres, degrees), count in zip(THRESHOLDS, self.within, strict=True)
            ]
        return {
            "setting": dict(vars(self.setting)),
            "chosen": self.chosen,
            "answers": self.num_answers,
            "seeds": self.num_seeds,
            "poses_returned": self.num_returned,
            "wrong_poses": self.num_wrong,
            "within": shares,
            "mean_keypoints": self.mean_keypoints,
            "epsilon_per_picture": self.picture_epsilon,
            "median_matches": self.median_matches,
            "median_inliers": self.median_inliers,
            "median_seconds": self.median_seconds,
        }


def evaluate(found: Predictions) -> list[Row]:
    """One row per setting, in the order in which settings were first tried."""
    by_setting: dict[Setting, list[Prediction]] = {}
    for prediction in found.predictions:
        by_setting.setdefault(prediction.setting, []).append(prediction)
    return [_row(setting, group, found) for setting, group in by_setting.items()]


def _row(setting: Setting, group: Sequence[Prediction], found: Predictions) -> Row:
    returned = sum(prediction.pose is not None for prediction in group)
    within: tuple[int, ...] | None = None
    wrong: int | None = None
    truths = [found.truth[prediction.query] for prediction in group]
    if setting.is_control:  # the place is not in the map: whatever is returned is wrong
        within, wrong = (0,) * len(THRESHOLDS), returned
    elif all(truth is not None for truth in truths):
        judged = [
            judge(prediction.answer, truth)
            for prediction, truth in zip(group, truths, strict=True)
            if truth is not None
        ]
        within = tuple(sum(inside[i] for inside, _ in judged) for i in range(len(THRESHOLDS)))
        wrong = sum(is_wrong for _, is_wrong in judged)
    return Row(
        setting=setting,
        chosen="given",
        num_answers=len(group),
        num_seeds=len({prediction.seed for prediction in group}),
        num_returned=returned,
        within=within,
        num_wrong=wrong,
        mean_keypoints=float(np.mean([prediction.num_keypoints for prediction in group])),
        median_matches=float(np.median([prediction.num_matches for prediction in group])),
        median_inliers=float(np.median([prediction.num_inliers for prediction in group])),
        median_seconds=float(np.median([prediction.seconds for prediction in group])),
    )


def choose_rows(rows: Iterable[Row], found: Predictions) -> list[Row]:
    """Of settings that differ in |K| and ω only, the best; of ours also the one by rule.

    The best is chosen with the truth in hand, which favours it; the rule knows only ε.
    """
    groups: dict[Setting, list[Row]] = {}
    whole = [row for row in rows if row.num_answers == row.num_seeds * len(found.truth)]
    for row in whole:  # a setting that was stopped half-way is no row yet
        groups.setdefault(replace(row.setting, num_words=None, subset_size=None), []).append(row)
    chosen: list[Row] = []
    for group in groups.values():
        best = max(group, key=_merit)
        ruled = [row for row in group if _is_by_rule(row.setting, found)]
        chosen += [replace(row, chosen="rule") for row in ruled]
        if len(group) > 1 and best not in ruled:
            chosen.append(replace(best, chosen=f"best of {len(group)}"))
        elif best not in ruled:
            chosen.append(best)
    order = {name: rank for rank, name in enumerate(("raw", "lifted", "sfumato", "paper"))}
    return sorted(
        chosen,
        key=lambda row: (
            row.setting.is_control,
            row.setting.dictionary or "",
            -(row.setting.epsilon or math.inf),
            order[row.setting.recipe],
            row.setting.dimension or 0,
        ),
    )


def _merit(row: Row) -> tuple[float, ...]:
    shares = tuple(count / row.num_answers for count in row.within or (row.num_returned,))
    return (*shares, -(row.num_wrong or 0) / row.num_answers, row.num_answers)


def _is_by_rule(setting: Setting, found: Predictions) -> bool:
    if setting.recipe != "sfumato" or setting.dictionary is None or setting.epsilon is None:
        return False
    levels = tuple(found.dictionaries[setting.dictionary]["levels"])
    words = rule_words(levels, setting.epsilon, setting.subset_size or 1)
    return setting.subset_size == 1 and setting.num_words == words
