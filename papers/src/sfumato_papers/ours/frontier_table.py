"""Ours: utility against leak for every mechanism, what to take, `sfumato experiment frontier`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.networks import find_network
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.datasets.scenes import Query, open_scenes
from sfumato.dictionary import Dictionary
from sfumato.features import load_image
from sfumato.server.mapping import read_scene
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import extractor_for
from sfumato_papers.harness.table import Table, table_of
from sfumato_papers.harness.work import show_progress
from sfumato_papers.ours.frontier import JOURNAL, run_frontier
from sfumato_papers.ours.frontier_advice import Row, recommend, rows_of
from sfumato_papers.ours.frontier_plot import draw_plot
from sfumato_papers.ours.frontier_ways import SEEN_BY, Settings, Way

_NONE = "none fits"
_MARKS = {"picture": "E", "object": "a", "ssim": "S"}


def report_lines(
    head: Mapping[str, Any], rows: Sequence[Row], advice: Sequence[Row]
) -> list[str | Table]:
    """The advice first, then every way."""
    title = (
        f"{head['data']}: map of {head['images']} images and {head['points']:,} points, "
        f"{len(head['queries'])} queries of at most {head['most_keypoints']:,} keypoints; "
        f"localized: within {head['within']}; dictionary {head['dictionary']}"
    )
    window = f"a window: {head['window']} × {head['window']} pixels."
    return [title, "", _advice_table(advice), "", *_ADVICE_NOTES, "", _way_table(rows), "", *_NOTES,
            window]  # fmt: skip


def _advice_table(advice: Sequence[Row]) -> Table:
    return table_of(
        advice,
        ("limit", _limit),
        ("take", lambda row: said(row.get("advised"), "none localizes" if row["tried"] else _NONE)),
        ("costs", lambda row: _price(row["unit"], row.get("cost"))),
        ("localized", lambda row: _share(row.get("measured"))),
        ("today's rule", lambda row: said(row["rule"])),
        ("costs", lambda row: _price(row["unit"], row["rule_cost"])),
        ("localized", lambda row: _share(row["rule_measured"])),
        left=(0, 1, 4),
    )


def _way_table(rows: Sequence[Row]) -> Table:
    return table_of(
        rows,
        ("sent", lambda row: said(row["way"])),
        ("N", "keypoints", ",.0f"),
        ("localized", _share), ("wrong", "wrong"), ("recall", "recall", ".1%"),
        ("E", lambda row: _price("picture", _promised(row, "picture"))),
        ("advantage", lambda row: _price("object", _promised(row, "object"))),
        ("SSIM", "ssim", ".3f"), ("LPIPS", "lpips", ".3f"), ("read right", "right", ".1%"),
        ("best attack", "attack"),
        ("front", lambda row: " ".join(_MARKS[one] for one in row["fronts"])),
        left=(0, 10, 11),
    )  # fmt: skip


def said(way: Way | None, otherwise: str = _NONE) -> str:
    """A way in a few words."""
    if way is None:
        return otherwise
    parts = [way.own or way.kind]
    if way.kind == "words" and way.epsilon is not None:
        parts = [f"ε = {way.epsilon:g}"]
    if way.num_words:
        parts.append(f"{way.subset_size} of {way.num_words:,}")
    if way.kind == "lifting":
        parts.append(f"m = {way.dimension}" + (f", dither {way.dither:g}" if way.dither else ""))
    if way.is_suppressed:
        parts.append("person hidden")
    if way.cap:
        parts.append(f"≤ {way.cap} a window")
    if way.keep:
        parts.append(f"{way.keep:,} strongest")
    return ", ".join(parts)


def _limit(row: Row) -> str:
    return f"E ≤ {row['limit']:,g}" if row["unit"] == "picture" else f"a ≤ {row['limit']:g}"


def _promised(row: Row, unit: str) -> float | None:
    """∞ for words without noise; nothing for what has no ε at all."""
    return math.inf if row["way"].epsilon == math.inf else row[unit]


def _price(unit: str, price: float | None) -> str:
    if price is None:
        return "–"
    if math.isinf(price):
        return "∞" if unit == "picture" else "1"
    return f"{price:,.0f}" if unit == "picture" else f"{price:.3f}"


def _share(row: Row | None) -> str:
    if row is None:
        return "–"
    low, high = row["share_interval_95"]
    return f"{100 * row['share']:.0f} [{100 * low:.0f}–{100 * high:.0f}]"


_ADVICE_NOTES = (
    f"E: of any query at δ = 1e-6. a: advantage for an object that {SEEN_BY} descriptors see; "
    "whoever tells two contents",
    "of it apart is right with probability at most (1 + a)/2. take: chosen on all queries.",
    "localized there: each half of the queries under the setting that the other half chose, so "
    "nothing is measured",
    "by what chose it. today's rule: all keypoints, ω = 1, |K| by the rule that knows ε only, the "
    "largest ε within",
    "the limit. In % with 95 % intervals; draws of one query are not taken for independent.",
)
_NOTES = (
    "ε is per descriptor, ω of |K| words are sent. Compared are contents with the same number of "
    "keypoints at the same",
    "positions; positions and their number are not protected. – has no ε and promises nothing; "
    "for lifting known attacks exist.",
    "recall: of the points that raw descriptors match right in the best picture of the map, those "
    "still matched right.",
    "SSIM, LPIPS: of the best picture that the shipped network paints of the middle of a query; "
    "read right: words.",
    "person hidden: as if one stood right of the middle.",
    "front: no other way leaks less and localizes more, by E, a (advantage) or S (SSIM).",
    "Releases are reproducible (seeded), not for sending.",
)


def _run(settings: Settings, path: Path) -> None:
    words = Dictionary.load(settings.dictionary)
    extractor = extractor_for(settings.extractor, words)
    if settings.num_attacked:
        _check_painter(words.extractor)
    problem = open_scenes(
        settings.data,
        path.parent,
        queries=settings.hold_out,
        extractor=extractor,
        progress=show_progress,
    )
    images = {scene.name: scene.images for scene in map(read_scene, settings.data)}
    run_frontier(problem, words, settings, path, partial(_look, images))


def _check_painter(extractor: str) -> None:
    try:
        find_network(extractor)
    except SfumatoError as error:
        raise InvalidInput(f"{error} --attacked 0 leaves painting out.") from None


def _look(images: Mapping[str, Path], query: Query) -> NDArray[np.uint8]:
    return load_image(images[query.scene] / query.name.split("/", 1)[1])


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    rows = rows_of(outcomes, head["queries"])
    advice = recommend(outcomes, head, settings.limits())
    plot = draw_plot(rows, head, path.parent / "frontier.png")
    lines = [*report_lines(head, rows, advice), f"outcomes: {path}", f"plot: {plot}"]
    return Report(lines, {**head, "advice": advice, "rows": rows, "plot": plot})


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-frontier",
    writes="Folder for the map, outcomes and the plot.",
)
