"""The table and the plot of the matching experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.experiments.matching import THRESHOLDS, Outcome, Setting

_SHOWN = (1, 3, 5, 10)  # pixels, as columns
_ORDER = ("raw", "random", "adversarial", "hybrid", "sub-adversarial", "sub-hybrid")
_COLORS = ("#1b1b1f", "#8a8a94", "#c8553d", "#d9a441", "#4a7c8c", "#2f5d3a")


@dataclass(frozen=True, eq=False)
class Row:
    """One setting over one kind of sequences.

    accuracy  mean matching accuracy at 1 … 10 px, over pairs of pictures, then over seeds
    spread    standard deviation of its mean over thresholds between seeds
    """

    setting: Setting
    change: str  # illumination, viewpoint, other, or all
    num_pairs: int
    num_matches: float
    accuracy: NDArray[np.float64]
    spread: float
    milliseconds: float

    @property
    def mean(self) -> float:
        """Over all thresholds: the area under the curve."""
        return float(self.accuracy.mean())

    def as_dict(self) -> dict[str, Any]:
        setting = self.setting
        return {
            "strategy": setting.strategy,
            "dimension": setting.dimension,
            "distance": setting.distance,
            "precision": setting.precision,
            "change": self.change,
            "pairs": self.num_pairs,
            "matches": self.num_matches,
            "accuracy": {str(t): float(a) for t, a in zip(THRESHOLDS, self.accuracy, strict=True)},
            "mean_accuracy": self.mean,
            "spread_between_seeds": self.spread,
            "milliseconds": self.milliseconds,
        }


def summarise(outcomes: Sequence[Outcome]) -> list[Row]:
    """A row for every setting and every kind of change, and for all kinds together."""
    kinds = [*dict.fromkeys(outcome.change for outcome in outcomes), "all"]
    settings = sorted(dict.fromkeys(outcome.setting for outcome in outcomes), key=_place)
    rows = []
    for setting in settings:
        for kind in kinds:
            chosen = [o for o in outcomes if o.setting == setting and kind in (o.change, "all")]
            if chosen:
                rows.append(_row(setting, kind, chosen))
    return rows


def _row(setting: Setting, kind: str, chosen: list[Outcome]) -> Row:
    seeds = sorted({outcome.seed for outcome in chosen})
    curves = np.array(
        [np.mean([o.accuracy for o in chosen if o.seed == seed], axis=0) for seed in seeds]
    )
    return Row(
        setting=setting,
        change=kind,
        num_pairs=len({(o.sequence, o.picture) for o in chosen}),
        num_matches=float(np.mean([o.num_matches for o in chosen])),
        accuracy=curves.mean(axis=0),
        spread=float(curves.mean(axis=1).std(ddof=1)) if len(seeds) > 1 else 0.0,
        milliseconds=1000 * float(np.median([o.seconds for o in chosen])),
    )


def table_lines(head: dict[str, Any], rows: Sequence[Row]) -> list[str]:
    """The table as text, with what must be known to read it."""
    kinds = [kind for kind in dict.fromkeys(row.change for row in rows) if kind != "all"]
    heads = ["strategy", "m", "distance", "pairs", "matches", *(f"≤{t} px" for t in _SHOWN), "mean"]
    heads += ["±", *kinds, "ms"]
    body = []
    for row in (row for row in rows if row.change == "all"):
        setting = row.setting
        parts = {other.change: other for other in rows if other.setting == setting}
        half = "" if setting.precision == "float32" else f" {setting.precision}"
        body.append(
            [
                setting.strategy + half,
                str(setting.dimension or "–"),
                setting.distance,
                str(row.num_pairs),
                f"{row.num_matches:.0f}",
                *(_percent(row.accuracy[t - 1]) for t in _SHOWN),
                _percent(row.mean),
                _percent(row.spread) if setting.strategy != "raw" else "–",
                *(_percent(parts[kind].mean) if kind in parts else "–" for kind in kinds),
                f"{row.milliseconds:.0f}",
            ]
        )
    widths = [max(len(line[i]) for line in [heads, *body]) for i in range(len(heads))]
    lines = [
        "  ".join(
            cell.ljust(width) if i in (0, 2) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in [heads, *body]
    ]
    return [
        f"{', '.join(head['sequences'])}: {head['extractor']}, the {head['max_keypoints']:,} "
        f"strongest keypoints; database of {head['num_words']:,} words ({head['provenance']})",
        "",
        *lines,
        "",
        "Mean matching accuracy in percent: right matches of all mutual nearest neighbours; mean",
        "is over 1 to 10 px, ± its standard deviation between seeds, then the mean for each kind",
        "of change. point-subspace: picture 1 is raw, the other lifted; subspace-subspace: both",
        "are lifted. Lifting has no guarantee. affine, Fig. 2, says of HPatches: random lifting",
        "equals raw, adversarial falls first, sub-hybrid holds best.",
    ]


def draw_plot(rows: Sequence[Row], path: str | Path) -> None:
    """Accuracy over dimension for both distances, beside raw: the shape of affine's Fig. 2."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    chosen = [row for row in rows if row.change == "all" and row.setting.precision == "float32"]
    raw = next((row.mean for row in chosen if row.setting.strategy == "raw"), None)
    lifted = [row.setting.distance for row in chosen if row.setting.strategy != "raw"]
    distances = list(dict.fromkeys(lifted))
    figure, axes = pyplot.subplots(
        1, max(len(distances), 1), figsize=(9, 3.6), sharey=True, squeeze=False
    )
    for axis, distance in zip(axes[0], distances, strict=False):
        for color, strategy in zip(_COLORS, _ORDER, strict=True):
            points = [
                (row.setting.dimension, 100 * row.mean, 100 * row.spread)
                for row in chosen
                if row.setting.strategy == strategy and row.setting.distance == distance
            ]
            if points:
                x, y, spread = zip(*sorted(points), strict=True)
                axis.errorbar(x, y, spread, color=color, marker="o", markersize=4, label=strategy)
        if raw is not None:
            axis.axhline(100 * raw, color=_COLORS[0], linestyle="--", linewidth=1, label="raw")
        axis.set_xscale("log", base=2)
        dimensions = sorted({row.setting.dimension for row in chosen if row.setting.dimension})
        axis.set_xticks(dimensions, [str(value) for value in dimensions])
        axis.minorticks_off()
        axis.set_xlabel("dimension of the subspace, m")
        axis.set_title(distance.replace("-", " to "), fontsize=11)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
    axes[0][0].set_ylabel("mean matching accuracy, 1–10 px (%)")
    axes[0][0].set_ylim(bottom=0)
    axes[0][-1].legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _place(setting: Setting) -> tuple[int, str, str, int]:
    return (
        _ORDER.index(setting.strategy),
        setting.precision.replace("float32", ""),  # what is usual comes first
        setting.distance,
        setting.dimension,
    )


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"
