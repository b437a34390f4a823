"""Ours: the table of `sfumato experiment budget`, what it recommends, and the plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.core.odds import subset_coin
from sfumato.datasets.scenes import open_scenes
from sfumato.dictionary import Dictionary
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import extractor_for
from sfumato_papers.harness.plot import BLUE, GREEN, INK, RED, draw, lines
from sfumato_papers.harness.table import Table, grouped, table_of, wrapped
from sfumato_papers.harness.work import show_progress
from sfumato_papers.ours.picture_budget import (
    JOURNAL,
    Outcome,
    Settings,
    Share,
    best_of,
    run_budget,
    shares,
)
from sfumato_papers.reverse.posed_pairs import scene_folders

Advice = dict[str, Any]
_COLORS = {"strength": INK, "spread": BLUE, "stable": GREEN}


def advise(head: Mapping[str, Any], outcomes: Sequence[Outcome]) -> list[Advice]:
    """For every budget and way to keep: the split chosen, beside all keypoints at B/N.

    Both are judged with draws that did not choose; None where a run was stopped before: a draw
    stopped half-way has answered the easy or the hard queries only.
    """
    whole = head["queries"]
    tuned = [one for one in shares(outcomes, tuning=True) if one["answers"] == whole]
    judged = [one for one in shares(outcomes, tuning=False) if one["answers"] % whole == 0]
    own = {one["_split"]: one for one in judged}
    rows = []
    for (budget, _), chosen in sorted(best_of(tuned).items()):
        alike = [o for o in judged if o["_split"].is_baseline and o["budget"] == budget]
        # The best of them with hindsight, which favours the baseline.
        baseline = max(alike, key=lambda one: float(one["share"]), default=None)
        found = own.get(chosen["_split"])
        both = found is not None and baseline is not None
        ends = [one["share_interval_95"] if one else (0, 0) for one in (found, baseline)]
        rows.append(
            {
                "budget": budget,
                "chosen_by": chosen,
                "judged": found,
                "all_keypoints": baseline,
                "gain": found["share"] - baseline["share"] if found and baseline else None,
                "intervals_apart": both and ends[0][0] > ends[1][1],
            }
        )
    return rows


def report_lines(
    head: Mapping[str, Any], outcomes: Sequence[Outcome], *, every: bool = False
) -> list[str | Table]:
    """Advice as a table; with `every`, all splits that were tried too."""
    found = advise(head, outcomes)
    shown: list[str | Table] = [
        f"{head['data']}: map of {head['images']} images and {head['points']:,} points, "
        f"{head['queries']} queries; dictionary {head['dictionary']}",
        "",
        table_of(
            found,
            *_columns("chosen_by."),
            ("sends true", _sends_true, ".0%"),
            ("chosen at", lambda one: _count(one["chosen_by"])),
            ("judged", lambda one: _count(one["judged"])),
            ("95 %", lambda one: _interval(one["judged"])),
            ("wrong", "judged.wrong_poses"),
            ("all at B/N", lambda one: _count(one["all_keypoints"])),
            ("ε there", "all_keypoints._mean_epsilon", ".2f"),
            ("95 %", lambda one: _interval(one["all_keypoints"])),
            ("gain", "gain", "+.0p"),
            left=(1,),
        ),
        "",
        *(line for sentence in _recommended(found) for line in wrapped(sentence)),
    ]
    if every:
        tried = sorted(
            shares(outcomes, tuning=True),
            key=lambda o: (o["budget"], o["keep_by"], -o["share"], -o["_median_inliers"]),
        )
        shown += ["", "All splits, one draw of each query:"]
        answers = ("localized", _count), ("inliers", "_median_inliers", ".0f")
        shown.append(table_of(tried, *_columns(""), *answers, left=(1,)))
    return [*shown, "", *NOTES]


def _recommended(found: Sequence[Advice]) -> list[str]:
    sentences = []
    compared = [one for one in found if one["gain"] is not None]
    for budget, those in grouped(compared, lambda one: float(one["budget"])).items():
        best = max(those, key=lambda one: float(one["judged"]["share"]))
        split = best["chosen_by"]["_split"]
        said = "the intervals are apart" if best["intervals_apart"] else "within the intervals"
        sentences.append(
            f"B = {budget:g} per picture: send {split.num_keypoints} keypoints by {split.keep_by} "
            f"at ε = {split.epsilon:g} per descriptor, {split.subset_size} of "
            f"{split.num_words:,} words: {100 * best['judged']['share']:.0f} % localized, "
            f"{100 * best['gain']:+.0f} points against all at B/N ({said})"
        )
    return sentences


def _columns(share: str) -> list[tuple[Any, ...]]:
    """How a split is shown, which is found in a row under this name."""
    return [
        ("B", f"{share}budget", "g"), ("kept by", f"{share}keep_by"),
        ("N", lambda row: (row.get("chosen_by", row))["num_keypoints"] or "all"),
        ("ε", f"{share}epsilon", "g"), ("|K|", f"{share}num_words", ","),
        ("ω", f"{share}subset_size"),
    ]  # fmt: skip


def _sends_true(advice: Advice) -> float:
    split = advice["chosen_by"]["_split"]
    return float(subset_coin(split.epsilon, split.num_words, split.subset_size).probability)


def _count(share: Share | None) -> str:
    return "–" if share is None else f"{share['localized']}/{share['answers']}"


def _interval(share: Share | None) -> str:
    return "–" if share is None else "–".join(f"{100 * x:.0f}" for x in share["share_interval_95"])


NOTES = (
    "B = N·ε is what a whole picture spends; ε is per descriptor. Localized: within .25 m and 2°.",
    "The split was chosen with one draw of each query and judged with others of the same queries;",
    "95 %: Wilson's, as if all answers were independent. wrong: poses beyond 5 m or 10°. all at",
    "B/N: every keypoint of the picture, each with its share of B, the best |K| with hindsight.",
    "Positions and N: not protected.",
    "Releases are reproducible (seeded), not for sending.",
)


def draw_plot(found: Sequence[Advice], path: Path) -> Path:
    """The chosen splits and the baseline, with intervals and the N·ε of each point."""
    chosen = [advice["judged"] for advice in found if advice["judged"]]
    baselines = {a["budget"]: a["all_keypoints"] for a in found if a["all_keypoints"]}
    places = {name: place for place, name in enumerate(_COLORS)}
    panels = lines(
        [*chosen, *baselines.values()],
        x="budget",
        y="share",
        spread=_spread,
        scale=100,
        curve=_label,
        color=lambda one: one["num_keypoints"] and one["keep_by"],
        colors={**_COLORS, None: RED},
        ticks=sorted({advice["budget"] for advice in found}),
        notes=[
            (one["budget"], 100 * one["share"], f"{one['num_keypoints']}·{one['epsilon']:.3g}",
             _COLORS[one["keep_by"]], (6, 8 - 18 * places[one["keep_by"]]))
            for one in chosen
        ],
        x_label="budget of a whole picture, B = N·ε (ε per descriptor)",
        y_label="localized within .25 m, 2° (%)",
        legend={"fontsize": 9, "loc": (0.6, 0.12)},
        more={"ylim": (-4, 104)},
    )  # fmt: skip
    return draw(path, *panels, size=(7.2, 4.2), dpi=120)


def _label(one: Share) -> str:
    return f"best split, kept by {one['keep_by']}" if one["num_keypoints"] else "all at B/N"


def _spread(one: Share) -> tuple[float, float]:
    low, high = one["share_interval_95"]
    return one["share"] - low, high - one["share"]


def _run(settings: Settings, path: Path) -> None:
    settings = replace(settings, data=tuple(scene_folders(settings.data)))
    words = Dictionary.load(settings.dictionary)
    extractor = extractor_for(settings.extractor, words)
    problem = open_scenes(settings.data, path.parent, extractor=extractor, progress=show_progress)
    run_budget(problem, words, settings, path)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    found = advise(head, outcomes)
    plot = draw_plot(found, path.parent / "budget.png")
    shown = report_lines(head, outcomes, every=settings.every)
    return Report(
        [*shown, f"outcomes: {path}", f"plot: {plot}"], {**head, "advice": found, "plot": plot}
    )


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-budget",
    writes="Folder for the map, outcomes and the plot.",
)
