"""Ours: predicted beside measured, the table of `sfumato experiment planning`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.core.accounting import PrivateAnswer
from sfumato.core.errors import InvalidInput
from sfumato.privacy.price import price_of
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.outcomes import records_of
from sfumato_papers.harness.table import clustered_wilson, grouped, table_of
from sfumato_papers.ours.planning import (
    JOURNAL,
    MEASURED,
    STATED,
    STRETCHES,
    Outcome,
    Settings,
    run,
)

_NAMES = {
    STRETCHES: "images, their stretch left out",
    STATED: "images, nearer views left out",
    MEASURED: "the queries",
}


def rows(outcomes: Sequence[Outcome], setting: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """For every ε: the price, the share each way gives, and how far apart they are."""
    for epsilon, those in sorted(grouped(outcomes, lambda one: one.epsilon).items()):
        answer = PrivateAnswer(epsilon, setting["num_words"], setting["subset_size"])
        paid = price_of(answer, setting["max_keypoints"])
        row: dict[str, Any] = {"epsilon": epsilon, "total": paid.total, "picture": paid.picture}
        for way, own in grouped(those, lambda one: one.way).items():
            groups = [
                [one.is_localized for one in group]
                for group in grouped(own, lambda one: one.group).values()
            ]
            row[way] = sum(one.is_localized for one in own) / len(own)
            row[f"{way}_interval_95"] = clustered_wilson(groups)
            row[f"{way}_answers"] = len(own)
        for way in (STRETCHES, STATED):
            if way in row and MEASURED in row:
                row[f"{way}_difference"] = row[way] - row[MEASURED]
        yield row


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    plans = records_of(path, "plan")
    if not plans:
        raise InvalidInput(f"{path} holds no plan yet; run the experiment again to go on with it.")
    chosen = plans[0]
    views = {one["way"]: one for one in records_of(path, "views")}
    setting = chosen["setting"]
    found = list(rows(outcomes, setting))
    low, high = chosen["interval"]
    table = table_of(
        found,
        ("ε", "epsilon", "g"), ("E picture", "picture", ",.0f"), ("N·ε", "total", ",.0f"),
        ("stretches", STRETCHES, ".0%"), ("95 %", _interval(STRETCHES)),
        ("stated", STATED, ".0%"), ("95 %", _interval(STATED)),
        ("measured", MEASURED, ".0%"), ("95 %", _interval(MEASURED)),
        ("apart", f"{STRETCHES}_difference", "+.0p"), ("apart", f"{STATED}_difference", "+.0p"),
        left=(),
    )  # fmt: skip
    lines: list[Any] = [
        f"{head['data']}: map of {head['images']} images and {head['points']:,} points, "
        f"{head['queries']} queries; dictionary {head['dictionary']}",
        f"planned for {head['share']:.0%}: at most {setting['max_keypoints']:,} keypoints, "
        f"{setting['subset_size']} of {setting['num_words']:,} words each, "
        f"ε = {chosen['epsilon']:g} per descriptor",
        f"promised: {chosen['share']:.0%} ({low:.0%}–{high:.0%}), {chosen['trials']:,} trials",
        "",
        table,
        "",
        "How far each is from the nearest view in the map (medians; degrees: 10, 50, 90 %):",
    ]
    for way, one in views.items():
        spread = ", ".join(f"{value:.0f}" for value in one["degrees"])
        lines.append(
            f"  {_NAMES[way]}: turned by {one['turn_deg']:.0f}°, {one['distance']:.2g} away; "
            f"{spread}° with parallax"
        )
    lines += [
        "stretches, stated: predicted on images of the map, without and with knowing how far",
        "queries are. apart: predicted less measured, in points. Within .25 and 2°.",
        "E at δ = 1e-6, of a picture that sends as many keypoints as it may; compared are contents",
        "with the same number of keypoints at the same positions, which are not protected.",
        f"outcomes: {path}",
    ]
    return Report(lines, {**head, "plan": chosen, "views": views, "rows": found})


def _interval(way: str) -> Any:
    def show(row: Mapping[str, Any]) -> str | None:
        if f"{way}_interval_95" not in row:
            return None
        low, high = row[f"{way}_interval_95"]
        return f"{low:.0%}–{high:.0%}"

    return show


command = make_command(Settings, run, _report, "experiment-planning")
