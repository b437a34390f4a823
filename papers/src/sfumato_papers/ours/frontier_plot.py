"""Ours: the figure of `sfumato experiment frontier`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from sfumato_papers.harness.plot import GRAY, INK, Curve, Panel, draw
from sfumato_papers.harness.table import grouped
from sfumato_papers.ours.frontier_advice import Row

#: Label, colour and marker of every family. Colours are those of Okabe and Ito, which people with
#: any colour vision tell apart; markers tell filters apart.
_LOOKS = {
    "raw": ("raw descriptors", INK, "s"),
    "raw, fewer": ("raw, fewer keypoints", GRAY, "o"),
    "raw, capped": ("raw, density cap", GRAY, "P"),
    "raw, suppressed": ("raw, person hidden", GRAY, "X"),
    "quantised": ("quantised, no noise", "#CC79A7", "D"),
    "lifting": ("lifted", "#D55E00", "^"),
    "lifting, dithered": ("lifted, dithered", "#E69F00", "v"),
    "words": ("private words", "#0072B2", "o"),
    "words, fewer": ("private words, fewer keypoints", "#56B4E9", "o"),
    "words, capped": ("private words, density cap", "#009E73", "P"),
    "words, suppressed": ("private words, person hidden", "#009E73", "X"),
}
_OWN_COLOR, _OWN_MARKER = "#B8A800", "*"
_FRONT = "#9a9aa6"


def draw_plot(rows: Sequence[Row], head: Mapping[str, Any], path: Path) -> Path:
    """Localized against E of a picture, and against the best attack; the front of each."""
    prices = [row["picture"] for row in rows if row["picture"]] or [1000.0]
    low, top = math.log10(min(prices)) - 0.1, math.log10(max(prices)) + 0.1
    step = max((top - low) / 12, 0.03)
    free = list(dict.fromkeys(row["way"].family for row in rows if not row["picture"]))

    def price(row: Row) -> float:
        """The logarithm of E; what promises nothing stands in columns behind the last E."""
        if row["picture"]:
            return math.log10(row["picture"])
        return top + step * (1.5 + free.index(row["way"].family))

    marks = [first * 10**power for power in range(-3, 9) for first in (1, 2, 5)]
    ticks = {math.log10(mark): f"{mark:,g}" for mark in marks if low <= math.log10(mark) <= top}
    look: dict[str, Any] = {"more": {"ylim": (-4, 104)}}
    behind = top + step * (1.5 + max(len(free) - 1, 0) / 2)
    left = Panel(
        [_line(top + step / 2), *_curves(rows, price, "picture")],
        title="against what is promised",
        x_label="← more private: E of a picture at δ = 1e-6",
        y_label=f"localized within {head['within']} (%)",
        ticks={**ticks, behind: "no promise"},
        legend=None,
        **look,
    )
    attacked = [row for row in rows if row["ssim"] is not None]
    grey = [_line(attacked[0]["grey"], "a grey picture")] if attacked else []
    right = Panel(
        [*grey, *_curves(attacked, lambda row: float(row["ssim"]), "ssim")],
        title="against what an attack paints",
        x_label="← more private: SSIM of the best inversion",
        legend={"loc": "center left", "bbox_to_anchor": (1.0, 0.5)},
        **look,
    )
    return draw(path, left, right, size=(11.0, 4.2), share_y=True, dpi=120)


def _line(x: float, label: str | None = None) -> Curve:
    return Curve(label, [(x, -4, None), (x, 104, None)], GRAY, ":", marker="")


def _curves(rows: Sequence[Row], x: Callable[[Row], float], leak: str) -> list[Curve]:
    best = [row for row in rows if leak in row["fronts"]]
    front = sorted({(x(row), 100 * row["share"]) for row in best})
    stairs = [(*front[0], None)] if front else []
    for (_, height), (place, higher) in pairwise(front):
        stairs += [(place, height, None), (place, higher, None)]
    curves = [Curve("Pareto front, 95 % intervals", stairs, _FRONT, "--", marker="")]
    families = grouped(rows, lambda row: str(row["way"].family))
    for family in sorted(families, key=lambda name: [*_LOOKS, name].index(name)):
        label, color, marker = _LOOKS.get(family, (family, _OWN_COLOR, _OWN_MARKER))
        points = [(x(row), 100 * row["share"], None) for row in families[family]]
        bars = [(x(row), 100 * row["share"], _spread(row)) for row in families[family]
                if leak in row["fronts"]]  # fmt: skip
        curves.append(Curve(None, bars, color, " ", marker=""))
        curves.append(Curve(label, points, color, " ", marker=marker, size=6.5))
    return curves


def _spread(row: Row) -> tuple[float, float]:
    low, high = row["share_interval_95"]
    return 100 * (row["share"] - low), 100 * (high - row["share"])
