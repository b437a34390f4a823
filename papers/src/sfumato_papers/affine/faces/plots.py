"""Affine embeddings, Fig. 4 and 5: plots of figures, never of faces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato_papers.affine.faces.tables import attribute_rows, history_rows, verification_rows
from sfumato_papers.harness.plot import BLUE, GOLD, GRAY, GREEN, INK, RED, Panel, draw, lines
from sfumato_papers.harness.table import grouped, show

Rows = Sequence[Mapping[str, Any]]

_COLORS = {"random": GRAY, "adversarial": RED, "hybrid": BLUE, "hybrid+": GREEN, "even": GOLD,
           "K-NN": BLUE, "learned": RED, "words": INK}  # fmt: skip
_STYLES = {"fresh": "-", "memoised": "--"}
_WAYS = {
    "p–s": "one side lifted (p–s)",
    "s–s": "both sides lifted (s–s)",
    "s–s memoised": "both, memoised directions",
    "p–w": "one side as a word (p–w)",
    "p–v": "one side as a unit vector (p–v)",
}
_PICTURES = {"one": "k lifts of one picture", "several": "lifts of k pictures of one person"}


def draw_plots(records: Rows, folder: Path) -> list[Path]:
    """Whatever there are results of, one file each."""
    plots = {
        "verification": _verification(verification_rows(records)),
        "history": _history(history_rows(records)),
        "attributes": _attributes(attribute_rows(records)),
    }
    return [
        draw(folder / f"faces-{name}.png", *panels, size=(4.2 * len(panels), 3.8))
        for name, panels in plots.items()
        if panels
    ]


def _verification(rows: Rows) -> list[Panel]:
    """[affine, Fig. 4]: accuracy over m for one and both sides lifted; words and vectors over ε."""
    raw = [row["accuracy"] for row in rows if row["way"] == "cosine"]
    words = [row for row in rows if (row["way"], row["source"]) == ("p–w", "directions")]
    places = sorted({row["epsilon"] for row in words})
    alike: dict[str, Any] = {
        "y": "accuracy",
        "spread": "half_width",
        "scale": 100,
        "panel": "way",
        "titles": _WAYS,
        "y_label": "verification accuracy (%)",
        "levels": {"raw": (100 * raw[0], ":")} if raw else {},
        "legend": {"loc": "lower left"},
        "more": {"ylim": (45, 102)},
    }
    lifted = lines(
        [row for row in rows if row["strategy"]],
        x="dimension",
        curve="strategy",
        colors=_COLORS,
        ticks=(2, 4, 8, 16),
        x_label="dimension of the subspaces, m",
        **alike,
    )
    over_epsilon: dict[str, Any] = {
        "x": lambda row: places.index(row["epsilon"]),
        "ticks": {place: show(epsilon, "g") for place, epsilon in enumerate(places)},
        "x_label": "ε per embedding (∞: words without noise)",
        **alike,
    }
    vectors = [row for row in rows if row["way"] == "p–v" and row["epsilon"] in places]
    return (
        lifted
        + lines(words, curve=lambda row: f"|K| = {row['num_words']}", **over_epsilon)
        + lines(vectors, curve=lambda row: f"n = {row['numbers']}", **over_epsilon)
    )


def _history(rows: Rows) -> list[Panel]:
    """How far the recovered embedding is from the true one, after k releases; then votes."""
    dimensions = [row["dimension"] for row in rows if "dimension" in row]
    middle = 4 if 4 in dimensions else dimensions[0] if dimensions else 0
    points = [
        {**row, "k": int(k), "share": share, "error": max(row["median_error"].get(k, 0), 1e-8)}
        for row in rows
        for k, share in row["recovered"].items()
    ]
    alike: dict[str, Any] = {"x": "k", "style": "way", "styles": _STYLES, "x_label": "releases, k"}
    lifts = lines(
        [point for point in points if point.get("dimension") == middle],
        y="error",
        curve=lambda row: f"{row['strategy']}, {row['way']}",
        color="strategy",
        colors=_COLORS,
        panel="pictures",
        titles={name: f"{title}, m = {middle}" for name, title in _PICTURES.items()},
        y_label="median error of the recovered embedding",
        more={"yscale": "log", "ylim": (1e-8, 3)},
        **alike,
    )
    return lifts + lines(
        [point for point in points if "epsilon" in point],
        y="share",
        scale=100,
        curve=lambda row: f"ε = {row['epsilon']:g} each, {row['way']}",
        panel=lambda _: "k words of one picture",
        y_label="true word named (%)",
        more={"ylim": (0, 103)},
        **alike,
    )


def _attributes(rows: Rows) -> list[Panel]:
    """[affine, Fig. 5]: bars of the strongest setting m for each attack; majority as a line."""
    panels = []
    for name, own in grouped(rows, lambda row: str(row["attribute"])).items():
        sent = grouped((row for row in own if "way" in row), _label)
        guess = next(row["accuracy"] for row in own if row["attack"] == "majority")
        panels += lines(
            [
                {"place": place, "attack": attack, "accuracy": max(r["accuracy"] for r in group)}
                for place, alike in enumerate(sent.values())
                for attack, group in grouped(alike, lambda row: str(row["attack"])).items()
            ],
            x="place",
            y="accuracy",
            scale=100,
            curve="attack",
            colors=_COLORS,
            title=f"{name}: answers that are right, worst m or |K|",
            y_label="%",
            levels={"majority": (100 * guess, ":")},
            ticks=dict(enumerate(sent)),
            bars=True,
            legend={"ncol": 4, "loc": 9},
            more={"ylim": (0, 116)},
        )
    return panels


def _label(row: Mapping[str, Any]) -> str:
    if "strategy" in row:
        return str(row["strategy"])
    if "numbers" in row:
        return f"vector, ε = {show(float(row['epsilon']), 'g')}"
    return f"word, ε = {show(float(row['epsilon']), 'g')}" if "epsilon" in row else str(row["way"])
