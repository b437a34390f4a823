"""Affine embeddings, Fig. 4 and 5: plots of figures, never of faces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato_papers.affine.faces.tables import Row, attribute_rows, history_rows, verification_rows
from sfumato_papers.harness import plot as draw

_COLORS = {
    "random": draw.GRAY,
    "adversarial": draw.RED,
    "hybrid": draw.BLUE,
    "hybrid+": draw.GREEN,
    "even": draw.GOLD,
}
_EPSILONS = (draw.INK, draw.BLUE, draw.GOLD, draw.RED, draw.GREEN)


def draw_plots(records: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Whatever there are results of, one file each."""
    plots: tuple[tuple[str, Callable[[Any, Path], None], Sequence[Any]], ...] = (
        ("verification", _verification, verification_rows(records)),
        ("history", _history, history_rows(records)),
        ("attributes", _attributes, attribute_rows(records)),
    )
    made = []
    for name, make, rows in plots:
        if rows:
            path = folder / f"faces-{name}.png"
            make(rows, path)
            made.append(path)
    return made


def _verification(rows: Sequence[Any], path: Path) -> None:
    """[affine, Fig. 4]: accuracy over m for one and for both sides lifted; then words over |K|."""
    figure, axes = draw.panels(4, (16, 3.8))
    raw = next((row for row in rows if row.way == "cosine"), None)
    titles = {
        "p–s": "one side lifted (p–s)",
        "s–s": "both sides lifted (s–s)",
        "s–s memoised": "both, memoised directions",
    }
    for axis, (way, title) in zip(axes, titles.items(), strict=False):
        for strategy, color in _COLORS.items():
            points = sorted(
                (row for row in rows if row.way == way and row.strategy == strategy),
                key=lambda row: row.dimension,
            )
            shown = [(row.dimension, *_accuracy(row)) for row in points]
            draw.curve(axis, shown, color=color, capsize=3, label=strategy)
        draw.log2_ticks(axis, [2, 4, 8, 16])
        axis.set_xlabel("dimension of the subspaces, m")
        axis.set_title(title, fontsize=11)
    words = [row for row in rows if row.way == "p–w" and row.source == "directions"]
    sizes = sorted({row.num_words for row in words})
    for color, size in zip(_EPSILONS, sizes, strict=False):
        points = sorted((r for r in words if r.num_words == size), key=lambda row: row.epsilon)
        shown = [(place, *_accuracy(row)) for place, row in enumerate(points)]
        draw.curve(axes[3], shown, color=color, capsize=3, label=f"|K| = {size}")
        names = ["∞" if row.epsilon == float("inf") else f"{row.epsilon:g}" for row in points]
        axes[3].set_xticks(range(len(points)), names)
    axes[3].set_xlabel("ε per embedding (∞: words without noise)")
    axes[3].set_title("one side as a word (p–w)", fontsize=11)
    for axis in axes:
        if raw is not None:
            axis.axhline(100 * raw.accuracy, color="#1b1b1f", linestyle=":", label="raw")
        axis.axhline(50, color="#c9c9d0", linewidth=1)
        axis.set_ylim(45, 102)
        draw.legend(axis, fontsize=8, loc="lower left")
    axes[0].set_ylabel("verification accuracy (%)")
    draw.save(figure, path)


def _accuracy(row: Row) -> tuple[float, float]:
    return 100 * row.accuracy, 100 * row.half_width


def _history(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """How far the recovered embedding is from the true one, after k releases; then votes."""
    dimensions = sorted({row["dimension"] for row in rows if "dimension" in row})
    middle = 4 if 4 in dimensions else dimensions[0]
    figure, axes = draw.panels(3, (12, 3.8))
    for axis, pictures, title in (
        (axes[0], "one", "k lifts of one picture"),
        (axes[1], "several", "lifts of k pictures of one person"),
    ):
        for row in rows:
            if row["pictures"] != pictures or not row["median_error"] or row["dimension"] != middle:
                continue
            ks = sorted(int(k) for k in row["median_error"])
            fresh = row["way"] == "fresh"
            shown = [(k, max(row["median_error"][str(k)], 1e-8), None) for k in ks]
            label = f"{row['strategy']}, {row['way']}"
            color = _COLORS[row["strategy"]]
            draw.curve(axis, shown, "-" if fresh else "--", color=color, label=label)
        axis.set_yscale("log")
        axis.set_ylim(1e-8, 3)
        axis.axhline(1e-3, color="#c9c9d0", linewidth=1)
        axis.set_title(f"{title}, m = {middle}", fontsize=11)
    axes[0].set_ylabel("median error of the recovered embedding")
    epsilons = sorted({row["epsilon"] for row in rows if "epsilon" in row})
    for row in rows:
        if "epsilon" in row:
            ks = sorted(int(k) for k in row["recovered"])
            draw.curve(
                axes[2],
                [(k, 100 * row["recovered"][str(k)], None) for k in ks],
                "-" if row["way"] == "fresh" else "--",
                color=_EPSILONS[epsilons.index(row["epsilon"]) % len(_EPSILONS)],
                label=f"ε = {row['epsilon']:g} each, {row['way']}",
            )
    axes[2].set_title("k words of one picture", fontsize=11)
    axes[2].set_ylabel("true word named (%)")
    axes[2].set_ylim(0, 103)
    for axis in axes:
        axis.set_xlabel("releases, k")
        axis.set_xticks(range(1, 6))
        draw.legend(axis, fontsize=7, handlelength=3.5)
    draw.save(figure, path)


def _attributes(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """[affine, Fig. 5]: bars of the strongest setting m for each attack; majority as a line."""
    names = list(dict.fromkeys(row["attribute"] for row in rows))
    figure, axes = draw.panels(len(names), (5.5 * len(names), 3.8))
    for axis, name in zip(axes, names, strict=True):
        own = [row for row in rows if row["attribute"] == name]
        ways = list(dict.fromkeys(_label(row) for row in own if "way" in row))
        for shift, (attack, color) in enumerate(
            (("K-NN", "#4a7c8c"), ("learned", "#c8553d"), ("words", "#1b1b1f"))
        ):
            for place, way in enumerate(ways):
                found = [r for r in own if r["attack"] == attack and _label(r) == way]
                if found:
                    best = max(found, key=lambda row: row["accuracy"])
                    axis.bar(
                        place + 0.27 * (shift - 1), 100 * best["accuracy"], 0.25, color=color,
                        label=attack if place == 0 or attack == "words" else None,
                    )  # fmt: skip
        guess = next(row for row in own if row["attack"] == "majority")
        axis.axhline(100 * guess["accuracy"], color="#1b1b1f", linestyle=":", label="majority")
        axis.set_xticks(range(len(ways)), ways, rotation=40, ha="right", fontsize=8)
        axis.set_ylim(0, 116)
        axis.set_title(f"{name}: answers that are right, worst m or |K|", fontsize=11)
        handles, labels = axis.get_legend_handles_labels()
        once = dict(zip(labels, handles, strict=True))
        axis.legend(once.values(), once.keys(), frameon=False, fontsize=8, ncol=4, loc=9)
    axes[0].set_ylabel("%")
    draw.save(figure, path)


def _label(row: Mapping[str, Any]) -> str:
    if "strategy" in row:
        return str(row["strategy"])
    if "epsilon" in row:
        return f"word, ε = {float(row['epsilon']):g}".replace("inf", "∞")
    return str(row.get("way", ""))
