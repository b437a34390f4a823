"""Ours: the table of `sfumato experiment budget`, what it recommends, and the plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.core.odds import subset_coin
from sfumato.core.progress import Progress
from sfumato.datasets.scenes import open_scenes
from sfumato.dictionary import Dictionary
from sfumato_papers.harness import plot as draw
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.table import Table, table_of
from sfumato_papers.ours.picture_budget import JOURNAL, Settings, run_budget
from sfumato_papers.ours.picture_budget_shares import Outcome, Share, best_of, shares
from sfumato_papers.posed_pairs import scene_folders


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


def advise(head: Mapping[str, Any], outcomes: Sequence[Outcome]) -> list[Advice]:
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


def report_lines(
    head: Mapping[str, Any], outcomes: Sequence[Outcome], *, every: bool = False
) -> list[str | Table]:
    """Advice as a table; with `every`, all splits that were tried too."""
    found = advise(head, outcomes)
    lines: list[str | Table] = [
        f"{head['data']}: map of {head['images']} images and {head['points']:,} points, "
        f"{head['queries']} queries; dictionary {head['dictionary']}",
        "",
        table_of(
            found,
            *_columns("chosen.split."),
            ("sends true", _sends_true, ".0%"),
            ("chosen at", lambda advice: _count(advice.chosen)),
            ("judged", lambda advice: _count(advice.judged)),
            ("95 %", lambda advice: _interval(advice.judged)),
            ("wrong", "judged.num_wrong"),
            ("all at B/N", lambda advice: _count(advice.baseline)),
            ("ε there", "baseline.mean_epsilon", ".2f"),
            ("95 %", lambda advice: _interval(advice.baseline)),
            ("gain", "gain", "+.0p"),
            left=(1,),
        ),
        "",
        *_recommended(found),
    ]
    if every:
        tried = sorted(
            shares(outcomes, tuning=True),
            key=lambda one: (one.split.budget, one.split.keep_by, -one.share, -one.median_inliers),
        )
        lines += ["", "All splits, one draw of each query:"]
        answers = ("localized", _count), ("inliers", "median_inliers", ".0f")
        lines.append(table_of(tried, *_columns("split."), *answers, left=(1,)))
    return [*lines, "", *NOTES]


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


def _columns(split: str) -> list[tuple[Any, ...]]:
    """How a split is shown, which is found in a row under this name."""
    return [
        ("B", f"{split}budget", "g"), ("kept by", f"{split}keep_by"),
        ("N", f"{split}shown_keypoints"), ("ε", f"{split}epsilon", "g"),
        ("|K|", f"{split}num_words", ","), ("ω", f"{split}subset_size"),
    ]  # fmt: skip


def _sends_true(advice: Advice) -> float:
    split = advice.chosen.split
    coin = subset_coin(split.epsilon or 0.0, split.num_words, split.subset_size)
    return float(coin.probability)


def _count(share: Share | None) -> str:
    return "–" if share is None else f"{share.num_localized}/{share.num_answers}"


def _interval(share: Share | None) -> str:
    return "–" if share is None else "–".join(f"{100 * end:.0f}" for end in share.interval)


NOTES = (
    "B = N·ε is what a whole picture spends; ε is per descriptor. Localized: within .25 m and 2°.",
    "The split was chosen with one draw of each query and judged with others of the same queries;",
    "95 %: Wilson's, as if all answers were independent. wrong: poses beyond 5 m or 10°. all at",
    "B/N: every keypoint of the picture, each with its share of B, the best |K| with hindsight.",
    "Positions and N: not protected.",
    "Releases are reproducible (seeded), not for sending.",
)

_COLORS = {"strength": draw.INK, "spread": draw.BLUE, "stable": draw.GREEN}


def draw_plot(found: Sequence[Advice], path: Path) -> Path:
    """The chosen splits and the baseline, with intervals and the N·ε of each point."""
    figure, (axis,) = draw.panels(1, (7.2, 4.2))
    for place, (keep_by, color) in enumerate(_COLORS.items()):
        chosen = {
            advice.chosen.split.budget: advice.judged
            for advice in found
            if advice.chosen.split.keep_by == keep_by and advice.judged is not None
        }
        _draw(axis, chosen, color=color, label=f"best split, kept by {keep_by}")
        for budget, share in chosen.items():
            axis.annotate(
                f"{share.split.num_keypoints}·{share.split.epsilon:.3g}",
                (budget, 100 * share.share),
                textcoords="offset points",
                xytext=(6, 8 - 18 * place),
                fontsize=8,
                color=color,
            )
    baselines = {one.chosen.split.budget: one.baseline for one in found if one.baseline is not None}
    _draw(axis, baselines, color=draw.RED, label="all keypoints at B/N")
    budgets = sorted({advice.chosen.split.budget for advice in found})
    draw.log2_ticks(axis, budgets, ",.0f")
    if budgets:
        axis.set_xlim(budgets[0] / 1.25, budgets[-1] * 1.4)
    axis.set_xlabel("budget of a whole picture, B = N·ε (ε per descriptor)")
    axis.set_ylabel("localized within .25 m, 2° (%)")
    axis.set_ylim(-4, 104)
    draw.legend(axis, fontsize=9, loc=(0.6, 0.12))
    return draw.save(figure, path, dpi=120)


def _draw(axis: Any, points: Mapping[float, Share], **look: Any) -> None:
    shown = []
    for budget, share in sorted(points.items()):
        low, high = share.interval
        away = 100 * (share.share - low), 100 * (high - share.share)
        shown.append((budget, 100 * share.share, away))
    draw.curve(axis, shown, markersize=5, capsize=3, **look)


def _run(settings: Settings, path: Path, progress: Progress) -> None:
    settings = replace(settings, data=tuple(scene_folders(settings.data)))
    words = Dictionary.load(settings.dictionary)
    problem = open_scenes(settings.data, path.parent, progress=progress)
    run_budget(problem, words, settings, path, progress=progress)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    found = advise(head, outcomes)
    plot = draw_plot(found, path.parent / "budget.png")
    lines = report_lines(head, outcomes, every=settings.every)
    return Report(
        [*lines, f"outcomes: {path}", f"plot: {plot}"],
        {**head, "advice": [one.as_dict() for one in found], "plot": str(plot)},
    )


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-budget",
    writes="Folder for the map, outcomes and the plot.",
)
