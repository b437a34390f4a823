"""LDP-FEAT, Tables 2, 3 and S1; affine embeddings, Table 3: `sfumato experiment localization`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.cli.own_code import find_extractor
from sfumato.cli.values import whole_number
from sfumato.core.errors import InvalidInput
from sfumato.datasets.aachen import is_aachen, open_aachen
from sfumato.datasets.scenes import Problem, open_scenes
from sfumato.dictionary import Dictionary, build_dictionary
from sfumato.server.mapping.map import Map
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.table import Table, table_of, wrapped
from sfumato_papers.harness.work import show_progress
from sfumato_papers.ldp_feat.localization import run_localization
from sfumato_papers.ldp_feat.localization_predictions import (
    Predictions,
    Setting,
    read_predictions,
    write_submissions,
)
from sfumato_papers.ldp_feat.localization_rows import (
    Judgement,
    Row,
    choose_rows,
    evaluate,
    exact_epsilon,
    whole_draws,
)
from sfumato_papers.ldp_feat.localization_settings import AUTO, Settings

MAP_WORDS = 16_384
_ITERATIONS = 10  # of k-means; more change the words little
#: What the paper reports, on other data: Aachen day, its own dictionary, 10⁷ RANSAC iterations,
#: a raw global descriptor for retrieval, |K| = 256,000 [ldp-feat, Table 2]. ε, shares.
PAPER_FIGURES = (
    ("ε = ∞", (76.8, 86.3, 91.6)),
    ("ε = 12", (69.5, 78.4, 84.1)),
    ("ε = 10", (42.1, 49.3, 54.4)),
)
#: What the paper reports of lifted queries, on other data: SIFT, Aachen day [affine, Table 3].
AFFINE_FIGURES = (
    ("raw", (82.9, 89.6, 92.2)),
    ("m = 2", (79.5, 87.0, 91.1)),
    ("m = 4", (79.6, 86.5, 91.1)),
    ("m = 16", (76.7, 84.0, 87.4)),
)


def report_lines(
    rows: Sequence[Row],
    found: Predictions,
    how: Judgement | None = None,
    against: Sequence[str] = ("truth",),
    every: Sequence[Row] = (),
) -> list[str | Table]:
    """The table, with what must be known to read it.

    against  what poses are compared with, in this order: truth, raw
    every    all rows there are, where only some are shown: wrong poses are counted in all
    """
    how = how or Judgement()
    frames = any(row["setting"].num_frames > 1 for row in rows)
    ends = {"truth": ("", "within"), "raw": (" of raw", "within_raw")}
    columns = [
        ("recipe", lambda row: _recipe(row["setting"])), ("dictionary", "setting.dictionary"),
        ("|K|", "setting.num_words", ","), ("ω", "setting.subset_size"),
        ("by", lambda row: None if row["setting"].epsilon is None else row["chosen"]),
        ("ε", "setting.epsilon", "g"), ("N", "mean_keypoints", ",.0f"),
        ("ε·N", "epsilon_per_picture", ",.0f"), *[("E", exact_epsilon, ",.0f")] * frames,
        ("answers", "answers"),
        *((f"≤{one}{ends[to][0]}", lambda row, to=to, i=i: _share(row[ends[to][1]], i))
          for to in against for i, one in enumerate(how.thresholds)),
        ("wrong", lambda row: "?" if row["wrong_poses"] is None else row["wrong_poses"]),
        ("matches", "median_matches", ",.0f"), ("inliers", "median_inliers", ",.0f"),
        ("s", "median_seconds", ".2f"),
    ]  # fmt: skip
    shown = [row for row in rows if not row["setting"].is_control]
    problem = found.problem
    title = (
        f"{problem['data']}: {problem['images']} images, {problem['points']:,} points, "
        f"{problem['observations']:,} observations of {problem['extractor']} in one map; "
        f"{len(found.truth)} queries{_rule(problem)} that are not in it"
    )
    notes = _notes(rows, found, how, against, every or rows)
    fold = ("dictionary", "ω", "by", "N", "answers")
    table = table_of(shown, *columns, left=(0, 1, 4), fold=fold)
    return [title, "", table, "", *(line for note in notes for line in wrapped(note))]


def _rule(problem: Mapping[str, Any]) -> str:
    return f" ({problem['hold_out']})" if "hold_out" in problem else ""


def _recipe(setting: Setting) -> str:
    return (
        setting.recipe
        + (f" {setting.strategy}" if setting.strategy else "")
        + (f", m = {setting.dimension}" if setting.dimension else "")
        + ("" if setting.matching == "vocabulary" else f" {setting.matching}")
        + ("" if setting.shortlist == "all" else f" {setting.shortlist}")
        + (f", {setting.iterations:,}" if setting.iterations else "")
        + (" + gravity" if setting.has_gravity else "")
        + (f" ± {setting.gravity_error:g}°" if setting.gravity_error else "")
        + (f", {setting.num_frames} frames" if setting.num_frames > 1 else "")
        + (" share N" if setting.is_shared else "")
    )


def _share(within: Sequence[Row] | None, place: int) -> str:
    if within is None:
        return "?"
    share, (low, high) = within[place]["share"], within[place]["share_interval_95"]
    return f"{100 * share:.0f}" + (f" [{100 * low:.0f}–{100 * high:.0f}]" if not place else "")


def _figures(figures: Iterable[tuple[str, Sequence[float]]]) -> str:
    """A paper's figures in one line."""
    return "; ".join(f"{name}: " + " / ".join(f"{x:g}" for x in shares) for name, shares in figures)


