"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: side by side, and plots."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sfumato.adversary.metrics import Interval
from sfumato.core.storage import write_file
from sfumato_papers.harness import plot as draw
from sfumato_papers.ldp_feat.inversion.outcomes import (
    LADDER,
    Row,
    Setting,
)
from sfumato_papers.ldp_feat.inversion.releases import (
    SIDE,
)

_COLORS = {
    "vertex": draw.RED,
    "database": draw.GOLD,
    "clustering": draw.BLUE,
    "nearest": draw.GRAY,
    "direct": draw.GREEN,
}
_GAP, _HEAD = 4, 30


def draw_sheet(
    folder: Path, columns: Sequence[tuple[str, str]], path: Path, *, side: int = 160
) -> int:
    """Kept pictures as rows, settings as columns, as PNG or JPEG by the name of the file.

    columns  (title, file name without .png); "original" is the photograph
    A picture that lacks a column is left out; returns how many rows there are.
    """
    rows = [
        [home / f"{name}.png" for _, name in columns]
        for home in sorted(entry for entry in folder.glob("*") if entry.is_dir())
        if all((home / f"{name}.png").is_file() for _, name in columns)
    ]
    if not rows:
        return 0
    wide = len(columns) * (side + _GAP) - _GAP
    sheet = Image.new("RGB", (wide, _HEAD + len(rows) * (side + _GAP)), "white")
    pen, font = ImageDraw.Draw(sheet), _font(max(10, side // 11))
    for i, (title, _) in enumerate(columns):
        middle = i * (side + _GAP) + side // 2
        pen.text((middle, _HEAD // 2), title, fill=draw.INK, font=font, anchor="mm")
    for j, files in enumerate(rows):
        for i, file in enumerate(files):
            with Image.open(file) as picture:
                small = picture.convert("RGB")
                if side != SIDE:
                    small = small.resize((side, side), Image.Resampling.LANCZOS)
            sheet.paste(small, (i * (side + _GAP), _HEAD + j * (side + _GAP)))
    data = io.BytesIO()
    jpeg = path.suffix.lower() in (".jpg", ".jpeg")
    sheet.save(data, format="JPEG" if jpeg else "PNG", **({"quality": 88} if jpeg else {}))
    write_file(path, data.getvalue())
    return len(rows)


def _font(size: int) -> ImageFont.FreeTypeFont:
    """Pillow's own font has no ε; matplotlib brings one that has."""
    from matplotlib import get_data_path

    return ImageFont.truetype(Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", size)


def sheets_of(rows: Sequence[Row]) -> dict[str, list[tuple[str, str]]]:
    """The contact sheets these rows can fill, by name: one for each m, one for each (|K|, ω)."""
    settings = {row.setting for row in rows}
    first = [("photograph", "original"), ("raw", Setting("raw").name)]
    sheets: dict[str, list[tuple[str, str]]] = {}
    baselines = [(name, Setting(name).name) for name in ("positions", "mean colour")
                 if Setting(name) in settings]  # fmt: skip
    sheets["raw"] = [*first, *baselines]
    for row in rows:
        defence, attack = row.setting.defence, row.setting.attack
        if defence.strategy:
            key = f"{defence.strategy}-m{defence.dimension}"
            title = f"{attack}, m = {defence.dimension}"
        elif defence.subset_size:
            key = f"words-{defence.num_words}-{defence.subset_size}-{attack}"
            title = f"word{'s' * (defence.subset_size > 1)}, ε = {defence.epsilon:g}"
        else:
            continue
        sheets.setdefault(key, list(first)).append((title, row.setting.name))
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
    figure, (left, right) = draw.panels(2, (9.5, 3.8), share_y=True)
    lifts: dict[str, list[tuple[float, Interval]]] = {}
    words: dict[str, list[tuple[float, Interval]]] = {}
    for row in rows:
        defence, attack = row.setting.defence, row.setting.attack
        if defence.strategy == "sub-hybrid":
            lifts.setdefault(attack, []).append((defence.dimension, row.ssim))
        elif defence.epsilon is not None and math.isfinite(defence.epsilon):
            name = f"{attack}, |K| = {defence.num_words:,}, ω = {defence.subset_size}"
            words.setdefault(name, []).append((defence.epsilon, row.ssim))
    for attack, points in lifts.items():
        _curve(left, points, _COLORS.get(attack, draw.INK), attack)
    for number, (name, points) in enumerate(words.items()):
        _curve(right, points, f"C{number}", name)
    dimensions = sorted({int(place) for points in lifts.values() for place, _ in points})
    if dimensions:
        draw.log2_ticks(left, dimensions)
    left.set_xlabel("dimension of the subspace, m (no guarantee)")
    left.set_ylabel("SSIM, mean over pictures")
    right.set_xlabel("ε per descriptor (× keypoints for a picture)")
    flat = {row.setting.attack: row.ssim.mean for row in rows
            if row.setting.defence == Setting("raw").defence}  # fmt: skip
    for axis in (left, right):
        for name, style in (("raw", "--"), ("positions", ":"), ("mean colour", "-.")):
            if name in flat:
                axis.axhline(flat[name], color=draw.INK, linestyle=style, linewidth=1, label=name)
        draw.legend(axis)
    return draw.save(figure, path, dpi=150)


def _curve(axis: Any, points: Sequence[tuple[float, Interval]], color: str, label: str) -> None:
    shown = []
    for place, value in sorted(points, key=lambda point: point[0]):
        low, high = np.nan_to_num([value.mean - value.low, value.high - value.mean])
        shown.append((place, value.mean, (low, high)))
    draw.curve(axis, shown, color=color, capsize=2, label=label)
