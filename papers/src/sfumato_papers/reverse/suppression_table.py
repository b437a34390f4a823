"""Reverse engineering, Table 2: the table of selective suppression, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato_papers.harness.table import Table, table_of
from sfumato_papers.reverse.suppression import HIDE, Outcome
from sfumato_papers.reverse.suppression_attacks import Again
from sfumato_papers.reverse.suppression_cost import MIN_INLIERS

#: reverse, Table 2, SIFT: object recall and matching recall, without and with suppression.
PAPER = "reverse, Table 2, SIFT, YOLOv3: object recall 20 % → 2.21 %, matching recall 100 % → 88 %"


@dataclass(frozen=True)
class Row:
    """One way of hiding over all pictures; shares are 0 … 1, None where nothing was measured.

    num_inside      true keypoints in hidden regions, summed over all releases
    on_people       share of the keypoints on people that are sent still
    matching_recall share of pictures with at least MIN_INLIERS inliers to their changed copy
    found_again     share of detected people that are detected again in the reconstruction
    guessed         share of people whose box an empty region gives away
    right_guesses   share of the attack's guesses that are a person's box
    """

    hide: str
    has_decoys: bool
    num_releases: int
    num_sent: float
    num_inside: int
    on_people: float
    matching_recall: float | None
    inliers: float | None
    found_again: float | None
    by_chance: float | None
    guessed: float
    right_guesses: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Results:
    """All that a folder holds; auc: how well decoys are told apart, None where not measured."""

    head: Mapping[str, Any]
    outcomes: Sequence[Outcome]
    again: Sequence[Again] = ()
    auc: Mapping[str, float] | None = None

    def rows(self) -> tuple[Row, ...]:
        return summarise(self.outcomes, self.again)


def summarise(outcomes: Sequence[Outcome], again: Sequence[Again] = ()) -> tuple[Row, ...]:
    """One row for each way of hiding, in order."""
    rows = []
    for hide in HIDE:
        for has_decoys in (False, True):
            chosen = [o for o in outcomes if o.hide == hide and o.has_decoys == has_decoys]
            if chosen:
                seen = [] if has_decoys else [item for item in again if item.hide == hide]
                rows.append(_row(chosen, seen))
    return tuple(rows)


def _row(chosen: Sequence[Outcome], again: Sequence[Again]) -> Row:
    inliers = [o.inliers for o in chosen if o.inliers is not None]
    detected = sum(item.detected for item in again)
    people = sum(o.people for o in chosen)
    return Row(
        hide=chosen[0].hide,
        has_decoys=chosen[0].has_decoys,
        num_releases=len(chosen),
        num_sent=float(np.mean([o.num_sent for o in chosen])),
        num_inside=sum(o.num_inside for o in chosen),
        on_people=sum(o.on_people for o in chosen)
        / max(sum(o.on_people_before for o in chosen), 1),
        matching_recall=float(np.mean(np.array(inliers) >= MIN_INLIERS)) if inliers else None,
        inliers=float(np.mean(inliers)) if inliers else None,
        found_again=sum(item.again for item in again) / detected if detected else None,
        by_chance=sum(item.by_chance for item in again) / detected if detected else None,
        guessed=sum(o.people_guessed for o in chosen) / max(people, 1),
        right_guesses=sum(o.right_guesses for o in chosen) / max(sum(o.guesses for o in chosen), 1),
    )


def detector_recall(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """People found by the detector, and people there are."""
    once = {o.picture: o for o in outcomes}.values()
    return sum(o.people_detected for o in once), sum(o.people for o in once)


def _num_detected(outcomes: Sequence[Outcome]) -> int:
    return sum({o.picture: o.num_regions for o in outcomes if o.hide == "detected"}.values())


def table(rows: Sequence[Row]) -> Table:
    """One line for each way of hiding."""
    columns = [
        ("hidden", "hide"), ("decoys", lambda row: "yes" if row.has_decoys else "no"),
        ("releases", "num_releases"), ("sent", "num_sent", ".0f"), ("inside", "num_inside"),
        ("on people", "on_people", ".1%"), ("match recall", "matching_recall", ".1%"),
        ("inliers", "inliers", ".0f"), ("found again", "found_again", ".1%"),
        ("by chance", "by_chance", ".1%"), ("guessed", "guessed", ".1%"),
        ("right", "right_guesses", ".1%"),
    ]  # fmt: skip
    return table_of(rows, *columns, left=(0, 1))


def notes(results: Results) -> list[str]:
    """What must be known to read the table."""
    head, outcomes, auc = results.head, results.outcomes, results.auc
    found, people = detector_recall(outcomes)
    lines = [
        f"{len(head['pictures'])} pictures, {people} people; the detector {head['detector']!r} "
        f"finds {found} of them (overlap ≥ ½), {100 * found / max(people, 1):.0f} %, in "
        f"{_num_detected(outcomes)} boxes, many of which are nobody.",
        f"Hidden with a margin of {head['margin']:g} of each box's shorter side; at most "
        f"{head['max_keypoints']:,} keypoints are sent; ε = {head['epsilon']:g} per descriptor "
        f"(N·ε per picture), ω = {head['subset_size']}, |K| = {head['num_words']:,}. Positions "
        "and their number are not protected. Releases are seeded, not for sending.",
        "inside: true keypoints of all releases in a hidden region, margin included, as read "
        "back from bytes. on people: keypoints on people sent, of those without hiding.",
        f"match recall: pictures with {MIN_INLIERS} inliers or more (3 px) to a changed copy of "
        "themselves, hidden by itself. found again: detected people detected again in the "
        "reconstruction from raw descriptors; by chance: in that of another picture.",
        "guessed: people whose box the largest empty regions of a release give away "
        "(10 guesses, overlap ≥ ½); right: guesses that are a person.",
    ]
    if auc is not None:
        lines.append(
            f"{auc['decoys']:.0f} decoys told from keypoints by an attacker who learned on other "
            f"pictures: AUC {auc['positions']:.2f} from positions, {auc['words']:.2f} with words "
            "(½ is guessing)."
        )
    return [*lines, PAPER + "."]


def report_lines(results: Results) -> list[str | Table]:
    """The table, with what must be known to read it."""
    return [table(results.rows()), "", *notes(results)]
