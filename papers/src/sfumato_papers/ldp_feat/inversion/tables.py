"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: ours beside the papers'."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from sfumato.adversary.metrics import Interval
from sfumato_papers.harness.table import Table, table_of
from sfumato_papers.ldp_feat.inversion import printed as paper
from sfumato_papers.ldp_feat.inversion.outcomes import Results, Row, Setting, steps_down, summarise


def report_lines(results: Results) -> list[str | Table]:
    """All tables that have rows, with what must be known to read them."""
    rows = summarise(results)
    told = results.facts["inversion"]
    lines: list[str | Table] = [
        f"{told['data']}: {told['pictures']} photographs, {told['side']}×{told['side']}, at most "
        f"{told['max_keypoints']:,} keypoints each. Cells: mean over pictures [95 % interval]."
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
    plain = [r for r in rows if _is_plain(r.setting)]
    for title, chosen, printed in _tables(rows):
        more = [row for row in chosen if row not in plain]
        if more or title == "Raw SIFT and the baselines":
            lines += ["", title, _table(chosen, printed)]
    lines += ["", *_remarks(results)]
    return lines


_Look = Callable[[Setting], paper.Printed | None]


def _is_plain(row: Setting) -> bool:
    """Raw SIFT and the baselines: they stand above every table."""
    return row.defence.name == "raw" and row.defence.extractor == "sift"


def _tables(rows: Sequence[Row]) -> list[tuple[str, list[Row], _Look]]:
    plain = [r for r in rows if _is_plain(r.setting)]
    lifted = [r for r in rows if r.setting.defence.strategy]
    sub_hybrid = [r for r in lifted if r.setting.defence.strategy == "sub-hybrid"]
    return [
        ("Raw SIFT and the baselines", plain, lambda _: None),
        ("Lifted SIFT [ldp-feat, Table 1]", plain + sub_hybrid, paper.lifts),
        (
            "Lifted SIFT [affine, Fig. 3: HardNet there]",
            plain + [r for r in lifted if paper.affine(r.setting)],
            paper.affine,
        ),
        (
            "Words [ldp-feat, Table 4: direct, |K| = 256,000 there]",
            plain + [r for r in rows if r.setting.defence.subset_size],
            paper.words,
        ),
        (
            "Kinds of descriptors [reverse, Table 1 and supplement Table 3]",
            plain + [r for r in rows if r.setting.defence.extractor != "sift"],
            paper.descriptors,
        ),
    ]


def _table(rows: Sequence[Row], printed: _Look) -> Table:
    def paper(name: str) -> Callable[[Row], float | None]:
        return lambda row: _number(printed(row.setting), name)

    columns = [
        ("attack", "setting.attack"), ("defence", lambda row: _defence(row.setting)),
        ("pictures", "count"), ("SSIM", lambda row: _cell(row.ssim)),
        ("paper", paper("ssim"), ".3f"), ("MAE", lambda row: _cell(row.mae)),
        ("paper", paper("mae"), ".3f"), ("PSNR", lambda row: _cell(row.psnr, 2)),
        ("paper", paper("psnr"), ".2f"), ("LPIPS", lambda row: _cell(row.lpips)),
        ("objects", lambda row: _objects(row.objects)), ("paper", paper("objects"), ".1%"),
        ("bytes", lambda row: row.num_bytes or None, ",.0f"), ("guarantee", "guarantee"),
        ("painted by", lambda row: _painter(row.network)),
    ]  # fmt: skip
    whole = table_of(rows, *columns)
    kept = [i for i in range(len(columns)) if i < 4 or any(line[i] != "–" for line in whole.rows)]
    body = [[line[i] for i in kept] for line in whole.rows]
    return Table([whole.heads[i] for i in kept], body, left=range(len(kept)))


def _remarks(results: Results) -> list[str]:
    lines = []
    steps = steps_down(results)
    if steps:
        lines.append("SSIM lost from row to row, on the same pictures:")
        lines += [f"  {name}  {_cell(gap)}" for name, gap in steps]
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


def _cell(value: Interval | None, digits: int = 3) -> str:
    if value is None:
        return "–"
    if math.isnan(value.low):
        return f"{value.mean:.{digits}f}"
    return f"{value.mean:.{digits}f} [{value.low:.{digits}f}, {value.high:.{digits}f}]"


def _number(printed: paper.Printed | None, name: str) -> float | None:
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
