"""Ours: how many codes a picture should send for a total E, as a table and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato_papers.dcaconv.pictures import open_problem
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import needed
from sfumato_papers.harness.plot import BLUE, GOLD, GREEN, RED, draw, lines
from sfumato_papers.harness.table import Table, grouped, spread, table_of, wilson
from sfumato_papers.ours.code_budget import Settings, run_code_budget
from sfumato_papers.ours.code_budget_choice import JOURNAL, TEST, Outcome, best_of_rows, winners

Row = dict[str, Any]


def summarise(outcomes: Sequence[Outcome]) -> list[Row]:
    """A row for each E and number of codes, with what was chosen for it; * the best n of an E.

    Both choices are made by held-out training pictures.
    """
    best = best_of_rows(outcomes)
    found = winners(best.values())
    tests = grouped([one for one in outcomes if one.part == TEST], lambda one: one.candidate)
    rows = []
    for place in sorted(best, key=lambda row: (row[0] is None, row[0] or 0, row[1])):
        choice, chosen = best[place], best[place].first
        candidate, measured = choice.candidate, tests.get(choice.candidate, [])
        if not measured:
            continue  # a run that was stopped
        shares = [one.accuracy for one in measured]
        count = measured[0].count
        low, high = wilson(round(float(np.mean(shares)) * count), count)
        rows.append(
            {
                "total": candidate.total,
                "num_sent": candidate.num_sent,
                "best": choice in found,
                "encoder": candidate.encoder,
                "cells_per_code": candidate.joined,
                "num_values": chosen.num_values,
                "epsilon_per_code": chosen.epsilon,
                **_promise(chosen),
                "spatial": chosen.spatial,
                "alpha": chosen.alpha,
                "held_out": chosen.accuracy,
                "held_out_again": choice.again,
                "accuracy": float(np.mean(shares)),
                "spread_between_seeds": spread(shares),
                "interval": (low, high),
                "seeds": len(shares),
                "not_protected": "labels",
            }
        )
    return rows


def _promise(one: Outcome) -> Row:
    """N·ε, E at δ = 1e-6 and the advantage of all codes of a picture; nothing without noise."""
    if one.epsilon is None:
        return {"epsilon_per_picture": None, "exact_per_picture": None, "advantage": None}
    answers = {PrivateAnswer(one.epsilon, one.num_values): one.candidate.num_sent}
    picture = Composition(answers)
    return {
        "epsilon_per_picture": picture.largest,
        "exact_per_picture": picture.epsilon(),
        "advantage": picture.advantage,
    }


NOTES = (
    "E: exact guarantee of a training picture at δ = 1e-6, for any two pictures. Advantage a:",
    "who guesses which of two pictures it was is right with probability at most (1 + a)/2. Labels,",
    "and the number and places of codes, are not protected. n: codes a picture sends; ε is per",
    "code, N·ε per picture. cells: of the encoder, in one code of d values. σ, α: of naive Bayes.",
    "Encoder, cells, σ and α of a row are chosen by training pictures held out, with one draw of",
    "the noise; the best n of each E (*) by two more draws for the three best (again).",
    "test: clean pictures; ± standard deviation between draws of the noise; 95 %: over test",
    "pictures. E = ∞: all codes without noise. Noise is seeded, for measuring, not for sending.",
)


def table(rows: Sequence[Row]) -> Table:
    """A line for each E and n."""
    return table_of(
        rows,
        ("E", lambda row: row["total"] or float("inf"), "g"),
        ("n", lambda row: f"{row['num_sent']:,}{'*' * row['best']:1}"),
        ("encoder", "encoder"), ("cells", "cells_per_code"), ("d", "num_values"),
        ("ε", lambda row: row["epsilon_per_code"] or float("inf"), ".3g"),
        ("N·ε", lambda row: row["epsilon_per_picture"] or float("inf"), ".3g"),
        ("advantage", "advantage", ".3f"), ("σ", "spatial", "g"), ("α", "alpha", "g"),
        ("held out", "held_out", ".1p"), ("again", "held_out_again", ".1p"),
        ("test", "accuracy", ".1p"),
        ("±", lambda row: row["spread_between_seeds"] if row["seeds"] > 1 else None, ".1p"),
        ("95 %", lambda row: f"{100 * row['interval'][0]:.1f}–{100 * row['interval'][1]:.1f}"),
        left=(2,),
    )  # fmt: skip


def draw_plot(rows: Sequence[Row], path: Path) -> Path:
    """Accuracy over the number of codes, a curve for each E."""
    noisy = [row for row in rows if row["total"] is not None]
    clean = {
        f"no noise, all {row['num_sent']:,} codes": (100 * row["accuracy"], ":")
        for row in rows
        if row["total"] is None
    }
    counts = sorted({row["num_sent"] for row in noisy})
    panels = lines(
        noisy,
        x="num_sent",
        y="accuracy",
        spread="spread_between_seeds",
        scale=100,
        curve=lambda row: f"E = {row['total']:g} at δ = 1e-6",
        color="total",
        colors={1.0: RED, 2.0: GOLD, 4.0: BLUE, 8.0: GREEN},
        x_label="codes a picture sends (labels are not protected)",
        y_label="accuracy on clean test pictures (%)",
        ticks=counts,
        levels=clean,
    )
    return draw(path, *panels, size=(6, 3.8))


def _run(settings: Settings, path: Path) -> None:
    limits = {"max_train": settings.max_train, "max_test": settings.max_test}
    run_code_budget(open_problem(settings.dataset, needed(settings.data), **limits), settings, path)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    rows = summarise(outcomes)
    plot = draw_plot(rows, path.parent / "code-budget.png")
    title = (
        f"{head['dataset']}: {head['train']:,} randomized training pictures, "
        f"{head['test']:,} clean test pictures"
    )
    where = f"outcomes: {path}   plot: {plot}"
    return Report([title, "", table(rows), "", *NOTES, where], {**head, "rows": rows, "plot": plot})


command = make_command(Settings, _run, _report, "experiment-code-budget-{dataset}")
