"""Affine embeddings, Fig. 2: the table and the plot of `sfumato experiment matching`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

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
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import needed
from sfumato_papers.harness.plot import BLUE, GOLD, GRAY, GREEN, INK, RED, draw, lines
from sfumato_papers.harness.table import Table, grouped, spread, table_of

_SHOWN = (1, 3, 5, 10)  # pixels, as columns
_COLORS = {"raw": INK, "random": GRAY, "adversarial": RED, "hybrid": GOLD,
           "sub-adversarial": BLUE, "sub-hybrid": GREEN}  # fmt: skip

Row = dict[str, Any]


def summarise(outcomes: Sequence[Outcome]) -> list[Row]:
    """A row for every setting and every kind of change, and for all kinds together.

    accuracy  mean matching accuracy at 1 … 10 px, over pairs of pictures, then over seeds
    """
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
    return place, _half(setting.precision), setting.distance, setting.dimension


def _half(precision: str) -> str:
    """The precision where it is not the usual one."""
    return precision.replace("float32", "")


def _row(setting: Setting, kind: str, chosen: list[Outcome]) -> Row:
    by_seed = grouped(chosen, lambda outcome: outcome.seed).values()
    curves = np.array([np.mean([o.accuracy for o in group], axis=0) for group in by_seed])
    accuracy = curves.mean(axis=0)
    return {
        **asdict(setting),
        "change": kind,
        "pairs": len({(o.sequence, o.picture) for o in chosen}),
        "matches": float(np.mean([o.num_matches for o in chosen])),
        "accuracy": {str(t): float(a) for t, a in zip(THRESHOLDS, accuracy, strict=True)},
        "mean_accuracy": float(accuracy.mean()),  # the area under the curve
        "seeds": len(curves),
        "spread_between_seeds": spread(curves.mean(axis=1)),
        "milliseconds": 1000 * float(np.median([o.seconds for o in chosen])),
    }


def table(rows: Sequence[Row]) -> Table:
    """Settings over all sequences, with the mean of each kind of change."""
    names = tuple(asdict(Setting()))
    means = {(row["change"], *map(row.get, names)): row["mean_accuracy"] for row in rows}
    kinds = [kind for kind in dict.fromkeys(row["change"] for row in rows) if kind != "all"]
    columns = [
        ("strategy", lambda row: f"{row['strategy']} {_half(row['precision'])}".rstrip()),
        ("m", lambda row: row["dimension"] or None), ("distance", "distance"),
        ("pairs", "pairs"), ("matches", "matches", ".0f"),
        *((f"≤{t} px", f"accuracy.{t}", ".1p") for t in _SHOWN),
        ("mean", "mean_accuracy", ".1p"),
        ("±", lambda row: row["spread_between_seeds"] if row["seeds"] > 1 else None, ".1p"),
        *((kind, lambda row, kind=kind: means.get((kind, *map(row.get, names))), ".1p")
          for kind in kinds),
        ("ms", "milliseconds", ".0f"),
    ]  # fmt: skip
    shown = [row for row in rows if row["change"] == "all"]
    return table_of(shown, *columns, left=(0, 2), fold=("pairs",), drop=("±",))


NOTES = (
    "Mean matching accuracy in percent: right matches of all mutual nearest neighbours; mean",
    "is over 1 to 10 px, ± its standard deviation between seeds, then the mean for each kind",
    "of change. point-subspace: picture 1 is raw, the other lifted; subspace-subspace: both",
    "are lifted. Lifting has no guarantee. affine, Fig. 2, says of HPatches: random lifting",
    "equals raw, adversarial falls first, sub-hybrid holds best.",
)


def draw_plot(rows: Sequence[Row], path: Path) -> Path:
    """Accuracy over dimension for both distances, beside raw: the shape of affine's Fig. 2."""
    chosen = [row for row in rows if row["change"] == "all" and row["precision"] == "float32"]
    raw = [row["mean_accuracy"] for row in chosen if not row["dimension"]]
    lifted = [row for row in chosen if row["dimension"]]
    panels = lines(
        lifted,
        x="dimension",
        y="mean_accuracy",
        spread="spread_between_seeds",
        scale=100,
        curve="strategy",
        panel="distance",
        colors=_COLORS,
        levels={"raw": (100 * raw[0], "--")} if raw else {},
        ticks=sorted({row["dimension"] for row in lifted}),
        x_label="dimension of the subspace, m",
        y_label="mean matching accuracy, 1–10 px (%)",
    )
    return draw(path, *panels, size=(9, 3.6), share_y=True, dpi=150)


def _run(settings: Settings, path: Path) -> None:
    words = Dictionary.load(settings.database)
    run_matching(read_sequences(needed(settings.data)), words, settings, path)


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
        {**head, "rows": rows, "plot": plot},
    )


command = make_command(Settings, _run, _report, "experiment-matching")
