"""Reverse engineering, Fig. 5: the tables and the plot of `sfumato experiment fewer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.adversary.metrics import Interval, mean_interval
from sfumato.core.progress import Progress
from sfumato_papers.harness import plot as draw
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.table import Table, show, table_of, wilson
from sfumato_papers.posed_pairs import open_pairs, scene_folders
from sfumato_papers.reverse.keypoint_count import JOURNAL, Outcome, Setting, Settings, run_fewer
from sfumato_papers.reverse.keypoint_count_pictures import Rebuilt, read_privacy, run_privacy

#: [reverse, §5.2]: a pair is matched from this many inliers on.
MIN_INLIERS = 20
#: Pairs that share at least so many points of the map: all, nearer, near.
CLASSES = (0, 400, 800)
_PRIVACY = "privacy.jsonl"
_COLORS = {"sift": draw.INK, "freak": draw.RED, "vgg": draw.BLUE, "beblid": draw.GOLD}
_STYLES = {"strength": "-", "spread": "--", "stable": ":"}
_TITLES = {"both": "both pictures keep N", "query": "one keeps N, the server's has all"}


@dataclass(frozen=True)
class Row:
    """One setting.

    recall       share of pairs with 20 right mutual nearest neighbours, by CLASSES; None where a
                 class is empty
    ratio        the same with the ratio test, all pairs; ransac: by the server's own inliers
    bound        share of pairs that kept 20 points of the map in common: no matcher finds more
    controls     share of pairs of two scenes that reach 20, by lines of their arbitrary poses
    privacy      1 − SSIM over pictures, None without a network
    """

    setting: Setting
    num_pairs: tuple[int, ...]
    recall: tuple[float | None, ...]
    interval: tuple[float, float]
    ratio: float
    ransac: float | None
    bound: float | None
    controls: float | None
    median_right: float
    privacy: Interval | None

    def as_dict(self) -> dict[str, Any]:
        return {
            **asdict(self.setting),
            "min_covisible": list(CLASSES),
            "pairs": list(self.num_pairs),
            "recall": list(self.recall),
            "recall_interval_95": list(self.interval),
            "recall_with_ratio_test": self.ratio,
            "recall_by_ransac": self.ransac,
            "bound": self.bound,
            "controls": self.controls,
            "median_right_matches": self.median_right,
            "one_minus_ssim": None if self.privacy is None else asdict(self.privacy),
        }


def summarise(outcomes: Sequence[Outcome], rebuilt: Sequence[Rebuilt] = ()) -> list[Row]:
    """A row for every setting, in the order of extractor, protocol, way to keep, N falling."""
    groups: dict[Setting, dict[Any, Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.setting, {})[outcome.key] = outcome
    scores: dict[tuple[str, str, int], list[float]] = {}
    for one in rebuilt:
        scores.setdefault((one.extractor, one.keep_by, one.num_keypoints), []).append(one.ssim)
    rows = [_row(setting, [*group.values()], scores) for setting, group in groups.items()]
    first = {name: place for place, name in enumerate(dict.fromkeys(s.extractor for s in groups))}
    keep = {name: place for place, name in enumerate(("strength", "spread", "stable"))}
    return sorted(
        rows,
        key=lambda row: (
            first[row.setting.extractor],
            row.setting.protocol,
            keep[row.setting.keep_by],
            -row.setting.num_keypoints,
        ),
    )


def _row(
    setting: Setting, group: Sequence[Outcome], scores: Mapping[tuple[str, str, int], list[float]]
) -> Row:
    posed = [outcome for outcome in group if not outcome.is_control]
    other = [outcome for outcome in group if outcome.is_control]
    right = np.array([outcome.counts.num_right for outcome in posed])
    covisible = np.array([outcome.covisible for outcome in posed])
    inside = [covisible >= least for least in CLASSES]
    ransac = [o.counts.num_ransac for o in posed if o.counts.num_ransac is not None]
    shared = [outcome.num_shared for outcome in posed if outcome.num_shared is not None]
    ssim = scores.get((setting.extractor, setting.keep_by, setting.num_keypoints))
    return Row(
        setting=setting,
        num_pairs=tuple(int(chosen.sum()) for chosen in inside),
        recall=tuple(_share(right[chosen]) for chosen in inside),
        interval=wilson(int((right >= MIN_INLIERS).sum()), max(len(right), 1)),
        ratio=_share([outcome.counts.num_right_with_ratio for outcome in posed]) or 0.0,
        ransac=_share(ransac) if len(ransac) == len(posed) else None,
        bound=_share(shared) if len(shared) == len(posed) else None,
        controls=_share([outcome.counts.num_right for outcome in other]),
        median_right=float(np.median(right)) if len(right) else 0.0,
        privacy=None if not ssim else mean_interval([1 - value for value in ssim]),
    )


def _share(counts: Any) -> float | None:
    values = np.asarray(counts)
    return float((values >= MIN_INLIERS).mean()) if len(values) else None


def whole_rows(head: Mapping[str, Any], rows: Sequence[Row]) -> tuple[list[Row], int]:
    """Rows of which every pair was counted, and how many are not finished yet."""
    whole = [row for row in rows if row.num_pairs[0] == head["pairs"]]
    return whole, len(rows) - len(whole)


def losses(rows: Sequence[Row], *, many: int = 1000, few: int = 200) -> list[str]:
    """What is lost from many to few keypoints, in points: by the same rule, and by the best."""
    lines = []
    found = {row.setting: row for row in rows}
    for row in rows:
        setting = row.setting
        if setting.num_keypoints != few:
            continue
        for start in dict.fromkeys((setting.keep_by, "strength")):
            before = found.get(
                Setting(setting.extractor, start, setting.protocol, many, setting.pool)
            )
            if before is None:
                continue
            parts = [
                f"{show(a, '.1p')} → {show(b, '.1p')} ({100 * (a - b):+.1f} lost)"
                for a, b in zip(before.recall, row.recall, strict=True)
                if a is not None and b is not None
            ]
            lines.append(
                f"{setting.extractor}, {setting.protocol}: {many} by {start} → {few} by "
                f"{setting.keep_by}: " + "; ".join(parts)
            )
    return lines


def report_lines(
    head: Mapping[str, Any], rows: Sequence[Row], missing: Mapping[str, str] | None = None
) -> list[str | Table]:
    """The tables, with what must be known to read them."""
    rows, unfinished = whole_rows(head, rows)
    counts = " / ".join(str(count) for count in rows[0].num_pairs) if rows else "0"
    lines: list[str | Table] = [
        f"{', '.join(head['scenes'])}: {head['images']} pictures, {head['points']:,} points; "
        f"{head['pairs']} of {head['possible_pairs']} pairs share 20 points (classes: {counts}), "
        f"{head['controls']} controls"
    ]
    every = table_of(rows, *_COLUMNS).rows
    for name, title in (
        ("both", "Both pictures keep N [reverse, Fig. 5]:"),
        ("query", "One picture keeps N, the other is the server's own, with all its keypoints:"),
    ):
        chosen = [row for row in rows if row.setting.protocol == name]
        if chosen:
            lines += ["", title, table_of(chosen, *_COLUMNS, left=(0, 3), alike=every)]
    lost = losses(rows)
    lines += ["", *lost, ""] if lost else [""]
    if unfinished:
        lines.append(f"{unfinished} settings are not finished; the same command goes on with them.")
    lines += [f"{name}: no 1 − SSIM. {reason}" for name, reason in (missing or {}).items()]
    return [*lines, *NOTES]


_COLUMNS = (
    ("extractor", "setting.extractor"), ("N", "setting.num_keypoints"),
    ("of", lambda row: row.setting.pool or "all"), ("kept by", "setting.keep_by"),
    ("all pairs", lambda row: row.recall[0], ".1p"),
    *((f"≥{least}", lambda row, place=place: row.recall[place], ".1p")
      for place, least in enumerate(CLASSES) if place),
    ("95 %", lambda row: "–".join(f"{100 * end:.0f}" for end in row.interval)),
    ("ratio", "ratio", ".1p"), ("RANSAC", "ransac", ".1p"), ("bound", "bound", ".1p"),
    ("chance", "controls", ".1p"), ("right", "median_right", ".0f"),
    ("1 − SSIM", "privacy.mean", ".3f"),
    ("95 %", lambda row: row.privacy and f"{row.privacy.low:.3f}–{row.privacy.high:.3f}"),
)  # fmt: skip


NOTES = (
    "Matching recall in percent: pairs with 20 right matches, of pairs that share 20 points of a",
    "map of all keypoints, then of pairs that share 400 and 800. Right: mutual nearest neighbours",
    "within 2 px of the known epipolar lines. 95 %: of all pairs. ratio: with a ratio test of .8.",
    "RANSAC: by the inliers of a server that knows no pose. bound: pairs that kept 20 points of",
    "the map in common: no matcher can pass it by much. chance: pairs of two scenes that reach 20.",
    "right: median right matches. of: keypoints found to choose from. Descriptors are raw: fewer",
    "of them is no guarantee. Positions are sent as they are.",
    "reverse, §5.4, says of MegaDepth: SIFT and SOSNet lose 2 points from 1000 to 200.",
)


def draw_plot(rows: Sequence[Row], path: Path) -> Path:
    """Recall over N for each protocol, then 1 − SSIM where there is a network [reverse, Fig. 5]."""
    protocols = [name for name in _TITLES if any(row.setting.protocol == name for row in rows)]
    rebuilt = [row for row in rows if row.privacy is not None]
    count = max(len(protocols) + bool(rebuilt), 1)
    figure, axes = draw.panels(count, (4.2 * count, 3.8))
    for axis, protocol in zip(axes, protocols, strict=False):
        chosen = [row for row in rows if row.setting.protocol == protocol]
        _curves(axis, [(row, 100 * (row.recall[0] or 0)) for row in chosen])
        axis.set_title(_TITLES[protocol], fontsize=11)
        axis.set_ylabel("matching recall, all pairs (%)")
        axis.set_ylim(0, 100)
    if rebuilt:
        _curves(axes[-1], [(row, row.privacy.mean) for row in rebuilt if row.privacy is not None])
        axes[-1].set_title("1 − SSIM of the reconstruction", fontsize=11)
        axes[-1].set_ylabel("higher is more private")
    for axis in axes:
        axis.set_xlabel("keypoints, N")
        draw.legend(axis)
    return draw.save(figure, path)


def _curves(axis: Any, points: Sequence[tuple[Row, float]]) -> None:
    groups: dict[tuple[str, str], dict[int, float]] = {}
    for row, value in points:
        name = row.setting.extractor, row.setting.keep_by
        groups.setdefault(name, {})[row.setting.num_keypoints] = value
    for (extractor, keep_by), values in groups.items():
        draw.curve(
            axis,
            [(count, values[count], None) for count in sorted(values)],
            _STYLES[keep_by],
            color=_COLORS.get(extractor, draw.GRAY),
            label=f"{extractor} by {keep_by}",
        )


def _run(settings: Settings, path: Path, progress: Progress) -> dict[str, str]:
    scenes, work = scene_folders(settings.data), path.parent
    pairs = open_pairs(scenes, work, progress=progress)
    run_fewer(scenes, pairs, settings, work, path, progress=progress)
    if settings.pictures is None:
        return {}
    return run_privacy(settings.pictures, settings, work / _PRIVACY, progress=progress)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    rows = summarise(outcomes, read_privacy(path.parent / _PRIVACY))
    whole, _ = whole_rows(head, rows)
    plot = draw_plot(whole, path.parent / "fewer.png")
    found = {"rows": [row.as_dict() for row in whole], "losses": losses(whole)}
    missing = dict(ran or {})
    return Report(
        [*report_lines(head, rows, missing), f"outcomes: {path}", f"plot: {plot}"],
        {**head, **found, "without_network": missing, "plot": str(plot)},
    )


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-fewer",
    writes="Folder for features, outcomes and the plot.",
)
