"""The tables of the recovery experiment, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.experiments.recover import CLOSE, EXACT, TOP

Record = dict[str, Any]

#: SSIM of pictures painted from recovered descriptors, by m [ldp-feat, Table 1]: another measure,
#: on other pictures; only the order can be compared.
PAPER_SSIM = {
    "nearest": {2: 0.3611, 4: 0.3273, 8: 0.2481, 16: 0.2457},
    "clustering": {2: 0.5919, 4: 0.5652, 8: 0.5160, 16: 0.4122},
    "database": {2: 0.6566, 4: 0.6543, 8: 0.6385, 16: 0.5882},
}


def table_lines(problem: Record, tables: dict[str, list[Record]]) -> list[str]:
    """All tables that have rows, each with what must be known to read it."""
    lines = [
        f"{problem['data']}: {problem['pictures']} photographs, at most {problem['keypoints']} "
        f"keypoints of each attacked. W: {problem['words']:,} words "
        f"({problem['words_provenance']}); Z: {problem['public']:,} descriptors of other pictures.",
        "Releases are reproducible (seeded), not for sending.",
    ]
    for name, make in (
        ("lifts", _lifts),
        ("assumptions", _assumptions),
        ("words", _words),
        ("repeats", _repeats),
        ("repeated_lifts", _repeated_lifts),
        ("ledger", _ledger),
        ("inliers", _inliers),
    ):
        if tables[name]:
            lines += ["", *make(tables[name])]
    return lines


def _grid(heads: Sequence[str], body: Sequence[Sequence[str]], left: int) -> list[str]:
    widths = [max(len(line[i]) for line in [heads, *body]) for i in range(len(heads))]
    return [
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in [heads, *body]
    ]


def _percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f}"


def _lifts(rows: list[Record]) -> list[str]:
    heads = ["strategy", "attack", "m", "descriptors", f"% exact (<{EXACT:g})",
             f"% within {CLOSE:g}", "median error", "certified", "of them wrong",
             "ms/descriptor", "paper's SSIM"]  # fmt: skip
    body = [
        [
            row["strategy"],
            row["attack"],
            str(row["dimension"]),
            f"{row['descriptors']:,}",
            _percent(row["exact"]),
            _percent(row["close"]),
            f"{row['median_error']:.3f}",
            str(row["certified"]) if row["certified"] else "–",
            str(row["certified_wrong"]) if row["certified"] else "–",
            f"{1e3 * row['seconds_per_descriptor']:.1f}",
            _paper(row),
        ]
        for row in rows
    ]
    return [
        "Lifted descriptors recovered",
        *_grid(heads, body, 2),
        "Errors are distances between unit descriptors. Milliseconds on one core (sum of all). "
        "Lifting has no ε.",
        "The paper measures the picture a network paints, on other photographs: compare the order.",
    ]


def _paper(row: Record) -> str:
    if row["strategy"] != "sub-hybrid":
        return ""
    value = PAPER_SSIM.get(row["attack"], {}).get(row["dimension"])
    return "–" if value is None else f"{value:.4f}"


def _assumptions(rows: list[Record]) -> list[str]:
    heads = ["strategy", "m", "subspaces", "% all words found", "% a wrong one",
             *(f"S2 N={top} (paper)" for top in TOP), "others", "% words shared (expected)",
             "% no one meets D", "% d untouched", "% d farthest", "paper's S3"]  # fmt: skip
    body = [
        [
            row["strategy"],
            str(row["dimension"]),
            f"{row['subspaces']:,}",
            _percent(row["all_words_found"], 2),
            _percent(row["wrong_words_found"], 2),
            *(_near(row, top) for top in TOP),
            f"{row['others']:,.0f}",
            f"{_percent(row['words_shared'])} ({_percent(row['words_shared_expected'])})",
            _percent(row["none_met"]),
            _percent(row["d_not_touched"]),
            _percent(row["d_farthest"]),
            "–" if row["no_collision_paper"] is None else f"{row['no_collision_paper']:.2f}",
        ]
        for row in rows
    ]
    return [
        "Assumptions of the published attacks [ldp-feat, S2 and S3]",
        *_grid(heads, body, 1),
        "S2: of the N database descriptors nearest to D (its own words left out), % that are "
        "clearly nearest to one maker of D (ratio .8).",
        "S3: the paper does not define its collision. untouched: no subspace that meets D comes "
        "within .1 of d; farthest: d is farther from them than every word of D, which the "
        "clustering attack needs. Data and words differ from the paper's.",
    ]


def _near(row: Record, top: int) -> str:
    paper = (row["near_forming_paper"] or {}).get(top)
    return _percent(row["near_forming"][str(top)]) + (f" ({paper:.1f})" if paper else " (–)")


def _words(rows: list[Record]) -> list[str]:
    heads = ["prior", "|K|", "ω", "ε", "descriptors", "% right", "99.9 % interval", "% believed",
             "% bound", "within"]  # fmt: skip
    body = [
        [
            row["prior"],
            f"{row['num_words']:,}",
            str(row["subset_size"]),
            f"{row['epsilon']:g}",
            f"{row['descriptors']:,}",
            _percent(row["accuracy"], 2),
            f"{_percent(row['interval'][0], 2)}–{_percent(row['interval'][1], 2)}",
            _percent(row["believed"], 2),
            _percent(row["bound"], 2),
            "yes" if row["is_within_bound"] else "NO",
        ]
        for row in rows
    ]
    return [
        "True words guessed from one LDP release, and what ε allows",
        *_grid(heads, body, 1),
        "ε is per descriptor; N descriptors compose to N·ε. Positions, N, camera and pose are not "
        "protected.",
        "Bounds: uniform p/ω; frequency: the best possible for words as frequent as in these "
        "pictures; context: p + (1 − p)·(share right by context alone), or less.",
        "believed: what the attacker thinks; above '% right' where its model is too sure.",
    ]


def _repeats(rows: list[Record]) -> list[str]:
    heads = ["releases drawn", "releases", "|K|", "ω", "ε", "descriptors",
             "% most frequent = true", "% best guess right", "% believed"]  # fmt: skip
    body = [
        [
            row["mechanism"],
            str(row["releases"]),
            f"{row['num_words']:,}",
            str(row["subset_size"]),
            f"{row['epsilon']:g}",
            f"{row['descriptors']:,}",
            _percent(row["most_frequent_is_true"]),
            _percent(row["right"]),
            _percent(row["believed"]),
        ]
        for row in rows
    ]
    return ["Repeated LDP releases of one picture", *_grid(heads, body, 1)]


def _repeated_lifts(rows: list[Record]) -> list[str]:
    heads = ["m", "descriptors", "% exact", "certified", "of them wrong"]
    body = [
        [
            str(row["dimension"]),
            f"{row['descriptors']:,}",
            _percent(row["exact"], 2),
            str(row["certified"]),
            str(row["certified_wrong"]),
        ]
        for row in rows
    ]
    return ["Two lifts of one picture (sub-hybrid), intersected", *_grid(heads, body, 1)]


def _ledger(rows: list[Record]) -> list[str]:
    row = rows[0]
    return [
        f"Ledger with a cap of two pictures: {row['fewest_sent']} to {row['most_sent']} releases "
        f"left the device for each of {row['pictures']} pictures; then it refused."
    ]


def _inliers(rows: list[Record]) -> list[str]:
    heads = ["release", "pictures", "localized", "% keypoints that are inliers",
             "% of them: word right", f"% of them: within {CLOSE:g}", "median error"]  # fmt: skip
    body = [
        [
            row["mechanism"],
            str(row["pictures"]),
            str(row["localized"]),
            _percent(row["share_revealed"]),
            _percent(row["word_right"]),
            _percent(row["close"]),
            "–" if row["median_error"] is None else f"{row['median_error']:.3f}",
        ]
        for row in rows
    ]
    return ["What the server's own localization reveals", *_grid(heads, body, 1)]
