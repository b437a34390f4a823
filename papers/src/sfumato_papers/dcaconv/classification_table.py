"""DCAConv, Tables 1 and 2, Fig. 3 and 4: the paper's cells beside ours, as a table and a plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.progress import Progress
from sfumato_papers.dcaconv.classification import (
    JOURNAL,
    Outcome,
    Setting,
    Settings,
    run_classification,
)
from sfumato_papers.dcaconv.pictures import open_problem
from sfumato_papers.dcaconv.recipes import ENCODERS, EPSILONS, RECIPES
from sfumato_papers.harness import plot as draw
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import needed
from sfumato_papers.harness.table import Table, table_of

#: (encoder, learner, dataset) → accuracy in percent at each ε.
TABLES: dict[tuple[str, str, str], tuple[float, ...]] = {
    # Table 1, d = 16
    ("dcaconv-16", "naive-bayes", "mnist"): (
        77.52, 86.35, 87.15, 87.19, 87.07, 86.97, 86.92, 86.92, 86.90, 86.90,
    ),
    ("dcaconv-16", "naive-bayes", "fashion"): (
        58.96, 68.27, 68.71, 68.88, 68.89, 68.94, 68.94, 68.90, 68.90, 68.80,
    ),
    ("dcaconv-16", "naive-bayes", "yaleb"): (
        10.52, 44.27, 68.29, 75.32, 78.89, 79.43, 80.63, 80.70, 81.32, 81.71,
    ),
    ("dcaconv-16", "knn", "mnist"): (
        24.72, 68.92, 81.96, 86.05, 88.00, 89.37, 89.95, 90.27, 90.46, 90.50,
    ),
    ("dcaconv-16", "knn", "fashion"): (
        20.56, 48.58, 57.35, 63.40, 68.21, 71.54, 74.14, 75.64, 76.73, 78.70,
    ),
    ("dcaconv-16", "knn", "yaleb"): (
        6.01, 49.56, 90.76, 95.18, 95.88, 95.91, 95.88, 95.77, 95.77, 95.92,
    ),
    # Table 2, d = 2; its Fashion naive-Bayes row is that of Table 1, digit for digit: a misprint
    ("dcaconv-2", "naive-bayes", "mnist"): (
        76.38, 77.30, 77.21, 77.10, 77.04, 76.96, 76.91, 76.89, 76.83, 76.60,
    ),
    ("dcaconv-2", "naive-bayes", "fashion"): (
        58.96, 68.27, 68.71, 68.88, 68.89, 68.94, 68.94, 68.90, 68.90, 68.80,
    ),
    ("dcaconv-2", "naive-bayes", "yaleb"): (
        24.01, 44.76, 43.94, 43.38, 43.16, 42.91, 42.86, 42.74, 42.74, 42.74,
    ),
    ("dcaconv-2", "knn", "mnist"): (
        65.96, 85.25, 88.27, 89.21, 89.69, 89.95, 90.04, 90.19, 90.24, 90.20,
    ),
    ("dcaconv-2", "knn", "fashion"): (
        69.66, 70.90, 70.62, 70.52, 70.43, 70.39, 70.39, 70.37, 70.32, 70.30,
    ),
    ("dcaconv-2", "knn", "yaleb"): (
        79.33, 95.50, 95.35, 95.46, 95.58, 95.55, 95.61, 95.66, 95.75, 95.80,
    ),
}  # fmt: skip


def paper_accuracy(encoder: str, learner: str, dataset: str, epsilon: float | None) -> float | None:
    """The paper's cell, or None where it has none. It has one row for both orders of bits."""
    row = TABLES.get((encoder.removesuffix("-high"), learner, dataset))
    return row[EPSILONS.index(epsilon)] if row and epsilon in EPSILONS else None


def best_of_paper(dataset: str, epsilon: float | None) -> float | None:
    """The best of all cells for this set and ε."""
    if epsilon not in EPSILONS:
        return None
    column = EPSILONS.index(epsilon)
    cells = [row[column] for (_, _, name), row in TABLES.items() if name == dataset]
    return max(cells, default=None)


