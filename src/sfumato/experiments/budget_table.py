"""The table of the budget experiment, with what it recommends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.core.odds import subset_coin
from sfumato.experiments.budget_outcomes import Outcome, Share, best_of, shares


@dataclass(frozen=True)
class Advice:
    """For one budget and way to keep: the split chosen, and the baseline it is compared with.

    Both are judged with draws that did not choose; None where a run was stopped before.
    """

    chosen: Share
    judged: Share | None
    baseline: Share | None

    @property
    def gain(self) -> float | None:
        if self.judged is None or self.baseline is None:
            return None
        return self.judged.share - self.baseline.share

    @property
    def is_beyond_doubt(self) -> bool:
        """The two intervals do not touch."""
        if self.judged is None or self.baseline is None:
            return False
        return self.judged.interval[0] > self.baseline.interval[1]

    def as_dict(self) -> dict[str, Any]:
        return {
            "budget": self.chosen.split.budget,
            "chosen_by": self.chosen.as_dict(),
            "judged": None if self.judged is None else self.judged.as_dict(),
            "all_keypoints": None if self.baseline is None else self.baseline.as_dict(),
            "gain": self.gain,
            "intervals_apart": self.is_beyond_doubt,
        }


def advise(head: dict[str, Any], outcomes: Sequence[Outcome]) -> list[Advice]:
    """One advice for every budget and way to keep, smallest budget first."""
    whole = head["queries"]
    tuned = [one for one in shares(outcomes, tuning=True) if one.num_answers == whole]
    # A draw that was stopped half-way has answered the easy or the hard queries only.
    judged = {
        one.split: one for one in shares(outcomes, tuning=False) if one.num_answers % whole == 0
    }
    baselines: dict[float, Share] = {}
    for split, one in judged.items():
        best = baselines.get(split.budget)
        if split.is_baseline and (best is None or one.share > best.share):
            baselines[split.budget] = one  # with hindsight, which favours it
    return [
        Advice(share, judged.get(share.split), baselines.get(budget))
        for (budget, _), share in sorted(best_of(tuned).items())
    ]


def table_lines(
    head: dict[str, Any], outcomes: Sequence[Outcome], *, every: bool = False
) -> list[str]:
    """Advice as a table; with `every`, all splits that were tried too."""
    heads = ["B", "kept by", "N", "ε", "|K|", "ω", "sends true", "chosen at", "judged", "95 %"]
    heads += ["wrong", "all at B/N", "ε there", "95 %", "gain"]
    found = advise(head, outcomes)
    cells = [heads, *(_cells(advice) for advice in found)]
    lines = [
        f"{head['data']}: map of {head['images']} images and {head['points']:,} points, "
        f"{head['queries']} queries; dictionary {head['dictionary']}",
        "",
        *_aligned(cells),
        "",
        *_recommended(found),
    ]
    if every:
        tried = sorted(
            shares(outcomes, tuning=True),
            key=lambda one: (one.split.budget, one.split.keep_by, -one.share, -one.median_inliers),
        )
        names = ["B", "kept by", "N", "ε", "|K|", "ω", "localized", "inliers"]
        lines += ["", "All splits, one draw of each query:"]
        lines += _aligned([names, *(_tried(one) for one in tried)])
    return [*lines, "", *_LEGEND]


def _recommended(found: Sequence[Advice]) -> list[str]:
    lines = []
    for budget in dict.fromkeys(advice.chosen.split.budget for advice in found):
        those = [one for one in found if one.chosen.split.budget == budget and one.judged]
        if not those:
            continue
        best = max(those, key=lambda one: one.judged.share if one.judged else 0)
        split, gain = best.chosen.split, best.gain
        if best.judged is None or gain is None:
            continue
        said = "the intervals are apart" if best.is_beyond_doubt else "within the intervals"
        lines.append(
            f"B = {budget:g} per picture: send {split.num_keypoints} keypoints by {split.keep_by} "
            f"at ε = {split.epsilon:g} per descriptor, {split.subset_size} of "
            f"{split.num_words:,} words: {100 * best.judged.share:.0f} % localized, "
            f"{100 * gain:+.0f} points against all at B/N ({said})"
        )
    return lines


def _cells(advice: Advice) -> list[str]:
    split = advice.chosen.split
    coin = subset_coin(split.epsilon or 0.0, split.num_words, split.subset_size)
    baseline = advice.baseline
    spent = "–"
    if baseline is not None:
        spent = f"{baseline.mean_spent / baseline.mean_keypoints:.2f}"
    return [
        f"{split.budget:g}",
        split.keep_by,
        str(split.num_keypoints),
        f"{split.epsilon:g}",
        f"{split.num_words:,}",
        str(split.subset_size),
        f"{100 * float(coin.probability):.0f} %",
        f"{advice.chosen.num_localized}/{advice.chosen.num_answers}",
        *_share(advice.judged),
        "–" if advice.judged is None else str(advice.judged.num_wrong),
        _share(baseline)[0],
        spent,
        _share(baseline)[1],
        "–" if advice.gain is None else f"{100 * advice.gain:+.0f}",
    ]


def _share(share: Share | None) -> tuple[str, str]:
    if share is None:
        return "–", "–"
    low, high = share.interval
    return f"{share.num_localized}/{share.num_answers}", f"{100 * low:.0f}–{100 * high:.0f}"


def _tried(one: Share) -> list[str]:
    split = one.split
    return [
        f"{split.budget:g}",
        split.keep_by,
        "all" if split.num_keypoints is None else str(split.num_keypoints),
        "–" if split.epsilon is None else f"{split.epsilon:g}",
        f"{split.num_words:,}",
        str(split.subset_size),
        f"{one.num_localized}/{one.num_answers}",
        f"{one.median_inliers:.0f}",
    ]


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i == 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]


_LEGEND = (
    "B = N·ε is what a whole picture spends; ε is per descriptor. Localized: within .25 m and 2°.",
    "The split was chosen with one draw of each query and judged with others of the same queries;",
    "95 %: Wilson's, as if all answers were independent. wrong: poses beyond 5 m or 10°. all at",
    "B/N: every keypoint of the picture, each with its share of B, the best |K| with hindsight.",
    "Positions and N: not protected.",
    "Releases are reproducible (seeded), not for sending.",
)