def _notes(
    rows: Sequence[Row],
    found: Predictions,
    how: Judgement,
    against: Sequence[str],
    every: Sequence[Row],
) -> list[str]:
    control = [row for row in every if row["setting"].is_control]
    notes = [
        "Shares in % of answers (queries × seeds); no pose counts as a failure. The first with "
        "Wilson's 95 % interval, draws of one query counted as less than independent answers.",
        f"wrong: poses returned that are beyond {how.wrong_beyond} of the truth. ε is per "
        "descriptor, ε·N per picture of N keypoints; positions and N are not protected.",
        "by: |K| and ω by rule (knows ε only), given, or best of n (chosen on these queries, which "
        "favours it).",
        "Releases are reproducible (seeded), not for sending. Seconds: server's side, median.",
    ]
    if any(row["within"] is None for row in rows if not row["setting"].is_control):
        notes.append("?: the true poses of the queries are secret or not known.")
    if "raw" in against:
        notes.append("of raw: compared with the pose that raw descriptors gave, not the truth.")
    notes += _wrong_poses(every)
    for reason, count in found.problem.get("skipped", {}).items():
        notes.append(f"left out: {count} pictures, {reason}.")
    if any(row["setting"].iterations for row in rows):
        notes.append("paper: plain RANSAC of at most so many iterations (the paper: 10,000,000).")
    if control:
        poses, asked = (sum(row[n] for row in control) for n in ("poses_returned", "answers"))
        notes.append(
            f"control: {asked:,} answers from {_foreign(found.problem)}, raw and ours: "
            f"{poses} poses returned (0 wanted)."
        )
    moved = {row["setting"].odometry for row in rows if row["setting"].num_frames > 1}
    if moved:
        notes.append(
            f"frames: asked together, with an error of odometry of {', '.join(sorted(moved))} "
            "between two. N counts the keypoints of all frames, ε·N and E (exact, δ = 10⁻⁶, of the "
            "mean N) what they spend together; share N: each sends its strongest, together as many "
            "as one frame."
        )
    if any(row["setting"].recipe == "lifted" for row in rows):
        notes += [
            "lifted: no guarantee exists; known attacks recover the descriptors.",
            "Lifted queries in the paper, other data (Aachen day, sub-hybrid, SIFT): "
            f"{_figures(AFFINE_FIGURES)}.",
        ]
    for name, facts in found.dictionaries.items():
        own = "; built from the map's own images" if facts["built_from_map"] else ""
        notes.append(f"{name}: {facts['provenance']}{own}")
    if any(row["setting"].recipe == "paper" for row in rows):
        notes.append(
            "The paper's own figures, other data (Aachen day, its own dictionary of 256k words, "
            f"ω = 2, 1 at ε = ∞): {_figures(PAPER_FIGURES)}."
        )
    return notes


