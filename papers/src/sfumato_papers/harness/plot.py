"""Plots of one look: panels of curves or bars side by side, and grids of pictures, as PNG."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.storage import write_file
from sfumato_papers.harness.table import grouped, value_of

INK, GRAY, RED, BLUE, GREEN, GOLD = (
    "#1b1b1f", "#8a8a94", "#c8553d", "#4a7c8c", "#2f5d3a", "#d9a441",
)  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """Points (x, y, spread) in this colour, in matplotlib's style: "-", "--", ":", " " for none."""

    label: str | None
    points: Sequence[tuple[float, float, Any]]
    color: str
    style: str = "-"
    marker: str = "o"
    size: float = 4


@dataclass(frozen=True)
class Panel:
    """One diagram.

    bars    curves are drawn as bars, side by side at every x
    levels  horizontal lines: label → (y, style)
    ticks   at these x alone, in powers of two; a mapping x → text instead: at equal distances
    notes   texts (x, y, text, colour, shift in points)
    more    settings of the axes by name: {"ylim": (0, 100), "yscale": "log"}
    """

    curves: Sequence[Curve]
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    levels: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    ticks: Sequence[float] | Mapping[float, str] = ()
    notes: Sequence[tuple[float, float, str, str, tuple[float, float]]] = ()
    bars: bool = False
    legend: Mapping[str, Any] | None = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


def lines(
    rows: Iterable[Any],
    *,
    x: Any,
    y: Any,
    curve: Any,
    panel: Any = lambda _: "",
    spread: Any = lambda _: None,
    scale: float = 1,
    titles: Mapping[Any, str] | None = None,
    colors: Mapping[Any, str] | None = None,
    styles: Mapping[Any, str] | None = None,
    color: Any = None,
    style: Any = lambda _: "-",
    **look: Any,
) -> list[Panel]:
    """Panels of rows: those alike in `panel` share a diagram, those alike in `curve` a curve.

    x, y, spread, curve, panel, color, style  of a row: a name in it or a function, as in tables
    titles, colors, styles  by the panel, and by what `color` (else `curve`) and `style` say
    look                    further fields of every panel
    """
    named, colored, styled, found = titles or {}, colors or {}, styles or {}, []
    cycle = (INK, BLUE, GOLD, RED, GREEN, GRAY)
    for title, own in grouped(rows, lambda row: value_of(row, panel)).items():
        curves: list[Curve] = []
        for label, group in grouped(own, lambda row: value_of(row, curve)).items():
            first = group[0]
            hue = colored.get(value_of(first, color or curve), cycle[len(curves) % len(cycle)])
            points = [
                (value_of(row, x), scale * value_of(row, y), _scaled(value_of(row, spread), scale))
                for row in group
            ]
            dashes = value_of(first, style)
            curves.append(Curve(str(label), points, hue, styled.get(dashes, dashes)))
        found.append(Panel(curves, **{"title": named.get(title, title), **look}))
    return found


def _scaled(spread: Any, scale: float) -> Any:
    """A spread is a number, a pair (below, above), or None."""
    if isinstance(spread, tuple):
        return tuple(scale * end for end in spread)
    return None if spread is None else scale * spread


def draw(
    path: Path, *panels: Panel, size: tuple[float, float], share_y: bool = False, dpi: int = 110
) -> Path:
    """Write the panels side by side; an empty diagram where there are none."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = panels or (Panel(()),)
    figure, axes = pyplot.subplots(1, len(shown), figsize=size, sharey=share_y, squeeze=False)
    for axis, panel in zip(axes[0], shown, strict=True):
        _draw(axis, panel)
    figure.tight_layout()
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=dpi)
    pyplot.close(figure)
    write_file(path, data.getvalue())
    return path


def _draw(axis: Any, panel: Panel) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", alpha=0.3)
    wide = 0.8 / max(len(panel.curves), 1)
    for number, curve in enumerate(panel.curves):
        if not curve.points:
            continue
        x, y, spreads = zip(*sorted(curve.points, key=lambda point: point[0]), strict=True)
        look = {"color": curve.color, "label": curve.label}
        if panel.bars:
            shift = wide * (number - (len(panel.curves) - 1) / 2)
            axis.bar([place + shift for place in x], y, 0.92 * wide, **look)
            continue
        bars: Any = None if spreads[0] is None else spreads
        if bars is not None and isinstance(bars[0], tuple):
            bars = [*zip(*bars, strict=True)]
        look["marker"] = curve.marker
        axis.errorbar(x, y, bars, fmt=curve.style, markersize=curve.size, capsize=2, **look)
    for label, (level, style) in panel.levels.items():
        axis.axhline(level, color=INK, linestyle=style, linewidth=1, label=label or None)
    for left, height, text, color, away in panel.notes:
        axis.annotate(
            text, (left, height), textcoords="offset points", xytext=away, fontsize=8, color=color
        )
    if isinstance(panel.ticks, Mapping):
        turned = {"rotation": 40, "ha": "right", "fontsize": 8} if panel.bars else {}
        axis.set_xticks([*panel.ticks], [*panel.ticks.values()], **turned)
    elif panel.ticks:
        axis.set_xscale("log", base=2)
        axis.set_xticks(panel.ticks, [f"{value:,g}" for value in panel.ticks])
        axis.minorticks_off()
    axis.set_title(panel.title, fontsize=11)
    axis.set(xlabel=panel.x_label, ylabel=panel.y_label, **panel.more)
    if panel.legend is not None and axis.get_legend_handles_labels()[0]:
        axis.legend(frameon=False, **{"fontsize": 8, **panel.legend})


def picture_grid(
    path: Path, titles: Sequence[str], rows: Sequence[Sequence[Path]], *, side: int = 160
) -> Path:
    """Square pictures from files, a row of them to a line, each column under its title."""
    from matplotlib import get_data_path
    from PIL import Image, ImageDraw, ImageFont

    gap, head = 4, 30
    wide = len(titles) * (side + gap) - gap
    sheet = Image.new("RGB", (wide, head + len(rows) * (side + gap)), "white")
    # Pillow's own font has no ε; matplotlib brings one that has.
    file = Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    pen, font = ImageDraw.Draw(sheet), ImageFont.truetype(file, max(10, side // 11))
    for i, title in enumerate(titles):
        middle = i * (side + gap) + side // 2
        pen.text((middle, head // 2), title, fill=INK, font=font, anchor="mm")
    for j, files in enumerate(rows):
        for i, source in enumerate(files):
            with Image.open(source) as picture:
                small = picture.convert("RGB").resize((side, side), Image.Resampling.LANCZOS)
            sheet.paste(small, (i * (side + gap), head + j * (side + gap)))
    data = io.BytesIO()
    jpeg = path.suffix.lower() in (".jpg", ".jpeg")
    sheet.save(data, format="JPEG" if jpeg else "PNG", **({"quality": 88} if jpeg else {}))
    write_file(path, data.getvalue())
    return path
