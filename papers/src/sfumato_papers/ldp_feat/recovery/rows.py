"""LDP-FEAT, Tables 1, S2 and S3: results of the recovery attacks, summed up over pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.adversary.recover.bounds import (
    best_accuracy,
    context_accuracy,
    uniform_accuracy,
)
from sfumato.privacy.audit import clopper_pearson
from sfumato_papers.harness.table import grouped
from sfumato_papers.ldp_feat.recovery.assumptions import PAPER_S2, PAPER_S3
from sfumato_papers.ldp_feat.recovery.lifts import ATTACKS, CLOSE, EXACT, TOP

Record = dict[str, Any]
_INTERVAL = 0.999  # coverage of each row; tens of rows are compared with their bound


def summarise(records: Sequence[Record]) -> dict[str, list[Record]]:
    """One list of rows per table."""
    kinds = grouped(records, lambda record: str(record["kind"]))

    def of(kind: str) -> list[Record]:
        return kinds.get(kind, [])

    return {
        "lifts": _lifts(of("lift")),
        "assumptions": _assumptions(of("assumptions"), records[0]),
        "words": _words(of("words"), of("truth")),
        "repeats": _repeats(of("repeats")),
        "repeated_lifts": _repeated_lifts(of("repeated lifts")),
        "ledger": _ledger(of("ledger")),
        "inliers": _inliers(of("inliers")),
    }


def _groups(records: list[Record], *names: str) -> list[tuple[Record, list[Record]]]:
    """Records alike in these values, with the values."""
    groups = grouped(records, lambda record: tuple(record[name] for name in names))
    return [(dict(zip(names, key, strict=True)), groups[key]) for key in groups]


def _total(group: list[Record], name: str) -> float:
    return float(sum(record[name] for record in group))


def _share(group: list[Record], name: str) -> float:
    return _total(group, name) / _total(group, "total")


def _lifts(records: list[Record]) -> list[Record]:
    rows = []
    for setting, group in _groups(records, "strategy", "dimension", "attack"):
        error = np.concatenate([record["errors"] for record in group])
        certified = np.concatenate([record["certified"] for record in group]) > 0
        weight = [len(record["errors"]) for record in group]
        seconds = [record["seconds_per_descriptor"] for record in group]
        rows.append(
            {
                **setting,
                "descriptors": len(error),
                "exact": float((error < EXACT).mean()),
                "close": float((error < CLOSE).mean()),
                "median_error": float(np.median(error)),
                "mean_error": float(error.mean()),
                "certified": int(certified.sum()),
                "certified_wrong": int((certified & (error >= EXACT)).sum()),
                "seconds_per_descriptor": float(np.average(seconds, weights=weight)),
            }
        )
    attacks = [*ATTACKS, *dict.fromkeys(row["attack"] for row in rows)]
    return sorted(
        rows, key=lambda row: (row["strategy"], row["dimension"], attacks.index(row["attack"]))
    )


def _assumptions(records: list[Record], problem: Record) -> list[Record]:
    rows = []
    for setting, group in _groups(records, "strategy", "dimension"):
        strategy, dimension, total = *setting.values(), _total(group, "total")
        num_words = dimension if strategy.endswith("adversarial") else dimension // 2
        share = 16 if strategy.startswith("sub-") else 1
        others = np.average([one["num_others"] for one in group], weights=[
            one["total"] for one in group
        ])  # fmt: skip
        expected = [
            one["total"] * (1 - np.exp(-one["num_others"] * num_words * share / problem["words"]))
            for one in group
        ]
        rows.append(
            {
                **setting,
                "subspaces": int(total),
                **{n: _share(group, n) for n in ("all_words_found", "wrong_words_found")},
                "near_forming": {
                    str(top): sum(one["near_forming"][str(top)] for one in group) / (top * total)
                    for top in TOP
                },
                "near_forming_paper": PAPER_S2.get(dimension),
                "others": float(others),
                "words_shared": _total(group, "shared_words") / (num_words * total),
                "words_shared_expected": float(sum(expected)) / total,
                "none_met": _share(group, "none_met"),
                "d_not_touched": 1 - _share(group, "d_touched"),
                "d_farthest": _share(group, "d_farthest"),
                "no_collision_paper": PAPER_S3.get(dimension),
            }
        )
    return sorted(rows, key=lambda row: (row["strategy"], row["dimension"]))


def _words(records: list[Record], truths: list[Record]) -> list[Record]:
    """Accuracy of each guess beside the bound that holds for it; see adversary/recover/bounds.py.

    uniform    p/ω, for any words
    frequency  the best accuracy for words as frequent as in these very pictures: no rule that
               sees one release alone can be right more often on them
    context    min(R·a0, p + (1 − p)·c) with c how often the context alone is right: what ε lets
               one release add to whatever its neighbours tell
    """
    laws = {}
    for num_words, group in grouped(truths, lambda record: int(record["num_words"])).items():
        words = np.concatenate([record["words"] for record in group]).astype(np.int64)
        laws[num_words] = np.bincount(words, minlength=num_words) / len(words)
    rows = []
    for setting, group in _groups(records, "num_words", "subset_size", "epsilon", "prior"):
        num_words, size, epsilon, prior = setting.values()
        right, total = int(_total(group, "right")), int(_total(group, "total"))
        if prior == "uniform":
            bound = uniform_accuracy(epsilon, num_words, size)
        elif prior == "frequency":
            bound = best_accuracy(laws[num_words], epsilon, size)
        else:
            chance, alone = (_share(group, name) for name in ("chance", "alone"))
            bound = context_accuracy(alone, chance, epsilon, num_words, size)
        low, high = clopper_pearson(right, total, 1 - _INTERVAL)
        rows.append(
            {
                **setting,
                "descriptors": total,
                "right": right,
                "accuracy": right / total,
                "interval": [low, high],
                "believed": _share(group, "believed"),
                "bound": bound,
                "is_within_bound": low <= bound,
            }
        )
    return sorted(rows, key=lambda row: (row["num_words"], row["subset_size"], row["epsilon"]))


def _repeats(records: list[Record]) -> list[Record]:
    return [
        {
            **setting,
            **{name: group[0][name] for name in ("epsilon", "subset_size", "num_words")},
            "descriptors": int(_total(group, "total")),
            "most_frequent_is_true": _share(group, "right_and_alone"),
            "right": _share(group, "right"),
            "believed": _share(group, "believed"),
        }
        for setting, group in _groups(records, "mechanism", "releases")
    ]


def _repeated_lifts(records: list[Record]) -> list[Record]:
    return [
        {
            **setting,
            "descriptors": int(_total(group, "total")),
            "exact": _share(group, "exact"),
            **{name: int(_total(group, name)) for name in ("certified", "certified_wrong")},
        }
        for setting, group in sorted(
            _groups(records, "dimension"), key=lambda one: one[0]["dimension"]
        )
    ]


def _ledger(records: list[Record]) -> list[Record]:
    sent = [record["sent"] for record in records]
    row = {"pictures": len(sent), "fewest_sent": min(sent, default=0)}
    return [{**row, "most_sent": max(sent)}] if sent else []


def _inliers(records: list[Record]) -> list[Record]:
    rows = []
    for setting, group in _groups(records, "mechanism"):
        found = [record for record in group if record["localized"]]
        inliers = max(_total(found, "inliers"), 1)
        errors = [one["median_error"] for one in found if one["median_error"] is not None]
        rows.append(
            {
                **setting,
                "pictures": len(group),
                "localized": len(found),
                "share_revealed": _total(found, "inliers") / max(_total(group, "total"), 1),
                "word_right": _total(found, "right") / inliers
                if "words" in setting["mechanism"]
                else None,
                "close": _total(found, "close") / inliers,
                "median_error": float(np.median(errors)) if errors else None,
            }
        )
    return rows
