"""Affine embeddings, Fig. 2: the table and the plot of `sfumato experiment matching`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.progress import Progress
from sfumato.datasets.hpatches import read_sequences
from sfumato.dictionary import Dictionary
from sfumato_papers.affine.matching import (
    JOURNAL,
    THRESHOLDS,
    Outcome,
    Setting,
    Settings,
    run_matching,
)
from sfumato_papers.harness import plot as draw
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import needed
from sfumato_papers.harness.table import Table, table_of

_SHOWN = (1, 3, 5, 10)  # pixels, as columns
_COLORS = {"raw": draw.INK, "random": draw.GRAY, "adversarial": draw.RED, "hybrid": draw.GOLD,
           "sub-adversarial": draw.BLUE, "sub-hybrid": draw.GREEN}  # fmt: skip


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
        return {
            **asdict(self.setting),
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
    rows = []
    for setting in sorted({outcome.setting for outcome in outcomes}, key=_place):
        for kind in kinds:
            chosen = [o for o in outcomes if o.setting == setting and kind in (o.change, "all")]
            if chosen:
                rows.append(_row(setting, kind, chosen))
    return rows


def _place(setting: Setting) -> tuple[int, str, str, int]:
    place = list(_COLORS).index(setting.strategy)
    return place, setting.half, setting.distance, setting.dimension


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


def table(rows: Sequence[Row]) -> Table:
    """Settings over all sequences, with the mean of each kind of change."""
    kinds = [kind for kind in dict.fromkeys(row.change for row in rows) if kind != "all"]
    means = {(row.setting, row.change): row.mean for row in rows}
    columns = [
        ("strategy", lambda row: f"{row.setting.strategy} {row.setting.half}".rstrip()),
        ("m", lambda row: row.setting.dimension or None), ("distance", "setting.distance"),
        ("pairs", "num_pairs"), ("matches", "num_matches", ".0f"),
        *((f"≤{t} px", lambda row, t=t: row.accuracy[t - 1], ".1p") for t in _SHOWN),
        ("mean", "mean", ".1p"),
        ("±", lambda row: None if row.setting.strategy == "raw" else row.spread, ".1p"),
        *((kind, lambda row, kind=kind: means.get((row.setting, kind)), ".1p") for kind in kinds),
        ("ms", "milliseconds", ".0f"),
    ]  # fmt: skip
    return table_of((row for row in rows if row.change == "all"), *columns, left=(0, 2))


NOTES = (
    "Mean matching accuracy in percent: right matches of all mutual nearest neighbours; mean",
    "is over 1 to 10 px, ± its standard deviation between seeds, then the mean for each kind",
    "of change. point-subspace: picture 1 is raw, the other lifted; subspace-subspace: both",
    "are lifted. Lifting has no guarantee. affine, Fig. 2, says of HPatches: random lifting",
    "equals raw, adversarial falls first, sub-hybrid holds best.",
)


def draw_plot(rows: Sequence[Row], path: Path) -> Path:
    """Accuracy over dimension for both distances, beside raw: the shape of affine's Fig. 2."""
    chosen = [row for row in rows if row.change == "all" and row.setting.precision == "float32"]
    raw = next((row.mean for row in chosen if row.setting.strategy == "raw"), None)
    lifted = [row for row in chosen if row.setting.strategy != "raw"]
    distances = list(dict.fromkeys(row.setting.distance for row in lifted))
    figure, axes = draw.panels(max(len(distances), 1), (9, 3.6), share_y=True)
    for axis, distance in zip(axes, distances, strict=False):
        for strategy, color in _COLORS.items():
            points = [
                (row.setting.dimension, 100 * row.mean, 100 * row.spread)
                for row in lifted
                if (row.setting.strategy, row.setting.distance) == (strategy, distance)
            ]
            draw.curve(axis, sorted(points), color=color, label=strategy)
        if raw is not None:
            axis.axhline(100 * raw, color=draw.INK, linestyle="--", linewidth=1, label="raw")
        draw.log2_ticks(axis, sorted({row.setting.dimension for row in lifted}))
        axis.set_xlabel("dimension of the subspace, m")
        axis.set_title(distance.replace("-", " to "), fontsize=11)
    axes[0].set_ylabel("mean matching accuracy, 1–10 px (%)")
    axes[0].set_ylim(bottom=0)
    draw.legend(axes[-1], fontsize=9)
    return draw.save(figure, path, dpi=150)


def _run(settings: Settings, path: Path, progress: Progress) -> None:
    words = Dictionary.load(settings.database)
    run_matching(read_sequences(needed(settings.data)), words, settings, path, progress=progress)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    rows = summarise(outcomes)
    plot = draw_plot(rows, path.parent / "matching.png")
    title = (
        f"{', '.join(head['sequences'])}: {head['extractor']}, the {head['max_keypoints']:,} "
        f"strongest keypoints; database of {head['num_words']:,} words ({head['provenance']})"
    )
    return Report(
        [title, "", table(rows), "", *NOTES, f"outcomes: {path}   plot: {plot}"],
        {**head, "rows": [row.as_dict() for row in rows], "plot": str(plot)},
    )


command = make_command(Settings, _run, _report, "experiment-matching")
