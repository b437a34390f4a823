"""The picture of the budget experiment: localized share over the budget of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfumato.experiments.budget_outcomes import Share
from sfumato.experiments.budget_table import Advice

_COLORS = {"strength": "#1b1b1f", "spread": "#4a7c8c", "stable": "#2f5d3a"}
_BASELINE = "#c8553d"


def draw_plot(found: Sequence[Advice], path: str | Path) -> None:
    """The chosen splits and the baseline, with intervals and the N·ε of each point."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7.2, 4.2))
    for place, keep_by in enumerate(_COLORS):
        points = [
            (advice.chosen.split.budget, advice.judged)
            for advice in found
            if advice.chosen.split.keep_by == keep_by and advice.judged is not None
        ]
        _draw(axis, points, _COLORS[keep_by], f"best split, kept by {keep_by}")
        for budget, share in points:
            split = share.split
            axis.annotate(
                f"{split.num_keypoints}·{split.epsilon:.3g}",
                (budget, 100 * share.share),
                textcoords="offset points",
                xytext=(6, 8 - 18 * place),
                fontsize=8,
                color=_COLORS[keep_by],
            )
    baselines = {
        advice.chosen.split.budget: advice.baseline
        for advice in found
        if advice.baseline is not None
    }
    _draw(axis, sorted(baselines.items()), _BASELINE, "all keypoints at B/N")
    budgets = sorted({advice.chosen.split.budget for advice in found})
    axis.set_xscale("log", base=2)
    if budgets:
        axis.set_xlim(budgets[0] / 1.25, budgets[-1] * 1.4)
    axis.set_xticks(budgets, [f"{budget:,.0f}" for budget in budgets])
    axis.minorticks_off()
    axis.set_xlabel("budget of a whole picture, B = N·ε (ε per descriptor)")
    axis.set_ylabel("localized within .25 m, 2° (%)")
    axis.set_ylim(-4, 104)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", alpha=0.3)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(frameon=False, fontsize=9, loc=(0.6, 0.12))
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _draw(axis: object, points: Sequence[tuple[float, Share]], color: str, label: str) -> None:
    if not points:
        return
    x = [budget for budget, _ in points]
    y = [100 * share.share for _, share in points]
    low = [100 * (share.share - share.interval[0]) for _, share in points]
    high = [100 * (share.interval[1] - share.share) for _, share in points]
    axis.errorbar(  # type: ignore[attr-defined]
        x, y, [low, high], color=color, marker="o", markersize=5, capsize=3, label=label
    )
