"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: ours beside the papers'.

Theirs are of other pictures (MegaDepth's test set, ten holiday pictures), other sizes of words
and networks trained for days: the order of rows can be compared, the numbers only roughly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.adversary.metrics import Interval
from sfumato_papers.harness.table import Table, table_of, wrapped
from sfumato_papers.ldp_feat.inversion.outcomes import Results, Setting, steps_down, summarise

Row = dict[str, Any]


@dataclass(frozen=True)
class Printed:
    """A row of a paper; NaN where it has no such column. objects: share detected again."""

    ssim: float
    mae: float = math.nan
    psnr: float = math.nan
    objects: float = math.nan


#: [ldp-feat, Table 1]: sub-hybrid lifts of SIFT, |W| = 256,000, by attack and m.
LIFTS = {
    ("nearest", 2): Printed(0.3611, 0.1690, 14.00),
    ("nearest", 4): Printed(0.3273, 0.1913, 12.84),
    ("nearest", 8): Printed(0.2481, 0.1985, 12.29),
    ("nearest", 16): Printed(0.2457, 0.1873, 12.76),
    ("direct", 2): Printed(0.5005, 0.1194, 16.35),
    ("direct", 4): Printed(0.4190, 0.1468, 14.79),
    ("direct", 8): Printed(0.3676, 0.1635, 14.01),
    ("direct", 16): Printed(0.3496, 0.1761, 13.43),
    ("clustering", 2): Printed(0.5919, 0.1087, 17.30),
    ("clustering", 4): Printed(0.5652, 0.1142, 16.51),
    ("clustering", 8): Printed(0.5160, 0.1254, 15.83),
    ("clustering", 16): Printed(0.4122, 0.1424, 14.73),
    ("database", 2): Printed(0.6566, 0.0947, 18.26),
    ("database", 4): Printed(0.6543, 0.0950, 18.27),
    ("database", 8): Printed(0.6385, 0.1000, 17.89),
    ("database", 16): Printed(0.5882, 0.1063, 17.47),
    ("raw", 0): Printed(0.6878, 0.0913, 18.59),
}

#: [ldp-feat, Table 4]: direct inversion of words, by |K| in thousands, ω and ε per descriptor.
WORDS = {
    (256, 1, 16): Printed(0.6248, 0.1069, 17.35),
    (256, 1, 14): Printed(0.5923, 0.1137, 16.90),
    (256, 1, 12): Printed(0.4668, 0.1317, 15.77),
    (256, 1, 10): Printed(0.3651, 0.1701, 13.72),
    (256, 2, 16): Printed(0.5582, 0.1173, 16.50),
    (256, 2, 14): Printed(0.5417, 0.1208, 16.31),
    (256, 2, 12): Printed(0.4655, 0.1366, 15.44),
    (256, 2, 10): Printed(0.3676, 0.1660, 13.84),
    (256, 4, 16): Printed(0.4976, 0.1261, 15.94),
    (256, 4, 14): Printed(0.4868, 0.1322, 15.47),
    (256, 4, 12): Printed(0.4511, 0.1438, 14.93),
    (256, 4, 10): Printed(0.3666, 0.1758, 13.48),
    (512, 4, 16): Printed(0.4994, 0.1226, 16.02),
    (512, 4, 14): Printed(0.4866, 0.1254, 15.95),
    (512, 4, 12): Printed(0.4188, 0.1511, 14.55),
    (512, 4, 10): Printed(0.3647, 0.1685, 13.93),
}

#: [affine, Fig. 3]: HardNet on ten pictures, by attack, strategy and m.
AFFINE = {
    ("raw", "", 0): Printed(0.755, 0.105, 17.937),
    ("nearest", "random", 2): Printed(0.738, 0.112, 17.448),
    ("nearest", "sub-hybrid", 2): Printed(0.530, 0.206, 12.288),
    ("direct", "sub-hybrid", 2): Printed(0.648, 0.176, 13.447),
    ("direct", "sub-hybrid", 4): Printed(0.594, 0.179, 13.531),
    ("direct", "sub-hybrid", 6): Printed(0.559, 0.194, 12.823),
}

#: [reverse, Table 1 and supplement Table 3]: 1,000 keypoints, objects as YOLO v3 sees them.
DESCRIPTORS = {
    "sift": Printed(0.675, objects=0.3258),
    "freak": Printed(0.511, objects=0.1932),
    "sosnet": Printed(0.616, objects=0.4126),
}


def lifts(row: Setting) -> Printed | None:
    """[ldp-feat, Table 1] has raw and sub-hybrid lifts."""
    if row.defence.strategy not in ("", "sub-hybrid"):
        return None
    return LIFTS.get((row.attack, row.defence.dimension))


def affine(row: Setting) -> Printed | None:
    return AFFINE.get((row.attack, row.defence.strategy, row.defence.dimension))


def words(row: Setting) -> Printed | None:
    """The paper's 256,000 words beside any |K| of ours; its attacker is trained on words."""
    if row.defence.epsilon is None or not math.isfinite(row.defence.epsilon):
        return LIFTS[("raw", 0)] if row.attack == "raw" else None
    return WORDS.get((256, row.defence.subset_size, int(row.defence.epsilon)))


def descriptors(row: Setting) -> Printed | None:
    return DESCRIPTORS.get(row.defence.extractor) if row.attack == "raw" else None


def report_lines(results: Results) -> list[str | Table]:
    """All tables that have rows, with what must be known to read them."""
    rows = summarise(results)
    problem = results.facts["inversion"]
    side = problem["side"]
    lines: list[str | Table] = [
        f"{problem['data']}: {problem['pictures']} photographs, {side}×{side}, at most "
        f"{problem['max_keypoints']:,} keypoints each. Cells: mean over pictures [95 % interval]."
    ]
    if "database" in results.facts:
        base = results.facts["database"]
        lines.append(
            f"Lifts: W {base['words']:,} words ({base['provenance']}), "
            f"Z {base['public']:,} descriptors of other pictures."
        )
    if "dictionary" in results.facts:
        lines.append(f"Words: {results.facts['dictionary']['provenance']}.")
    lines.append("Releases are reproducible (seeded), not for sending.")
    plain = [r for r in rows if _is_plain(r["setting"])]
    for title, chosen, printed in _tables(rows):
        more = [row for row in chosen if row not in plain]
        if more or title == "Raw SIFT and the baselines":
            lines += ["", title, _table(chosen, printed)]
    lines += ["", *(line for note in _remarks(results) for line in wrapped(note))]
    return lines


_Look = Callable[[Setting], Printed | None]


def _is_plain(row: Setting) -> bool:
    """Raw SIFT and the baselines: they stand above every table."""
    return row.defence.name == "raw" and row.defence.extractor == "sift"


def _tables(rows: Sequence[Row]) -> list[tuple[str, list[Row], _Look]]:
    plain = [r for r in rows if _is_plain(r["setting"])]
    lifted = [r for r in rows if r["setting"].defence.strategy]
    sub_hybrid = [r for r in lifted if r["setting"].defence.strategy == "sub-hybrid"]
    return [
        ("Raw SIFT and the baselines", plain, lambda _: None),
        ("Lifted SIFT [ldp-feat, Table 1]", plain + sub_hybrid, lifts),
        (
            "Lifted SIFT [affine, Fig. 3: HardNet there]",
            plain + [r for r in lifted if affine(r["setting"])],
            affine,
        ),
        (
            "Words [ldp-feat, Table 4: direct, |K| = 256,000 there]",
            plain + [r for r in rows if r["setting"].defence.subset_size],
            words,
        ),
        (
            "Kinds of descriptors [reverse, Table 1 and supplement Table 3]",
            plain + [r for r in rows if r["setting"].defence.extractor != "sift"],
            descriptors,
        ),
    ]


def _table(rows: Sequence[Row], printed: _Look) -> Table:
    def paper(name: str) -> Callable[[Row], float | None]:
        return lambda row: _number(printed(row["setting"]), name)

    columns = [
        ("attack", "setting.attack"), ("defence", lambda row: _defence(row["setting"])),
        ("pictures", "count"), ("SSIM", lambda row: _cell(row["ssim"])),
        ("paper", paper("ssim"), ".3f"), ("MAE", "mae.mean", ".3f"),
        ("paper", paper("mae"), ".3f"), ("PSNR", "psnr.mean", ".2f"),
        ("paper", paper("psnr"), ".2f"), ("LPIPS", lambda row: _cell(row["lpips"])),
        ("objects", lambda row: _objects(row["objects"])), ("paper", paper("objects"), ".1%"),
        ("bytes", lambda row: row["num_bytes"] or None, ",.0f"),
        ("ε a picture", _picture_epsilon, ",.0f"),
        ("painted by", lambda row: _painter(row["network"])),
    ]  # fmt: skip
    whole = table_of(rows, *columns)
    kept = [i for i in range(len(columns)) if i < 4 or any(line[i] != "–" for line in whole.rows)]
    body = [[line[i] for i in kept] for line in whole.rows]
    heads = [whole.heads[i] for i in kept]
    return Table(heads, body, left=range(len(kept)), fold=("pictures", "painted by"))


def _remarks(results: Results) -> list[str]:
    lines = []
    steps = steps_down(results)
    if steps:
        lines.append("SSIM lost from row to row, on the same pictures:")
        lines += [f"{name}  {_cell(gap)}" for name, gap in steps]
    for row, reason in results.absent.items():
        lines.append(f"not made: {row.attack}, {_defence(row)}: {reason}")
    if results.facts.get("lpips"):
        lines.append(f"no LPIPS: {results.facts['lpips']}")
    return [
        *lines,
        "ε is per descriptor and adds up over the keypoints of a picture; positions and their "
        "number are never protected. Lifting has no guarantee.",
        "The papers' pictures, words and networks are others: compare the order of rows.",
    ]


def _defence(row: Setting) -> str:
    d = row.defence
    if d.strategy:
        return f"{d.strategy} m = {d.dimension}"
    if d.subset_size:
        return f"|K| = {d.num_words:,} ω = {d.subset_size} ε = {d.epsilon:g}"
    return d.extractor


def _picture_epsilon(row: Row) -> float | None:
    epsilon = row["setting"].defence.epsilon
    return None if epsilon is None else float(epsilon * row["num_keypoints"])


def _cell(value: Interval | None) -> str:
    if value is None:
        return "–"
    if math.isnan(value.low):
        return f"{value.mean:.3f}"
    return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"


def _number(printed: Printed | None, name: str) -> float | None:
    value = math.nan if printed is None else float(getattr(printed, name))
    return None if math.isnan(value) else value


def _objects(value: Interval | None) -> str:
    if value is None or math.isnan(value.mean):
        return "–"
    return (
        f"{100 * value.mean:.1f} % [{100 * value.low:.1f}, {100 * value.high:.1f}] of {value.count}"
    )


def _painter(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "–"
    steps = "steps unknown" if facts["steps"] is None else f"{facts['steps']:,} steps"
    time = "" if facts["seconds"] is None else f", {facts['seconds']:,.0f} s"
    origin = "shipped, " if facts["shipped"] else ""
    looks = ", one look" if facts["one_look"] else ""
    return f"{facts['name']}: {origin}{steps}, width {facts['width']}{time}{looks}"
