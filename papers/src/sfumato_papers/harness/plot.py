"""Plots of one look: panels side by side, written as PNG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.core.storage import write_file

INK, GRAY, RED, BLUE, GREEN, GOLD = (
    "#1b1b1f", "#8a8a94", "#c8553d", "#4a7c8c", "#2f5d3a", "#d9a441",
)  # fmt: skip


def panels(count: int, size: tuple[float, float], *, share_y: bool = False) -> tuple[Any, Any]:
    """A figure and its axes, without frames on top and to the right."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, count, figsize=size, sharey=share_y, squeeze=False)
    for axis in axes[0]:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
    return figure, axes[0]


def curve(
    axis: Any, points: Sequence[tuple[float, float, Any]], style: str = "-", **look: Any
) -> None:
    """(x, y, error) with error bars; an error is a number, a pair below and above, or None."""
    if points:
        x, y, errors = zip(*points, strict=True)
        bars: Any = None if errors[0] is None else errors
        if bars is not None and isinstance(bars[0], tuple):
            bars = [*zip(*bars, strict=True)]
        axis.errorbar(x, y, bars, fmt=style, **{"marker": "o", "markersize": 4, **look})


def log2_ticks(axis: Any, values: Sequence[float], form: str = "g") -> None:
    """x doubles from tick to tick, with ticks at these values alone."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(values, [format(value, form) for value in values])
    axis.minorticks_off()


def legend(axis: Any, **look: Any) -> None:
    """A legend without a frame, where there is anything to say."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(frameon=False, **{"fontsize": 8, **look})


def save(figure: Any, path: Path, dpi: int = 110) -> Path:
    """Write the figure as PNG and let go of it."""
    from matplotlib import pyplot

    figure.tight_layout()
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=dpi)
    pyplot.close(figure)
    write_file(path, data.getvalue())
    return path
