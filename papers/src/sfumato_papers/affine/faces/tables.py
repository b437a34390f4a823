"""Affine embeddings, Fig. 4 and 5: the tables, and what must be known to read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sfumato_papers.affine.faces.history import EXACT
from sfumato_papers.harness.table import Table, crossed, grouped, show, table_of, wilson, wrapped

_SENT = (None, "raw", "lifted", "words", "vectors")
_LIFTS = ("", "random", "adversarial", "hybrid", "hybrid+", "even")
_ATTACKS = ("majority", "K-NN", "learned", "words")
_SETTING = ("way", "strategy", "dimension", "source", "num_words", "numbers", "epsilon")
_ORDER = ("euclidean", "cosine", "cosine as sent", "p–s", "s–s", "s–s memoised", "p–w", "w–w",
          "p–v", "v–v")  # fmt: skip


Row = Mapping[str, Any]


def verification_rows(records: Iterable[Row]) -> list[dict[str, Any]]:
    """One row per way of sending, over all folds and seeds; shares are 0 … 1.

    half_width  of the 95 % interval of the mean over folds
    """
    groups = grouped(_of(records, "verification"), _setting)
    rows = [_verification_row(group) for group in groups.values()]
    return sorted(rows, key=lambda row: _ORDER.index(row["way"]))


def _of(records: Iterable[Row], kind: str) -> list[Row]:
    return [one for one in records if one.get("kind") == kind]


def _setting(one: Row) -> tuple[Any, ...]:
    return tuple(one.get(name) for name in _SETTING)


def _verification_row(group: Sequence[Row]) -> dict[str, Any]:
    from scipy import stats

    first = group[0]
    folds = np.mean([one["accuracy"] for one in group], axis=0)
    error = float(np.std(folds, ddof=1) / np.sqrt(len(folds)))
    return {
        **{name: first.get(name, "" if name in ("strategy", "source") else None)
           for name in _SETTING},
        "epsilon": float(first["epsilon"]) if "epsilon" in first else None,
        "seeds": len(group),
        "accuracy": float(folds.mean()),
        "half_width": float(stats.t.ppf(0.975, len(folds) - 1)) * error,
        "false_accept": float(np.mean([one["false_accept"] for one in group])),
        "false_reject": float(np.mean([one["false_reject"] for one in group])),
    }  # fmt: skip


def history_rows(records: Iterable[Row]) -> list[dict[str, Any]]:
    """One row per way of sending: for each k the share recovered, and the median error."""
    groups = grouped(_of(records, "history"), lambda one: (one["pictures"], _setting(one)))
    return [_history_row(group) for group in groups.values()]


def _history_row(group: Sequence[Row]) -> dict[str, Any]:
    first = group[0]
    shares, medians = {}, {}
    for one in group:
        count = str(one["releases"])
        if "errors" in one:
            shares[count] = float(np.mean(np.array(one["errors"]) < EXACT))
            medians[count] = float(np.median(one["errors"]))
        else:
            shares[count] = one["right"] / one["total"]
    names = ("pictures", "way", "strategy", "dimension", "source", "num_words", "epsilon")
    setting = {name: first[name] for name in names if name in first}
    number = len(first.get("errors", ())) or first.get("total", 0)
    return {**setting, "faces": number, "recovered": shares, "median_error": medians}


def attribute_rows(records: Iterable[Row]) -> list[dict[str, Any]]:
    """One row per attribute, way and attack, seeds taken together."""
    groups = grouped(
        _of(records, "attribute"), lambda one: (one["attribute"], _setting(one), one["attack"])
    )
    rows = []
    for group in groups.values():
        first, seeds = group[0], len(group)
        right, total = (sum(one[name] for one in group) / seeds for name in ("right", "total"))
        low, high = wilson(round(right), round(total))
        names = ("attribute", "way", "strategy", "dimension", "num_words", "numbers", "epsilon",
                 "attack")  # fmt: skip
        setting = {name: first[name] for name in names if name in first}
        rows.append(
            {
                **setting,
                "seeds": seeds,
                "faces": round(total),
                "accuracy": right / max(total, 1),
                "interval_95": [low, high],
            }
        )
    attributes = list(dict.fromkeys(row["attribute"] for row in rows))
    return sorted(rows, key=lambda row: _place(row, attributes))


def _place(row: Row, attributes: Sequence[str]) -> tuple[Any, ...]:
    """Where a row stands in the table, whatever order the results were made in."""
    return (
        attributes.index(row["attribute"]),
        _SENT.index(row.get("way")),
        _LIFTS.index(row.get("strategy", "")),
        row.get("dimension", 0),
        row.get("num_words", 0),
        row.get("numbers", 0),
        float(row.get("epsilon", 0)),
        _ATTACKS.index(row["attack"]),
    )


#: What [affine] says about its Fig. 4 and 5; the figures themselves are drawn, without numbers.
PAPER = (
    "affine, Fig. 4 (ArcFace; LFW, CFP, AgeDB-30): p–s within at most 2 points of raw; s–s on LFW "
    "and CFP-FF 95 % at worst. Fig. 5 (ArcFace; FairFace): random lifting does not hide gender and "
    "race from K-NN, adversarial lifting hides best, hybrid+ hides gender best. Other data and "
    "another network than here."
)


def report_lines(head: Row, records: Sequence[Row]) -> list[str | Table]:
    """All tables that have rows."""
    lines: list[str | Table] = [_title(head), ""]
    found = verification_rows(records), history_rows(records), attribute_rows(records)
    titles = "verification", "history: k releases of one person", "attributes"
    for title, rows, make in zip(
        titles, found, (_verification, _history, _attributes), strict=True
    ):
        if rows:
            lines += [title, *make(rows), ""]
    notes = [*_notes(*found), PAPER]
    if head.get("without_plus"):
        notes.insert(0, "hybrid+ is not in the table of verification: it balances an attribute, "
                     "and none is known of both these faces and the public ones.")  # fmt: skip
    return [*lines, *(line for note in notes for line in wrapped(note))]


def _title(head: Mapping[str, Any]) -> str:
    lost = "".join(f"; {count}: {reason}" for reason, count in head["reasons"].items())
    if head.get("left_out"):
        lost += f"; {head['left_out']} files are named otherwise and left out"
    parts = [f"{head['public']} public faces"] if head["public"] else ["a quarter is public"]
    if head.get("further"):
        parts.append(f"{head['further']} further ones for directions")
    if head.get("pairs"):
        parts.append(f"{head['pairs']} pairs")
    return (
        f"{head['data']} ({head['layout']}): {head['pictures']} pictures, {head['found']} embedded "
        f"by {head['embedder']} ({head['dimension']}-D){lost}; {', '.join(parts)}"
        f"{'' if head.get('centred', True) else '; not centred'}"
    )


def _verification(rows: Sequence[Row]) -> list[str | Table]:
    unlifted = [row for row in rows if not row["strategy"] and row["epsilon"] is None]
    lifted = [row for row in rows if row["strategy"]]
    words = [row for row in rows if row["source"]]
    vectors = [row for row in rows if row["numbers"] is not None]
    found: list[str | Table] = []
    side: Sequence[tuple[Any, ...]]
    if unlifted:
        found.append(
            table_of(
                unlifted, ("not protected", "way"), ("accuracy", _accuracy),
                ("false accept", "false_accept", ".1p"), ("false reject", "false_reject", ".1p"),
            )
        )  # fmt: skip
    if lifted:
        side = (("lifted", "way"), ("strategy", "strategy"))
        found += ["", crossed(lifted, side, ("m", "dimension"), ("", _accuracy), left=(0, 1))]
    if words:
        side = ("words", "way"), ("built from", "source"), ("|K|", "num_words")
        across = ("ε", "epsilon", "g")
        found += ["", crossed(words, side, across, ("", _accuracy), left=(0, 1))]
    if vectors:
        side, across = (("vectors", "way"), ("n", "numbers")), ("ε", "epsilon", "g")
        found += ["", crossed(vectors, side, across, ("", _accuracy), left=(0,))]
    return found


def _accuracy(row: Row) -> str:
    return f"{show(row['accuracy'], '.1p')} ± {show(row['half_width'], '.2p')}"


def _history(rows: Sequence[Row]) -> list[str | Table]:
    found: list[str | Table] = []
    side: Sequence[tuple[Any, ...]]
    for pictures, title, name, form in (
        ("one", f"k lifts of one picture: % recovered within {EXACT:g}", "recovered", ".1p"),
        (
            "several",
            "k pictures of one person, a lift of each: median error",
            "median_error",
            ".2f",
        ),
    ):
        lifts = [row for row in rows if row["pictures"] == pictures and "strategy" in row]
        side = (("answers", "way"), ("strategy", "strategy"), ("m", "dimension"))
        if lifts:
            found += [title, _by_count(lifts, side, name, form, (0, 1)), ""]
    words = [row for row in rows if "strategy" not in row]
    if words:
        side = (("answers", "way"), ("|K|", "num_words"), ("ε", "epsilon", "g"))
        title = "k words of one picture: % of the true words that are named"
        found += [title, _by_count(words, side, "recovered", ".1p", (0,))]
    return found


def _by_count(
    rows: Sequence[Row],
    side: Sequence[tuple[Any, ...]],
    name: str,
    form: str,
    left: Sequence[int],
) -> Table:
    """A column for each number of releases; faces: how many are attacked."""
    cells = [
        {**row, "k": k, "value": row[name].get(str(k))}
        for row in rows
        for k in sorted(map(int, row["recovered"]))
    ]
    columns = (*side, ("faces", "faces"))
    return crossed(cells, columns, ("k", "k"), ("", "value", form), left=left, fold=("faces",))


def _attributes(rows: Sequence[Row]) -> list[str | Table]:
    """A line for each way of sending; attacks are columns."""
    majority = {row["attribute"]: row["accuracy"] for row in rows if row["attack"] == "majority"}
    side = (
        ("attribute", "attribute"), ("sent", _sent), ("majority", "majority", ".1p"),
        ("faces", "faces"),
    )  # fmt: skip
    cells = [
        {**row, "majority": majority.get(row["attribute"])}
        for row in rows
        if row["attack"] != "majority"
    ]
    across = ("attack", "attack")
    return [crossed(cells, side, across, ("", _right), left=(0, 1), fold=("faces",))]


def _right(row: Row) -> str:
    low, high = (show(end, ".0p") for end in row["interval_95"])
    return f"{show(row['accuracy'], '.1p')} [{low}–{high}]"


def _sent(row: Row) -> str:
    if row["way"] == "lifted":
        return f"{row['strategy']}, m = {row['dimension']}"
    if row["way"] == "words":
        epsilon = float(row["epsilon"])
        return f"1 of {row['num_words']} words, ε = {show(epsilon, 'g')}"
    if row["way"] == "vectors":
        return f"vector, n = {row['numbers']}, ε = {show(float(row['epsilon']), 'g')}"
    return str(row["way"])


def _notes(rows: Sequence[Any], history: Sequence[Any], attributes: Sequence[Any]) -> list[str]:
    lines = []
    if rows:
        lines.append(
            "p–s: the enrolled side raw, the other lifted; s–s: both lifted; memoised: both along "
            "the directions of the enrolment; p–w, w–w: the same with words; p–v, v–v: with "
            "private unit vectors of n numbers. Thresholds of a fold are chosen on the others, ± "
            "is the 95 % interval of the mean over folds. A picture without a face is never "
            "accepted; all in percent."
        )
        lines.append("Lifting gives no guarantee.")
    lines.append(
        "ε is per embedding; a picture sends one, so per picture too, and k authentications cost "
        "k·ε unless answers are memoised. ω = 1; "
        "ε = ∞: no noise, no guarantee. Not protected: that somebody authenticates, when, from "
        "where, and the server's answer. Releases are seeded, not for sending."
    )
    if history:
        lines.append(
            "Errors are distances of unit vectors; of several pictures, to the mean of their "
            "embeddings."
        )
    if attributes:
        lines.append(
            "K-NN: K = 10 of the attacker's faces; learned: logistic regression on recovered "
            "embeddings and distances to faces of each value, trained on faces sent the same way, "
            "if it beats the commonest value on held-out ones; words: an attacker who knows the "
            "database and its values; majority: who saw nothing. Right answers in percent, with "
            "Wilson's 95 % interval."
        )
    return lines
