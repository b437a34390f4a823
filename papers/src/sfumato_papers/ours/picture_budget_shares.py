"""Ours: what came of each query under each split of a picture's budget, and as shares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato_papers.harness.table import wilson

#: Draws with this seed choose the split; all others judge it.
TUNING_SEED = 0


@dataclass(frozen=True)
class Split:
    """How a picture's budget B is spent: N keypoints at ε = B/N each.

    num_keypoints  None for all of a picture's, the baseline; then ε differs between pictures
    epsilon        per descriptor; None where num_keypoints is
    """

    budget: float
    num_keypoints: int | None
    epsilon: float | None
    keep_by: str
    num_words: int
    subset_size: int

    @property
    def shown_keypoints(self) -> int | str:
        return self.num_keypoints or "all"

    @property
    def is_baseline(self) -> bool:
        return self.num_keypoints is None


@dataclass(frozen=True)
class Outcome:
    """One query, one draw. spent is N·ε of this picture, at most the budget."""

    split: Split
    seed: int
    query: str
    num_keypoints: int
    spent: float
    is_localized: bool
    is_wrong: bool
    num_inliers: int
    seconds: float

    @property
    def key(self) -> tuple[Split, int, str]:
        return self.split, self.seed, self.query


@dataclass(frozen=True)
class Share:
    """A split and how often it localized."""

    split: Split
    num_localized: int
    num_answers: int
    num_wrong: int
    mean_keypoints: float
    mean_spent: float
    median_inliers: float

    @property
    def share(self) -> float:
        return self.num_localized / self.num_answers

    @property
    def mean_epsilon(self) -> float:
        """Per descriptor."""
        return self.mean_spent / self.mean_keypoints

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.num_localized, self.num_answers)

    def as_dict(self) -> dict[str, Any]:
        return {
            **asdict(self.split),
            "localized": self.num_localized,
            "answers": self.num_answers,
            "share": self.share,
            "share_interval_95": list(self.interval),
            "wrong_poses": self.num_wrong,
            "mean_keypoints": self.mean_keypoints,
            "mean_epsilon_per_picture": self.mean_spent,
        }


def shares(outcomes: Iterable[Outcome], *, tuning: bool) -> list[Share]:
    """One share for every split: of the draws that choose, or of those that judge."""
    groups: dict[Split, list[Outcome]] = {}
    for outcome in outcomes:
        if (outcome.seed == TUNING_SEED) == tuning:
            groups.setdefault(outcome.split, []).append(outcome)
    return [
        Share(
            split=split,
            num_localized=sum(outcome.is_localized for outcome in group),
            num_answers=len(group),
            num_wrong=sum(outcome.is_wrong for outcome in group),
            mean_keypoints=float(np.mean([outcome.num_keypoints for outcome in group])),
            mean_spent=float(np.mean([outcome.spent for outcome in group])),
            median_inliers=float(np.median([outcome.num_inliers for outcome in group])),
        )
        for split, group in groups.items()
    ]


def best_of(found: Iterable[Share]) -> dict[tuple[float, str], Share]:
    """The best split for each budget and way to keep; of equals the one with more inliers.

    Baselines stay out of it: they are what the best is compared with.
    """
    best: dict[tuple[float, str], Share] = {}
    for share in found:
        if share.split.is_baseline:
            continue
        key = share.split.budget, share.split.keep_by
        if key not in best or _merit(share) > _merit(best[key]):
            best[key] = share
    return best


def _merit(share: Share) -> tuple[float, float, float]:
    return share.share, -share.num_wrong, share.median_inliers
