"""Affine embeddings, Fig. 4 and 5: results taken together, a row for each way of sending."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato_papers.affine.faces.history import EXACT
from sfumato_papers.harness.table import grouped, wilson

_SENT = (None, "raw", "lifted", "words")
_LIFTS = ("", "random", "adversarial", "hybrid", "hybrid+", "even")
_ATTACKS = ("majority", "K-NN", "learned", "words")
_ORDER = ("euclidean", "cosine", "cosine as sent", "p–s", "s–s", "s–s memoised", "p–w", "w–w")


@dataclass(frozen=True)
class Row:
    """One way of sending, over all folds and seeds; shares are 0 … 1.

    half_width  of the 95 % interval of the mean over folds
    """

    way: str
    strategy: str
    dimension: int | None
    source: str
    num_words: int | None
    epsilon: float | None
    seeds: int
    accuracy: float
    half_width: float
    false_accept: float
    false_reject: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def verification_rows(records: Iterable[Mapping[str, Any]]) -> tuple[Row, ...]:
    """One row per setting, seeds taken together."""
    rows = [_row(group) for group in grouped(_of(records, "verification"), _setting).values()]
    return tuple(sorted(rows, key=lambda row: _ORDER.index(row.way)))


def _of(records: Iterable[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [one for one in records if one.get("kind") == kind]


def _setting(one: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("way", "strategy", "dimension", "source", "num_words", "epsilon")
    return tuple(one.get(name) for name in names)


def _row(group: Sequence[Mapping[str, Any]]) -> Row:
    from scipy import stats

    first = group[0]
    folds = np.mean([one["accuracy"] for one in group], axis=0)
    error = float(np.std(folds, ddof=1) / np.sqrt(len(folds)))
    return Row(
        way=first["way"],
        strategy=first.get("strategy", ""),
        dimension=first.get("dimension"),
        source=first.get("source", ""),
        num_words=first.get("num_words"),
        epsilon=float(first["epsilon"]) if "epsilon" in first else None,
        seeds=len(group),
        accuracy=float(folds.mean()),
        half_width=float(stats.t.ppf(0.975, len(folds) - 1)) * error,
        false_accept=float(np.mean([one["false_accept"] for one in group])),
        false_reject=float(np.mean([one["false_reject"] for one in group])),
    )


def history_rows(records: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """One row per way of sending: for each k the share recovered, and the median error."""
    groups = grouped(_of(records, "history"), lambda one: (one["pictures"], _setting(one)))
    return tuple(_history(group) for group in groups.values())


def _history(group: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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
    told = {name: first[name] for name in names if name in first}
    number = len(first.get("errors", ())) or first.get("total", 0)
    return {**told, "faces": number, "recovered": shares, "median_error": medians}


def attribute_rows(records: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """One row per attribute, way and attack, seeds taken together."""
    groups = grouped(
        _of(records, "attribute"), lambda one: (one["attribute"], _setting(one), one["attack"])
    )
    rows = []
    for group in groups.values():
        first, seeds = group[0], len(group)
        right, total = (sum(one[name] for one in group) / seeds for name in ("right", "total"))
        low, high = wilson(round(right), round(total))
        names = ("attribute", "way", "strategy", "dimension", "num_words", "epsilon", "attack")
        told = {name: first[name] for name in names if name in first}
        rows.append(
            {
                **told,
                "seeds": seeds,
                "faces": round(total),
                "accuracy": right / max(total, 1),
                "interval_95": [low, high],
            }
        )
    attributes = list(dict.fromkeys(row["attribute"] for row in rows))
    return tuple(sorted(rows, key=lambda row: _place(row, attributes)))


def _place(row: Mapping[str, Any], attributes: Sequence[str]) -> tuple[Any, ...]:
    """Where a row stands in the table, whatever order the results were made in."""
    return (
        attributes.index(row["attribute"]),
        _SENT.index(row.get("way")),
        _LIFTS.index(row.get("strategy", "")),
        row.get("dimension", 0),
        row.get("num_words", 0),
        float(row.get("epsilon", 0)),
        _ATTACKS.index(row["attack"]),
    )
