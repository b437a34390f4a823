"""Reverse engineering, Fig. 5: the tables and the plot of `sfumato experiment fewer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.adversary.metrics import mean_interval
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.plot import BLUE, GOLD, INK, RED, draw, lines
from sfumato_papers.harness.table import Table, grouped, show, table_of, wilson
from sfumato_papers.reverse.keypoint_count import JOURNAL, Outcome, Setting, Settings, run_fewer
from sfumato_papers.reverse.keypoint_count_pictures import Rebuilt, read_privacy, run_privacy
from sfumato_papers.reverse.posed_pairs import open_pairs, scene_folders

#: [reverse, §5.2]: a pair is matched from this many inliers on.
MIN_INLIERS = 20
#: Pairs that share at least so many points of the map: all, nearer, near.
CLASSES = (0, 400, 800)
_PRIVACY = "privacy.jsonl"
_COLORS = {"sift": INK, "freak": RED, "vgg": BLUE, "beblid": GOLD}
_STYLES = {"strength": "-", "spread": "--", "stable": ":"}
_TITLES = {"both": "both pictures keep N", "query": "one keeps N, the server's has all"}


Row = dict[str, Any]


def summarise(outcomes: Sequence[Outcome], rebuilt: Sequence[Rebuilt] = ()) -> list[Row]:
    """A row for every setting, in the order of extractor, protocol, way to keep, N falling."""
    groups = grouped(outcomes, lambda outcome: outcome.setting)
    scores = grouped(rebuilt, lambda one: (one.extractor, one.keep_by, one.num_keypoints))
    extractors = list(dict.fromkeys(setting.extractor for setting in groups))
    order = sorted(
        groups,
        key=lambda setting: (
            extractors.index(setting.extractor),
            setting.protocol,
            [*_STYLES].index(setting.keep_by),
            -setting.num_keypoints,
        ),
    )
    return [
        _row(setting, groups[setting], scores.get(
            (setting.extractor, setting.keep_by, setting.num_keypoints), []
        ))
        for setting in order
    ]  # fmt: skip


def _row(setting: Setting, group: Sequence[Outcome], rebuilt: Sequence[Rebuilt]) -> Row:
    """One setting.

    recall    share of pairs with 20 right mutual nearest neighbours, by CLASSES; None where a
              class is empty; with the ratio test, and by the server's own inliers: of all pairs
    bound     share of pairs that kept 20 points of the map in common: no matcher finds more
    controls  share of pairs of two scenes that reach 20, by lines of their arbitrary poses
    """
    posed = [outcome for outcome in group if not outcome.is_control]
    right = np.array([outcome.counts.num_right for outcome in posed])
    covisible = np.array([outcome.covisible for outcome in posed])
    inside = [covisible >= least for least in CLASSES]
    ransac = [o.counts.num_ransac for o in posed if o.counts.num_ransac is not None]
    shared = [outcome.num_shared for outcome in posed if outcome.num_shared is not None]
    return {
        **asdict(setting),
        "min_covisible": CLASSES,
        "pairs": [int(chosen.sum()) for chosen in inside],
        "recall": [_share(right[chosen]) for chosen in inside],
        "recall_interval_95": wilson(int((right >= MIN_INLIERS).sum()), max(len(right), 1)),
        "recall_with_ratio_test": _share([o.counts.num_right_with_ratio for o in posed]) or 0.0,
        "recall_by_ransac": _share(ransac) if len(ransac) == len(posed) else None,
        "bound": _share(shared) if len(shared) == len(posed) else None,
        "controls": _share([outcome.counts.num_right for outcome in group if outcome.is_control]),
        "median_right_matches": float(np.median(right)) if len(right) else 0.0,
        "one_minus_ssim": mean_interval([1 - one.ssim for one in rebuilt]) if rebuilt else None,
        "_setting": setting,
    }


def _share(counts: Any) -> float | None:
    values = np.asarray(counts)
    return float((values >= MIN_INLIERS).mean()) if len(values) else None


def whole_rows(head: Mapping[str, Any], rows: Sequence[Row]) -> tuple[list[Row], int]:
    """Rows of which every pair was counted, and how many are not finished yet."""
    whole = [row for row in rows if row["pairs"][0] == head["pairs"]]
    return whole, len(rows) - len(whole)


def losses(rows: Sequence[Row], *, many: int = 1000, few: int = 200) -> list[str]:
    """What is lost from many to few keypoints, in points: by the same rule, and by the best."""
    sentences = []
    recall = {row["_setting"]: row["recall"] for row in rows}
    for setting in recall:
        if setting.num_keypoints != few:
            continue
        for start in dict.fromkeys((setting.keep_by, "strength")):
            before = recall.get(replace(setting, keep_by=start, num_keypoints=many), ())
            parts = [
                f"{show(a, '.1p')} → {show(b, '.1p')} ({100 * (a - b):+.1f} lost)"
                for a, b in zip(before, recall[setting], strict=False)
                if a is not None and b is not None
            ]
            if before:
                sentences.append(
                    f"{setting.extractor}, {setting.protocol}: {many} by {start} → {few} by "
                    f"{setting.keep_by}: " + "; ".join(parts)
                )
    return sentences


def report_lines(
    head: Mapping[str, Any], rows: Sequence[Row], missing: Mapping[str, str] | None = None
) -> list[str | Table]:
    """The tables, with what must be known to read them."""
    rows, unfinished = whole_rows(head, rows)
    counts = " / ".join(str(count) for count in rows[0]["pairs"]) if rows else "0"
    shown: list[str | Table] = [
        f"{', '.join(head['scenes'])}: {head['images']} pictures, {head['points']:,} points; "
        f"{head['pairs']} of {head['possible_pairs']} pairs share 20 points (classes: {counts}), "
        f"{head['controls']} controls"
    ]
    every = table_of(rows, *_COLUMNS).rows
    for name, title in (
        ("both", "Both pictures keep N [reverse, Fig. 5]:"),
        ("query", "One picture keeps N, the other is the server's own, with all its keypoints:"),
    ):
        chosen = [row for row in rows if row["protocol"] == name]
        if chosen:
            shown += ["", title, table_of(chosen, *_COLUMNS, left=(0, 3), alike=every, **_FOLDED)]
    lost = losses(rows)
    shown += ["", *lost, ""] if lost else [""]
    if unfinished:
        shown.append(f"{unfinished} settings are not finished; the same command goes on with them.")
    shown += [f"{name}: no 1 − SSIM. {reason}" for name, reason in (missing or {}).items()]
    return [*shown, *NOTES]


_COLUMNS = (
    ("extractor", "extractor"), ("N", "num_keypoints"), ("pool", lambda row: row["pool"] or "all"),
    ("kept by", "keep_by"), ("all pairs", lambda row: row["recall"][0], ".1p"),
    *((f"≥{least}", lambda row, place=place: row["recall"][place], ".1p")
      for place, least in enumerate(CLASSES) if place),
    ("95 %", lambda row: "–".join(f"{100 * end:.0f}" for end in row["recall_interval_95"])),
    ("ratio", "recall_with_ratio_test", ".1p"), ("RANSAC", "recall_by_ransac", ".1p"),
    ("bound", "bound", ".1p"), ("chance", "controls", ".1p"),
    ("right", "median_right_matches", ".0f"), ("1 − SSIM", "one_minus_ssim.mean", ".3f"),
    ("its 95 %", lambda row: row["one_minus_ssim"] and "{0.low:.3f}–{0.high:.3f}".format(
        row["one_minus_ssim"])),
)  # fmt: skip
_FOLDED = {"fold": ("pool",), "drop": ("RANSAC", "bound", "chance", "1 − SSIM", "its 95 %")}


NOTES = (
    "Matching recall in percent: pairs with 20 right matches, of pairs that share 20 points of a",
    "map of all keypoints, then of pairs that share 400 and 800. Right: mutual nearest neighbours",
    "within 2 px of the known epipolar lines. 95 %: of all pairs. ratio: with a ratio test of .8.",
    "RANSAC: by the inliers of a server that knows no pose. bound: pairs that kept 20 points of",
    "the map in common: no matcher can pass it by much. chance: pairs of two scenes that reach 20.",
    "right: median right matches. pool: keypoints found to choose from. Descriptors are raw: fewer",
    "of them is no guarantee. Positions are sent as they are.",
    "reverse, §5.4, says of MegaDepth: SIFT and SOSNet lose 2 points from 1000 to 200.",
)


def draw_plot(rows: Sequence[Row], path: Path) -> Path:
    """Recall over N for each protocol, then 1 − SSIM where there is a network [reverse, Fig. 5]."""
    alike: dict[str, Any] = {
        "x": "num_keypoints",
        "curve": lambda row: f"{row['extractor']} by {row['keep_by']}",
        "color": "extractor",
        "colors": _COLORS,
        "style": "keep_by",
        "styles": _STYLES,
        "x_label": "keypoints, N",
    }
    panels = lines(
        rows,
        y=lambda row: 100 * (row["recall"][0] or 0),
        panel="protocol",
        titles=_TITLES,
        y_label="matching recall, all pairs (%)",
        more={"ylim": (0, 100)},
        **alike,
    ) + lines(
        [row for row in rows if row["one_minus_ssim"]],
        y="one_minus_ssim.mean",
        panel=lambda _: "1 − SSIM of the reconstruction",
        y_label="higher is more private",
        **alike,
    )
    return draw(path, *panels, size=(4.2 * max(len(panels), 1), 3.8))


def _run(settings: Settings, path: Path) -> dict[str, str]:
    scenes, work = scene_folders(settings.data), path.parent
    pairs = open_pairs(scenes, work)
    run_fewer(scenes, pairs, settings, path)
    if settings.pictures is None:
        return {}
    return run_privacy(settings.pictures, settings, work / _PRIVACY)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    rows = summarise(outcomes, read_privacy(path.parent / _PRIVACY))
    whole, _ = whole_rows(head, rows)
    plot = draw_plot(whole, path.parent / "fewer.png")
    found = {"rows": whole, "losses": losses(whole)}
    missing = dict(ran or {})
    return Report(
        [*report_lines(head, rows, missing), f"outcomes: {path}", f"plot: {plot}"],
        {**head, **found, "without_network": missing, "plot": plot},
    )


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-fewer",
    writes="Folder for features, outcomes and the plot.",
)
