"""The tables of the faces experiment, and what must be known to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.experiments.faces_history import EXACT
from sfumato.experiments.faces_rows import Row, attribute_rows, history_rows, verification_rows

#: What [affine] says about its Fig. 4 and 5; the figures themselves are drawn, without numbers.
PAPER = (
    "affine, Fig. 4 (ArcFace; LFW, CFP, AgeDB-30): p–s within at most 2 points of raw; s–s on LFW "
    "and CFP-FF 95 % at worst. Fig. 5 (ArcFace; FairFace): random lifting does not hide gender and "
    "race from K-NN, adversarial lifting hides best, hybrid+ hides gender best. Other data and "
    "another network than here."
)


def table_lines(head: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> list[str]:
    """All tables as text."""
    lines = [_title(head), ""]
    rows = verification_rows(records)
    if rows:
        lines += ["verification", *_verification_lines(rows), ""]
    history = history_rows(records)
    if history:
        lines += ["history: k releases of one person", *_history_lines(history), ""]
    attributes = attribute_rows(records)
    if attributes:
        lines += ["attributes", *_attribute_lines(attributes), ""]
    return [*lines, *_notes(rows, history, attributes), PAPER]


def _title(head: Mapping[str, Any]) -> str:
    lost = "".join(f"; {count}: {reason}" for reason, count in head["reasons"].items())
    return (
        f"{head['data']} ({head['layout']}): {head['pictures']} pictures, {head['found']} embedded "
        f"by {head['embedder']} ({head['dimension']}-D){lost}; {head['public']} public faces"
        f"{', ' + str(head['pairs']) + ' pairs' if head.get('pairs') else ''}"
    )


def _verification_lines(rows: Sequence[Row]) -> list[str]:
    raw = next((row.accuracy for row in rows if row.way == "cosine"), None)
    body = [["way", "strategy", "m", "words", "|K|", "ε", "keeps", "accuracy", "±", "to raw",
             "false accept", "false reject"]]  # fmt: skip
    for row in rows:
        body.append(
            [
                row.way,
                row.strategy or "–",
                _text(row.dimension),
                row.source or "–",
                _text(row.num_words),
                _epsilon(row.epsilon),
                _keeps(row),
                _percent(row.accuracy),
                f"{100 * row.half_width:.2f}",
                "–" if raw is None else f"{100 * (row.accuracy - raw):+.2f}",
                _percent(row.false_accept),
                _percent(row.false_reject),
            ]
        )
    return _aligned(body, left=(0, 1, 3))


def _history_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    counts = sorted({int(k) for row in rows for k in row["recovered"]})
    body = [["pictures", "answers", "strategy", "m", "|K|", "ε", "faces",
             *(f"k={k}" for k in counts), *(f"error k={k}" for k in counts)]]  # fmt: skip
    for row in rows:
        body.append(
            [
                row["pictures"],
                row["way"],
                row.get("strategy", "words"),
                _text(row.get("dimension")),
                _text(row.get("num_words")),
                _epsilon(row.get("epsilon")),
                str(row["faces"]),
                *(_percent(row["recovered"].get(str(k))) for k in counts),
                *(_small(row["median_error"].get(str(k))) for k in counts),
            ]
        )
    return _aligned(body, left=(0, 1, 2))


def _attribute_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    body = [["attribute", "sent", "strategy", "m", "|K|", "ε", "attack", "accuracy", "95 %",
             "faces"]]  # fmt: skip
    for row in rows:
        low, high = row["interval_95"]
        body.append(
            [
                row["attribute"],
                row.get("way", "nothing"),
                row.get("strategy", "–"),
                _text(row.get("dimension")),
                _text(row.get("num_words")),
                _epsilon(row.get("epsilon")),
                row["attack"],
                _percent(row["accuracy"]),
                f"{100 * low:.1f}–{100 * high:.1f}",
                str(row["faces"]),
            ]
        )
    return _aligned(body, left=(0, 1, 2, 6))


def _notes(rows: Sequence[Any], history: Sequence[Any], attributes: Sequence[Any]) -> list[str]:
    lines = []
    if rows:
        lines.append(
            "p–s: the enrolled side raw, the other lifted; s–s: both lifted; memoised: both along "
            "the directions of the enrolment; p–w, w–w: the same with words. Thresholds of a fold "
            "are chosen on the others, ± is the 95 % interval of the mean. A picture without a "
            "face is never accepted. Lifting gives no guarantee."
        )
    lines.append(
        "ε is per embedding; a picture sends one, so per picture too, and k authentications cost "
        "k·ε unless answers are memoised. ω = 1; keeps: chance that the true word is sent; "
        "ε = ∞: no noise, no guarantee. Not protected: that somebody authenticates, when, from "
        "where, and the server's answer. Releases are seeded, not for sending."
    )
    if history:
        lines.append(
            f"k=…: share recovered within {EXACT:g} (words: the true word named); error: median "
            "distance of unit vectors. several: k pictures of one person, error to their mean."
        )
    if attributes:
        lines.append(
            "K-NN: K = 10 of the attacker's faces; learned: logistic regression on recovered "
            "embeddings, trained on faces sent the same way; words: an attacker who knows the "
            "database and its values; majority: who saw nothing."
        )
    return lines


def _keeps(row: Row) -> str:
    if row.epsilon is None or row.num_words is None:
        return "–"
    odds = np.exp(-row.epsilon) * (row.num_words - 1)
    return f"{100 / (1 + odds):.1f} %"


def _aligned(body: Sequence[Sequence[str]], left: tuple[int, ...]) -> list[str]:
    widths = [max(len(line[i]) for line in body) for i in range(len(body[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in body
    ]


def _text(value: int | None) -> str:
    return "–" if value is None else str(value)


def _epsilon(value: Any) -> str:
    if value is None:
        return "–"
    return "∞" if float(value) == float("inf") else f"{float(value):g}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _small(value: float | None) -> str:
    return "–" if value is None else f"{value:.1e}" if value < 0.01 else f"{value:.2f}"
