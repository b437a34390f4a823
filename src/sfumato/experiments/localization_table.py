"""The table of a file of predictions, as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.experiments.localization_predictions import Predictions
from sfumato.experiments.localization_scores import THRESHOLDS, Row, wilson

#: What the paper reports, on other data: Aachen day, its own dictionary, 10⁷ RANSAC iterations,
#: a raw global descriptor for retrieval [ldp-feat, Table 2]. |K|, ω, ε, shares.
PAPER_FIGURES = (
    (256_000, 1, math.inf, (76.8, 86.3, 91.6)),
    (256_000, 2, 12.0, (69.5, 78.4, 84.1)),
    (256_000, 2, 10.0, (42.1, 49.3, 54.4)),
)
#: What the paper reports of lifted queries, on other data: SIFT, Aachen day [affine, Table 3].
AFFINE_FIGURES = (
    (0, (82.9, 89.6, 92.2)),
    (2, (79.5, 87.0, 91.1)),
    (4, (79.6, 86.5, 91.1)),
    (16, (76.7, 84.0, 87.4)),
)


def table_lines(rows: Sequence[Row], found: Predictions) -> list[str]:
    """The table as text, with what must be known to read it."""
    heads = [
        "recipe", "dictionary", "|K|", "ω", "|K|, ω by", "ε", "N", "ε·N", "answers",
        *(f"≤{metres:g}m/{degrees:g}°" for metres, degrees in THRESHOLDS),
        "wrong", "matches", "inliers", "s",
    ]  # fmt: skip
    body = [_cells(row) for row in rows if not row.setting.is_control]
    widths = [max(len(line[i]) for line in [heads, *body]) for i in range(len(heads))]
    problem = found.problem
    title = (
        f"{problem['data']}: {problem['images']} images, {problem['points']:,} points, "
        f"{problem['observations']:,} observations of {problem['extractor']} in one map; "
        f"{len(found.truth)} queries that are not in it"
    )
    return [
        title,
        "",
        *(_line(cells, widths) for cells in [heads, *body]),
        "",
        *_notes(rows, found),
    ]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        _pad(cell, width, i) for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _cells(row: Row) -> list[str]:
    setting = row.setting
    epsilon, picture = setting.epsilon, row.picture_epsilon
    recipe = setting.recipe
    if setting.strategy is not None:
        recipe += f" {setting.strategy}, m = {setting.dimension}"
    recipe += "" if setting.matching == "vocabulary" else f" {setting.matching}"
    recipe += "" if setting.shortlist == "all" else f" {setting.shortlist}"
    recipe += f", {setting.iterations:,}" if setting.iterations else ""
    recipe += " + gravity" if setting.has_gravity else ""
    shares = ["secret"] * len(THRESHOLDS)
    if row.within is not None:
        shares = [_share(count, row.num_answers) for count in row.within]
    return [
        recipe,
        setting.dictionary or "–",
        "–" if setting.num_words is None else f"{setting.num_words:,}",
        "–" if setting.subset_size is None else str(setting.subset_size),
        "–" if setting.epsilon is None else row.chosen,
        "–" if epsilon is None else "∞" if math.isinf(epsilon) else f"{epsilon:g}",
        f"{row.mean_keypoints:,.0f}",
        "–" if picture is None else "∞" if math.isinf(picture) else f"{picture:,.0f}",
        f"{row.num_answers}",
        *shares,
        "?" if row.num_wrong is None else str(row.num_wrong),
        f"{row.median_matches:,.0f}",
        f"{row.median_inliers:,.0f}",
        f"{row.median_seconds:.2f}",
    ]


def _share(count: int, total: int) -> str:
    low, high = wilson(count, total)
    return f"{100 * count / total:.0f} [{100 * low:.0f}–{100 * high:.0f}]"


def _pad(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column in (0, 1, 4) else cell.rjust(width)


def _notes(rows: Sequence[Row], found: Predictions) -> list[str]:
    control = [row for row in rows if row.setting.is_control]
    notes = [
        "Shares in % of answers (queries × seeds), Wilson's 95 % interval; no pose counts as a "
        "failure.",
        f"wrong: poses returned beyond {THRESHOLDS[-1][0]:g} m or {THRESHOLDS[-1][1]:g}°. ε is per "
        "descriptor, ε·N per picture of N keypoints; positions and N are not protected.",
        "|K|, ω by: rule (knows ε only), best of n (chosen on these queries, which favours it).",
        "Releases are reproducible (seeded), not for sending. Seconds: server's side, median.",
    ]
    if any(row.setting.iterations for row in rows):
        notes.append("paper: plain RANSAC of at most so many iterations (the paper: 10,000,000).")
    if control:
        poses, asked = sum(row.num_returned for row in control), sum(r.num_answers for r in control)
        notes.append(
            f"control: {asked} queries against the map without their scene, raw and ours: "
            f"{poses} poses returned (0 wanted)."
        )
    if any(row.setting.strategy for row in rows):
        figures = "; ".join(
            ("raw" if not dimension else f"m = {dimension}")
            + ": "
            + " / ".join(f"{share:g}" for share in shares)
            for dimension, shares in AFFINE_FIGURES
        )
        notes.append("lifted: no guarantee exists; known attacks recover the descriptors.")
        notes.append(
            f"Lifted queries in the paper, other data (Aachen day, sub-hybrid, SIFT): {figures}."
        )
    for name, facts in found.dictionaries.items():
        own = "; built from the map's own images" if facts["built_from_map"] else ""
        notes.append(f"{name}: {facts['provenance']}{own}")
    figures = "; ".join(
        f"ε = {'∞' if math.isinf(epsilon) else f'{epsilon:g}'}: "
        + " / ".join(f"{share:g}" for share in shares)
        for _, _, epsilon, shares in PAPER_FIGURES
    )
    notes.append(
        "The paper's own figures, other data (Aachen day, its own dictionary of 256k words, ω = 2, "
        f"1 at ε = ∞): {figures}."
    )
    return notes