@dataclass(frozen=True)
class Row:
    """One setting over its seeds.

    accuracy, spread  in percent: mean and standard deviation between seeds
    paper             its cell for this row, or for our recipe its best cell at this ε
    """

    dataset: str
    setting: Setting
    num_values: int
    num_codes: int
    num_seeds: int
    accuracy: float
    spread: float
    paper: float | None
    choices: tuple[str, ...]

    @property
    def picture_epsilon(self) -> float | None:
        """m·ε: what all codes of one picture compose to."""
        epsilon = self.setting.epsilon
        return None if epsilon is None else epsilon * self.num_codes

    def as_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "recipe": self.setting.recipe,
            "encoder": self.setting.encoder,
            "learner": self.setting.learner,
            "num_values": self.num_values,
            "num_codes": self.num_codes,
            "epsilon_per_code": self.setting.epsilon,
            "epsilon_per_picture": self.picture_epsilon,
            "not_protected": "labels",
            "accuracy_percent": self.accuracy,
            "spread_between_seeds": self.spread,
            "seeds": self.num_seeds,
            "paper_percent": self.paper,
            "settings": list(self.choices),
        }


def summarise(dataset: str, outcomes: Sequence[Outcome]) -> list[Row]:
    """A row for every setting, in the paper's order."""
    rows = []
    for setting in sorted(dict.fromkeys(outcome.setting for outcome in outcomes), key=_place):
        chosen = [outcome for outcome in outcomes if outcome.setting == setting]
        shares = 100 * np.array([outcome.accuracy for outcome in chosen])
        if setting.recipe == "paper":
            paper = paper_accuracy(setting.encoder, setting.learner, dataset, setting.epsilon)
        elif setting.recipe == "sfumato":
            paper = best_of_paper(dataset, setting.epsilon)
        else:
            paper = None  # the paper has no guarantee for the whole picture
        rows.append(
            Row(
                dataset=dataset,
                setting=setting,
                num_values=chosen[0].num_values,
                num_codes=chosen[0].num_codes,
                num_seeds=len(chosen),
                accuracy=float(shares.mean()),
                spread=float(shares.std(ddof=1)) if len(chosen) > 1 else 0.0,
                paper=paper,
                choices=tuple(dict.fromkeys(outcome.choice for outcome in chosen)),
            )
        )
    return rows


NOTES = (
    "ε a code: randomized response on each code; ε a picture: m·ε, the guarantee for all codes",
    "of one picture together. Labels are not protected, nor are the raw training pictures from",
    "those who fit the encoder. paper: its cell [dcaconv, Tables 1, 2]; for the recipe sfumato",
    "its best cell at this ε. held out: chosen on training pictures held out. ±: standard",
    "deviation between seeds of the noise. Noise is seeded, for measuring, not for sending.",
)


def table(rows: Sequence[Row]) -> Table:
    """A line for each row, the paper's cell beside ours."""
    columns = [
        ("recipe", "setting.recipe"), ("encoder", "setting.encoder"),
        ("learner", "setting.learner"), ("d", "num_values"), ("m", "num_codes", ","),
        ("ε a code", lambda row: _epsilon(row.setting.epsilon), "g"),
        ("ε a picture", lambda row: _epsilon(row.picture_epsilon), ",.0f"),
        ("accuracy", "accuracy", ".2f"),
        ("±", lambda row: row.spread if row.num_seeds > 1 else None, ".2f"),
        ("seeds", "num_seeds"), ("paper", "paper", ".2f"),
        ("ours − paper", lambda row: row.paper and row.accuracy - row.paper, "+.2f"),
        ("settings", lambda row: "; ".join(row.choices)),
    ]  # fmt: skip
    return table_of(rows, *columns, left=(0, 1, 2, 12))


def _epsilon(epsilon: float | None) -> float:
    return math.inf if epsilon is None else epsilon


