"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: side by side, and plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.adversary.metrics import Interval
from sfumato_papers.harness.plot import BLUE, GOLD, GRAY, GREEN, RED, draw, lines, picture_grid
from sfumato_papers.ldp_feat.inversion.outcomes import LADDER, Setting, word_series

Row = dict[str, Any]

_COLORS = {"vertex": RED, "database": GOLD, "clustering": BLUE, "nearest": GRAY, "direct": GREEN}


def draw_sheet(
    folder: Path, columns: Sequence[tuple[str, str]], path: Path, *, side: int = 160
) -> int:
    """Kept pictures as rows, settings as columns; how many rows there are.

    columns  (title, file name without .png); "original" is the photograph
    A picture that lacks a column is left out.
    """
    homes = sorted(entry for entry in folder.glob("*") if entry.is_dir())
    every = [[home / f"{name}.png" for _, name in columns] for home in homes]
    rows = [files for files in every if all(file.is_file() for file in files)]
    if rows:
        picture_grid(path, [title for title, _ in columns], rows, side=side)
    return len(rows)


def sheets_of(rows: Sequence[Row]) -> dict[str, list[tuple[str, str]]]:
    """The contact sheets these rows can fill, by name: one per m, one per series of words."""
    settings = {row["setting"] for row in rows}
    first = [("photograph", "original"), ("raw", Setting("raw").name)]
    sheets: dict[str, list[tuple[str, str]]] = {}
    baselines = [(name, Setting(name).name) for name in ("positions", "mean colour")
                 if Setting(name) in settings]  # fmt: skip
    sheets["raw"] = [*first, *baselines]
    for row in rows:
        defence, attack = row["setting"].defence, row["setting"].attack
        if defence.strategy:
            title = f"{attack}, m = {defence.dimension}"
            key = f"{defence.strategy}-m{defence.dimension}"
            sheets.setdefault(key, list(first)).append((title, row["setting"].name))
    for same in word_series([row["setting"] for row in rows]).values():
        one = same[0].defence
        sizes = {setting.defence.num_words for setting in same}
        words = f"-{one.num_words}" if len(sizes) == 1 else ""
        sheets[f"words{words}-{one.subset_size}-{same[0].attack}"] = [*first] + [
            (f"word{'s' * (one.subset_size > 1)}, ε = {setting.defence.epsilon:g}", setting.name)
            for setting in same
        ]
    for key, columns in sheets.items():
        if "-m" in key:
            columns.sort(key=lambda column: _rank(column[0]))
    return sheets


def _rank(title: str) -> int:
    """Photograph, then the ladder from most to least shown, then the rest."""
    name = title.split(",")[0]
    order = ("photograph", *LADDER)
    return order.index(name) if name in order else len(order)


def draw_plot(rows: Sequence[Row], path: Path) -> Path:
    """SSIM over m for every attack on lifts, and over ε for words, with intervals."""
    lifts = [row for row in rows if row["setting"].defence.strategy == "sub-hybrid"]
    words = [row for row in rows if math.isfinite(row["setting"].defence.epsilon or math.inf)]
    named = word_series([row["setting"] for row in words])
    series = {setting: label for label, rows in named.items() for setting in rows}
    flat = {row["setting"].attack: row["ssim"].mean for row in rows
            if row["setting"].defence == Setting("raw").defence}  # fmt: skip
    styles = {"raw": "--", "positions": ":", "mean colour": "-."}
    alike: dict[str, Any] = {
        "y": "ssim.mean",
        "spread": lambda row: _spread(row["ssim"]),
        "levels": {name: (flat[name], style) for name, style in styles.items() if name in flat},
        "y_label": "SSIM, mean over pictures",
    }
    panels = [
        *lines(
            lifts,
            x="setting.defence.dimension",
            curve="setting.attack",
            colors=_COLORS,
            ticks=sorted({row["setting"].defence.dimension for row in lifts}),
            x_label="dimension of the subspace, m (no guarantee)",
            **alike,
        ),
        *lines(
            words,
            x="setting.defence.epsilon",
            curve=lambda row: series[row["setting"]],
            x_label="ε per descriptor (× keypoints for a picture)",
            **alike,
        ),
    ]
    return draw(path, *panels, size=(9.5, 3.8), share_y=True, dpi=150)


def _spread(value: Interval) -> tuple[float, ...]:
    return tuple(np.nan_to_num([value.mean - value.low, value.high - value.mean]))