def _wrong_poses(every: Sequence[Row]) -> list[str]:
    """In how many answers of ours, all settings and the control counted, a pose was wrong."""
    ours = [row for row in every if row["setting"].recipe != "paper"]
    ours = [row for row in ours if row["wrong_poses"] is not None]
    if not ours:
        return []
    wrong, poses, answers = (
        sum(row[name] for row in ours) for name in ("wrong_poses", "poses_returned", "answers")
    )
    return [
        f"wrong in all settings without the paper's recipe: {wrong} of {answers:,} answers, "
        f"{poses:,} of them poses."
    ]


def _foreign(problem: Mapping[str, Any]) -> str:
    if "foreign" in problem:
        return f"a map of other places ({problem['foreign']})"
    return "the map without the queries' own scene"


def open_dictionary(name: str, world: Map, work: str | Path) -> Dictionary:
    """A dictionary by name or folder; map, or map:4096: the map's own words, so many."""
    kind, _, count = name.partition(":")
    if kind != "map":
        return Dictionary.load(name)
    return map_dictionary(world, work, whole_number("dictionary map", count) if count else None)


def map_dictionary(world: Map, work: str | Path, num_words: int | None = None) -> Dictionary:
    """Words from the descriptors of the map's own images; made once and kept.

    num_words  clustered directly; without it 16,384, or as many as the map allows, with levels
    """
    stored = Path(work) / (f"dictionary-map-{num_words}" if num_words else "dictionary-map")
    if stored.exists():
        return Dictionary.load(stored)
    counts = np.diff(world.feature_start)
    return build_dictionary(
        np.asarray(world.descriptors),
        num_words=num_words or min(MAP_WORDS, max(2, len(world.descriptors) // 8)),
        output=stored,
        extractor=world.extractor,
        image_ids=np.repeat(np.arange(world.num_images), counts),
        iterations=_ITERATIONS,
        built_from_map=True,
        provenance="descriptors of the map's own images",
        progress=show_progress,
    )


def _open(settings: Settings, work: Path) -> Problem:
    work.mkdir(parents=True, exist_ok=True)
    extractor = find_extractor(settings.extractor)
    if not any(is_aachen(folder) for folder in settings.data):
        return open_scenes(
            settings.scenes(settings.data),
            work,
            queries=settings.hold_out,
            distractors=settings.scenes(settings.distractors),
            foreign=settings.scenes(settings.foreign),
            extractor=extractor,
            progress=show_progress,
        )
    if len(settings.data) > 1 or settings.distractors or settings.foreign:
        raise InvalidInput("Aachen is a map of its own; give its folder alone.")
    if settings.hold_out != AUTO:
        raise InvalidInput("Aachen names its queries itself; leave out --hold-out.")
    return open_aachen(settings.data[0], work, extractor=extractor, progress=show_progress)


def _run(settings: Settings, path: Path) -> None:
    work = path.parent
    problem = _open(settings, work)
    dictionaries = {
        Path(name).name: open_dictionary(name, problem.world, work)
        for name in settings.dictionaries
    }
    run_localization(problem, dictionaries, settings, path)
    if all(query.truth is None for query in problem.queries):
        write_submissions(read_predictions(path), work / "submissions")


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    found = whole_draws(read_predictions(path))
    how = Judgement(settings.within, settings.wrong_beyond)
    rows = evaluate(found, how)
    shown = rows if settings.every else choose_rows(rows, found)
    facts = {
        "problem": {**found.problem, "queries": len(found.truth)},
        "dictionaries": found.dictionaries,
        "rows": shown,
        "predictions": str(path),
    }
    lines = report_lines(shown, found, how, settings.against, rows)
    return Report([*lines, f"predictions: {path}"], facts)


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-localization",
    file="predictions.jsonl",
    writes="Folder for map, words and predictions.",
)