def _place(setting: Setting) -> tuple[int, int, str, float]:
    names = list(ENCODERS)
    encoder = names.index(setting.encoder) if setting.encoder in names else len(names)
    if setting.recipe == "sfumato":
        encoder = 0  # one row of the table, whichever encoder was chosen for an ε
    epsilon = np.inf if setting.epsilon is None else setting.epsilon
    learner = "" if setting.learner == "naive-bayes" else setting.learner
    return RECIPES.index(setting.recipe), encoder, learner, float(epsilon)


_CLEAN = 5.0  # where ∞ is drawn
_COLORS = {"dcaconv-16": draw.RED, "dcaconv-2": draw.GOLD, "pixels-16": draw.BLUE,
           "hog-words": draw.GRAY, "binary-network": "#6d5a8c"}  # fmt: skip
_PANELS = {
    "d = 16 and larger [Fig. 3]": ("dcaconv-16", "pixels-16", "hog-words"),
    "d = 2 [Fig. 4]": ("dcaconv-2", "binary-network"),
}


def draw_plot(rows: Sequence[Row], path: Path) -> Path:
    """One panel a figure of the paper; what the paper prints is dashed, naive Bayes thin."""
    figure, axes = draw.panels(2, (10, 5.2), share_y=True)
    ours = [row for row in rows if row.setting.recipe == "sfumato"]
    for axis, (title, encoders) in zip(axes, _PANELS.items(), strict=True):
        for name in encoders:
            for learner in ("knn", "naive-bayes"):
                wanted = ("paper", name, learner)
                _draw(
                    axis,
                    [row for row in rows if row.setting.name == wanted],
                    f"{name}, {learner}",
                    _COLORS[name],
                    thin=learner != "knn",
                )
        _draw(axis, ours, "recipe sfumato", draw.GREEN, with_paper=False)
        axis.set_title(title, fontsize=11)
        axis.set_xlabel("ε per code (labels are not protected)")
        axis.set_xticks([0, 1, 2, 3, 4, _CLEAN], ["0", "1", "2", "3", "4", "∞"])
        axis.set_ylim(0, 100)
        draw.legend(axis, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=2)
    axes[0].set_ylabel("accuracy on clean test pictures (%)")
    if rows:
        figure.suptitle(f"{rows[0].dataset}: dashed is what the paper prints", fontsize=11)
    return draw.save(figure, path)


def _draw(
    axis: Any,
    rows: Sequence[Row],
    label: str,
    color: str,
    *,
    thin: bool = False,
    with_paper: bool = True,
) -> None:
    places = {_CLEAN if row.setting.epsilon is None else row.setting.epsilon: row for row in rows}
    ordered = sorted(places.items())
    points = [(place, row.accuracy, row.spread) for place, row in ordered]
    width = 0.9 if thin else 2
    draw.curve(axis, points, color=color, markersize=3, linewidth=width, label=label)
    printed = [(place, row.paper) for place, row in ordered if row.paper is not None]
    if with_paper and printed:
        x, y = zip(*printed, strict=True)
        axis.plot(x, y, color=color, linestyle="--", linewidth=min(width, 1.5), alpha=0.7)


def _run(settings: Settings, path: Path, progress: Progress) -> list[str]:
    limits = {"max_train": settings.max_train, "max_test": settings.max_test}
    problem = open_problem(settings.dataset, needed(settings.data), **limits)
    return run_classification(problem, settings, path, progress=progress)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    rows = summarise(head["dataset"], outcomes)
    plot = draw_plot(rows, path.parent / "classification.png")
    not_run = list(ran or ())
    title = (
        f"{head['dataset']}: {head['train']:,} perturbed training pictures, "
        f"{head['test']:,} clean test pictures"
    )
    found = {"rows": [row.as_dict() for row in rows], "plot": str(plot), "not_run": not_run}
    where = f"outcomes: {path}   plot: {plot}"
    return Report([title, "", table(rows), "", *NOTES, *not_run, where], {**head, **found})


command = make_command(Settings, _run, _report, "experiment-classification-{dataset}")
