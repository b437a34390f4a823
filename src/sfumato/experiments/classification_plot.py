"""Accuracy over ε: the shape of the paper's Fig. 3 and 4, and our recipe beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfumato.experiments.classification_table import Row

_CLEAN = 5.0  # where ∞ is drawn
_COLOURS = {
    "dcaconv-16": "#c8553d",
    "dcaconv-2": "#d9a441",
    "pixels-16": "#4a7c8c",
    "hog-words": "#8a8a94",
    "binary-network": "#6d5a8c",
    "sfumato": "#2f5d3a",
}
_PANELS = (
    ("d = 16 and larger [Fig. 3]", ("dcaconv-16", "pixels-16", "hog-words")),
    ("d = 2 [Fig. 4]", ("dcaconv-2", "binary-network")),
)


def draw_plot(rows: Sequence[Row], path: str | Path) -> None:
    """One panel a figure of the paper; what the paper prints is dashed, naive Bayes thin."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 5.2), sharey=True)
    for axis, (title, encoders) in zip(axes, _PANELS, strict=True):
        for name in encoders:
            for learner in ("knn", "naive-bayes"):
                chosen = [
                    row
                    for row in rows
                    if row.setting.recipe == "paper"
                    and (row.setting.encoder, row.setting.learner) == (name, learner)
                ]
                _curve(axis, chosen, f"{name}, {learner}", _COLOURS[name], thin=learner != "knn")
        ours = [row for row in rows if row.setting.recipe == "sfumato"]
        _curve(axis, ours, "recipe sfumato", _COLOURS["sfumato"], thin=False, with_paper=False)
        axis.set_title(title, fontsize=11)
        axis.set_xlabel("ε per code (labels are not protected)")
        axis.set_xticks([0, 1, 2, 3, 4, _CLEAN], ["0", "1", "2", "3", "4", "∞"])
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
        axis.set_ylim(0, 100)
        if axis.get_legend_handles_labels()[0]:
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncol": 2}
            axis.legend(frameon=False, fontsize=8, **place)
    axes[0].set_ylabel("accuracy on clean test pictures (%)")
    if rows:
        figure.suptitle(f"{rows[0].dataset}: dashed is what the paper prints", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _curve(
    axis: object,
    rows: Sequence[Row],
    label: str,
    colour: str,
    *,
    thin: bool,
    with_paper: bool = True,
) -> None:
    if not rows:
        return
    places = [_CLEAN if row.setting.epsilon is None else row.setting.epsilon for row in rows]
    order = sorted(range(len(rows)), key=places.__getitem__)
    axis.errorbar(  # type: ignore[attr-defined]
        [places[i] for i in order],
        [rows[i].accuracy for i in order],
        [rows[i].spread for i in order],
        color=colour,
        marker="o",
        markersize=3,
        linewidth=0.9 if thin else 2,
        label=label,
    )
    printed = [(places[i], rows[i].paper) for i in order if rows[i].paper is not None]
    if with_paper and printed:
        x, y = zip(*printed, strict=True)
        axis.plot(  # type: ignore[attr-defined]
            x, y, color=colour, linestyle="--", linewidth=0.9 if thin else 1.5, alpha=0.7
        )
