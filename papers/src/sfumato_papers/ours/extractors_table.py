"""Ours: what `sfumato experiment extractors` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.outcomes import read_records
from sfumato_papers.harness.table import Table, crossed, grouped, table_of, wilson, wrapped
from sfumato_papers.ldp_feat.localization_predictions import Predictions, read_predictions
from sfumato_papers.ldp_feat.localization_rows import Judgement, evaluate, whole_draws
from sfumato_papers.ldp_feat.poses import Within
from sfumato_papers.ours.extractors import CLOSE, EXACT, Settings, run_extractors

Row = dict[str, Any]

#: A room is small, and its poses are known to a centimetre; Strecha's are too.
WITHIN = Within(0.05, 5.0)
_ORDER = ("raw", "∞")


def localization_rows(found: Predictions) -> Iterator[Row]:
    """Share within the limit for raw descriptors, quantised ones, and every ε."""
    for row in evaluate(whole_draws(found), Judgement((WITHIN,))):
        setting = row["setting"]
        within = row["within"][0]
        yield {
            "data": found.problem["data"],
            "extractor": found.problem["extractor"],
            "queries": len(found.truth),
            "points": found.problem["points"],
            "epsilon": "raw" if setting.epsilon is None else f"{setting.epsilon:g}",
            "num_words": setting.num_words,
            "draws": row["seeds"],
            "share": within["share"],
            "interval_95": within["share_interval_95"],
            "inliers": row["median_inliers"],
            "wrong": row["wrong_poses"],
        }


def word_rows(records: Sequence[Row]) -> list[Row]:
    """For each extractor: how true pairs fare, and how far their ways are."""
    rows = []
    for name, group in grouped(_kind(records, "pair"), lambda one: one["extractor"]).items():
        total = sum(one["pairs"] for one in group)
        ways = {
            key: np.concatenate([one.get(key, []) for one in group])
            for key in ("way", "error", "border", "other")
        }
        medians = {key: float(np.median(values)) for key, values in ways.items() if len(values)}
        public = [one for one in _kind(records, "public") if one["extractor"] == name]
        levels = sorted({int(level) for one in group for level in one["same"]})
        rows.append(
            {
                "extractor": name,
                "pairs": total,
                "raw": sum(one["raw"] for one in group) / max(total, 1),
                "same": {
                    level: sum(one["same"].get(str(level), 0) for one in group) / max(total, 1)
                    for level in levels
                },
                **medians,
                "way_per_border": medians["way"] / medians["border"],
                "way_per_other": medians["way"] / medians["other"],
                **{
                    key: public[0][key] if public else None
                    for key in ("intrinsic_dimension", "words_in_use")
                },
            }
        )
    return rows


def _kind(records: Sequence[Row], kind: str) -> list[Row]:
    return [one for one in records if one.get("kind") == kind]


def _sent(row: Row) -> str:
    said = row["epsilon"]
    return said if said == "raw" else f"ε = {'∞' if said == 'inf' else said}"


def _interval(row: Row) -> str:
    low, high = row["interval_95"]
    return f"{100 * row['share']:.0f} [{100 * low:.0f}–{100 * high:.0f}]"


def _localization(rows: Sequence[Row]) -> list[str | Table]:
    lines: list[str | Table] = []
    for data, group in grouped(rows, lambda row: row["data"]).items():
        draws = max(row["draws"] for row in group)
        lines += [
            f"localized within {WITHIN}, % of answers [95 %]: {data}, {group[0]['queries']} "
            f"queries, {draws} draw{'s' if draws > 1 else ''} of each",
            crossed(group, [("extractor", "extractor")], ("", _sent), ("", _interval)),
            "",
        ]
    return lines


def _words(records: Sequence[Row]) -> list[str | Table]:
    rows = word_rows(records)
    if not rows:
        return []
    levels = sorted({level for row in rows for level in row["same"]})
    table = table_of(
        rows,
        ("extractor", "extractor"), ("pairs", "pairs", ","), ("raw", "raw", ".0p"),
        *((f"|K|={level}", lambda row, level=level: row["same"].get(level), ".0p")
          for level in levels),
        ("way", "way", ".2f"), ("error", "error", ".2f"), ("border", "border", ".3f"),
        ("other", "other", ".2f"), ("way/border", "way_per_border", ".1f"),
        ("way/other", "way_per_other", ".2f"), ("dim", "intrinsic_dimension", ".0f"),
        ("in use", "words_in_use", ".0p"), drop=("dim", "in use"),
    )  # fmt: skip
    notes = (
        "raw, |K|: of keypoints within 2 px of one another by the homography, % that are mutual "
        "nearest neighbours by raw descriptors, and that have the same word. way: median distance "
        "of these; error: to the word; border: to the border of the word; other: to the nearest "
        "that is no match. dim: of public descriptors near one another (TwoNN). in use: words, "
        "e^entropy, % of |K|."
    )
    return ["words", table, *wrapped(notes), ""]


def _projections(records: Sequence[Row]) -> list[str | Table]:
    rows = []
    for one in _kind(records, "projection"):
        share = one["same"] / max(one["pairs"], 1)
        rows.append({**one, "share": share, "interval_95": wilson(one["same"], one["pairs"])})
    if not rows:
        return []
    table = table_of(
        rows,
        ("extractor", "extractor"), ("projection", "projection"), ("columns", "columns"),
        ("|K|", "num_words", ","), ("same word % [95 %]", _interval), left=(0, 1), fold=("|K|",),
    )  # fmt: skip
    notes = (
        "The same true pairs, words by the same k-means of the same public descriptors, with "
        "a linear projection before. It is learned from warped public pictures; whitening "
        "makes all directions equally wide, discriminant makes differences of matches equally wide "
        "and puts the directions first that tell most."
    )
    return ["projections", table, *wrapped(notes), ""]


def _lifts(records: Sequence[Row]) -> list[str | Table]:
    rows = []
    groups = grouped(_kind(records, "lift"), lambda one: (one["extractor"], one["attack"]))
    for (name, attack), group in groups.items():
        total, close, exact = (
            sum(one[key] for one in group) for key in ("total", "close", "exact")
        )
        errors = [one["median_error"] for one in group if one["median_error"] is not None]
        rows.append(
            {
                "extractor": name,
                "attack": attack,
                "descriptors": total,
                "share": close / max(total, 1),
                "interval_95": wilson(close, total),
                "exact": exact / max(total, 1),
                "median": float(np.median(errors)) if errors else None,
            }
        )
    if not rows:
        return []
    table = table_of(
        rows,
        ("extractor", "extractor"), ("attack", "attack"), ("descriptors", "descriptors", ","),
        (f"within {CLOSE} % [95 %]", _interval), (f"within {EXACT} %", "exact", ".0p"),
        ("median error", "median", ".2f"), left=(0, 1),
    )  # fmt: skip
    notes = (
        "Sub-hybrid lifts, attacked by who knows the public words; errors of unit descriptors. "
        "Lifting has no ε. The vertex attack needs whole numbers: SIFT alone has them, so it is "
        "not in this table. That it does not apply to the others is no protection."
    )
    return ["lifts", table, *wrapped(notes), ""]


def report(path: Path, settings: Settings, ran: Any) -> Report:
    """Every table that there are outcomes for."""
    records = list(read_records(path))
    files = sorted(path.parent.glob("*/predictions.jsonl*"))
    poses = [row for file in files for row in localization_rows(_read(file))]
    first = {one["extractor"]: place for place, one in enumerate(_kind(records, "words"))}
    poses.sort(key=lambda row: (row["data"], first.get(row["extractor"], 99), _place(row)))
    notes = [
        f"{one['extractor']}: {one['num_words']:,} words of {one['dimension']} columns."
        for one in _kind(records, "words")
    ]
    privacy = (
        f"The {records[0]['max_keypoints']:,} strongest keypoints of each picture. ε is per "
        "descriptor; N·ε for a picture of N. Positions and N are not protected. ∞: the word itself "
        "is sent. Releases are reproducible (seeded), not for sending."
    )
    lines = [
        *_localization(poses),
        *_words(records),
        *_projections(records),
        *_lifts(records),
        *wrapped(privacy),
        *(line for note in notes for line in wrapped(note)),
        f"outcomes: {path}",
    ]
    facts = {"localization": poses, "words": word_rows(records), "records": records[1:]}
    return Report(lines, facts)


def _read(file: Path) -> Predictions:
    found = read_predictions(file.with_name("predictions.jsonl"))
    only = tuple(one for one in found.predictions if not one.setting.is_control)
    return replace(found, predictions=only)


def _place(row: Row) -> float:
    """Raw first, then quantised, then falling ε."""
    said = row["epsilon"]
    if said == "raw":
        return -np.inf
    return -float(said)


command = make_command(
    Settings,
    run_extractors,
    report,
    "experiment-extractors",
    writes="Folder for maps, predictions and outcomes.",
)
