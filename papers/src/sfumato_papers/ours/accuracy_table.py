"""Ours: the table and the plot of `sfumato experiment accuracy`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.plot import GRAY, Curve, Panel, draw, lines
from sfumato_papers.harness.table import Table, grouped, table_of, wilson
from sfumato_papers.ours.accuracy import JOURNAL, Outcome, Settings, run_accuracy

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def rows(outcomes: Sequence[Outcome]) -> Iterator[dict[str, Any]]:
    """For each scene, ε and factor: how many regions hold the truth, and who is silently wrong.

    silent: the true position lies beyond twice the stated radius, and nothing was said.
    """
    groups = grouped(outcomes, lambda one: (one.data, one.factor != 1, -one.epsilon, one.factor))
    for (data, _, _, factor), group in sorted(groups.items()):
        found = [one for one in group if one.localized]
        if not found:
            continue
        silent = [
            one
            for one in found
            if one.warning is None and (one.position_error or 0) > 2 * one.radius("position")
        ]
        yield {
            "data": data,
            "epsilon": group[0].epsilon,
            "factor": factor,
            "answers": len(group),
            "localized": len(found),
            "inliers": float(np.median([one.num_inliers for one in found])),
            **{part: _share(found, part) for part in ("position", "rotation")},
            "error": float(np.median([one.position_error for one in found])),
            "stated": float(np.median([one.radius("position") for one in found])),
            "error_deg": float(np.median([one.rotation_error for one in found])),
            "stated_deg": float(np.median([one.radius("rotation") for one in found])),
            "corrected": sum(one.fitted is not None and one.fitted != one.factor for one in found),
            "said": sum(one.warning is not None for one in group),
            "silent": len(silent),
        }


def _share(found: Sequence[Outcome], part: str) -> dict[str, Any]:
    count = sum(one.is_inside(part) for one in found)
    return {"share": count / len(found), "interval_95": wilson(count, len(found))}


def _shown(share: dict[str, Any]) -> str:
    low, high = share["interval_95"]
    return f"{100 * share['share']:.0f} [{100 * low:.0f}–{100 * high:.0f}]"


def report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    found = list(rows(outcomes))
    table: Table = table_of(
        found,
        ("scene", "data"), ("ε", "epsilon", "g"), ("focal ×", "factor", "g"),
        ("answers", "answers"), ("poses", "localized"), ("inliers", "inliers", ".0f"),
        ("position in 90 %", lambda row: _shown(row["position"])),
        ("rotation in 90 %", lambda row: _shown(row["rotation"])),
        ("error", "error", ".3g"), ("stated", "stated", ".3g"),
        ("error °", "error_deg", ".2g"), ("stated °", "stated_deg", ".2g"),
        ("corrected", "corrected"), ("said", "said"), ("silent", "silent"),
        left=(0,),
    )  # fmt: skip
    right = [one for one in outcomes if one.localized and one.factor == 1]
    plot = draw(path.parent / "accuracy.png", *_panels(right), size=(9, 4), share_y=True)
    notes = [
        "position, rotation in 90 %: share of poses whose true position (rotation) lies within the "
        "stated error, in %, Wilson's 95 % interval; 90 is wanted.",
        "error, stated: medians, in the scene's unit; focal ×: the camera was given with so many "
        "times its focal length.",
        "corrected: the pose was computed with another focal length than given; said: a warning, "
        "or a refusal that names the focal length; silent: off by more than twice what is stated, "
        "without a word.",
        f"|K| = {head['words']:,}, ω = 1; ε is per descriptor, positions and their number are not "
        "protected. ε = inf: raw descriptors. Releases are reproducible (seeded), not for sending.",
        f"outcomes: {path}",
        f"plot: {plot}",
    ]
    return Report([table, "", *notes], {**head, "rows": found, "plot": plot})


def _panels(right: Sequence[Outcome]) -> list[Panel]:
    """How many true poses lie in regions of each level; calibrated regions give the diagonal."""
    points = [
        {
            "part": part,
            "scene": scene,
            "level": level,
            "share": float(np.mean([one.is_inside(part, level) for one in group])),
        }
        for part in ("position", "rotation")
        for scene, group in grouped(right, lambda one: one.data).items()
        for level in LEVELS
    ]
    panels = lines(
        points, x="level", y="share", curve="scene", panel="part",
        x_label="stated", y_label="share of true poses inside",
    )  # fmt: skip
    diagonal = Curve("calibrated", [(0.0, 0.0, None), (1.0, 1.0, None)], GRAY, ":")
    return [Panel(**{**vars(panel), "curves": [*panel.curves, diagonal]}) for panel in panels]


command = make_command(
    Settings,
    run_accuracy,
    report,
    "experiment-accuracy",
    writes="Folder for maps, outcomes and the plot.",
)
