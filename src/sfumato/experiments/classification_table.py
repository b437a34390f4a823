"""The table of `sfumato experiment classification`, the paper's cells beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.experiments.classification import Outcome, Setting
from sfumato.experiments.classification_paper import best_of_paper, paper_accuracy
from sfumato.experiments.classification_recipes import ENCODERS, RECIPES

_HEAD = (
    "recipe", "encoder", "learner", "d", "m", "ε a code", "ε a picture", "accuracy", "±", "seeds",
    "paper", "ours − paper", "settings",
)  # fmt: skip
_TEXT = (0, 1, 2, 12)


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


def table_lines(head: dict[str, Any], rows: Sequence[Row]) -> list[str]:
    """The table as text, with what must be known to read it."""
    body = [_HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in body) for column in range(len(_HEAD))]
    lines = [
        "  ".join(
            text.ljust(width) if column in _TEXT else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in body
    ]
    return [
        f"{head['dataset']}: {head['train']:,} perturbed training pictures, "
        f"{head['test']:,} clean test pictures",
        "",
        *lines,
        "",
        "ε a code: randomized response on each code; ε a picture: m·ε, the guarantee for all codes",
        "of one picture together. Labels are not protected, nor are the raw training pictures from",
        "those who fit the encoder. paper: its cell [dcaconv, Tables 1, 2]; for the recipe sfumato",
        "its best cell at this ε. held out: chosen on training pictures held out. ±: standard",
        "deviation between seeds of the noise. Noise is seeded, for measuring, not for sending.",
    ]


def _cells(row: Row) -> tuple[str, ...]:
    setting, total = row.setting, row.picture_epsilon
    return (
        setting.recipe,
        setting.encoder,
        setting.learner,
        str(row.num_values),
        f"{row.num_codes:,}",
        "∞" if setting.epsilon is None else f"{setting.epsilon:g}",
        "∞" if total is None else f"{total:,.0f}",
        f"{row.accuracy:.2f}",
        f"{row.spread:.2f}" if row.num_seeds > 1 else "–",
        str(row.num_seeds),
        "–" if row.paper is None else f"{row.paper:.2f}",
        "–" if row.paper is None else f"{row.accuracy - row.paper:+.2f}",
        "; ".join(row.choices),
    )


def _place(setting: Setting) -> tuple[int, int, str, float]:
    names = list(ENCODERS)
    encoder = names.index(setting.encoder) if setting.encoder in names else len(names)
    if setting.recipe == "sfumato":
        encoder = 0  # one row of the table, whichever encoder was chosen for an ε
    epsilon = np.inf if setting.epsilon is None else setting.epsilon
    learner = "" if setting.learner == "naive-bayes" else setting.learner
    return RECIPES.index(setting.recipe), encoder, learner, float(epsilon)
