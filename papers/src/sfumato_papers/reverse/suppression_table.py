"""Reverse engineering, Table 2: the table of selective suppression, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato_papers.harness.table import Table, grouped, table_of
from sfumato_papers.reverse.suppression import HIDE, Outcome
from sfumato_papers.reverse.suppression_attacks import Again
from sfumato_papers.reverse.suppression_cost import MIN_INLIERS

#: reverse, Table 2, SIFT: object recall and matching recall, without and with suppression.
PAPER = "reverse, Table 2, SIFT, YOLOv3: object recall 20 % → 2.21 %, matching recall 100 % → 88 %"


Row = dict[str, Any]


@dataclass(frozen=True)
class Results:
    """All that a folder holds; auc: how well decoys are told apart, None where not measured."""

    head: Mapping[str, Any]
    outcomes: Sequence[Outcome]
    again: Sequence[Again] = ()
    auc: Mapping[str, float] | None = None

    def rows(self) -> list[Row]:
        """One row for each way of hiding, in order."""
        groups = grouped(self.outcomes, lambda outcome: (outcome.hide, outcome.has_decoys))
        ways = [(hide, decoys) for hide in HIDE for decoys in (False, True)]
        return [_row(groups[way], self.again, *way) for way in ways if way in groups]


def _row(chosen: Sequence[Outcome], again: Sequence[Again], hide: str, has_decoys: bool) -> Row:
    """One way of hiding over all pictures; shares are 0 … 1, None where nothing was measured.

    num_inside      true keypoints in hidden regions, summed over all releases
    on_people       share of the keypoints on people that are sent still
    matching_recall share of pictures with at least MIN_INLIERS inliers to their changed copy
    found_again     share of detected people that are detected again in the reconstruction
    guessed         share of people whose box an empty region gives away
    right_guesses   share of the attack's guesses that are a person's box
    """
    inliers = [o.inliers for o in chosen if o.inliers is not None]
    seen = [one for one in again if one.hide == hide and not has_decoys]
    detected = sum(one.detected for one in seen)

    def share(part: str, whole: str) -> float:
        total = sum(getattr(outcome, whole) for outcome in chosen)
        return float(sum(getattr(outcome, part) for outcome in chosen) / max(total, 1))

    return {
        "hide": hide,
        "has_decoys": has_decoys,
        "num_releases": len(chosen),
        "num_sent": float(np.mean([o.num_sent for o in chosen])),
        "num_inside": sum(o.num_inside for o in chosen),
        "on_people": share("on_people", "on_people_before"),
        "matching_recall": float(np.mean(np.array(inliers) >= MIN_INLIERS)) if inliers else None,
        "inliers": float(np.mean(inliers)) if inliers else None,
        "found_again": sum(one.again for one in seen) / detected if detected else None,
        "by_chance": sum(one.by_chance for one in seen) / detected if detected else None,
        "guessed": share("people_guessed", "people"),
        "right_guesses": share("right_guesses", "guesses"),
    }


def table(rows: Sequence[Row]) -> Table:
    """One line for each way of hiding."""
    columns = [
        ("hidden", "hide"), ("decoys", lambda row: "yes" if row["has_decoys"] else "no"),
        ("releases", "num_releases"), ("sent", "num_sent", ".0f"), ("inside", "num_inside"),
        ("on people", "on_people", ".1%"), ("match recall", "matching_recall", ".1%"),
        ("inliers", "inliers", ".0f"), ("found again", "found_again", ".1%"),
        ("by chance", "by_chance", ".1%"), ("guessed", "guessed", ".1%"),
        ("right", "right_guesses", ".1%"),
    ]  # fmt: skip
    return table_of(rows, *columns, left=(0, 1))


def notes(results: Results) -> list[str]:
    """What must be known to read the table."""
    head, auc = results.head, results.auc
    once = {outcome.picture: outcome for outcome in results.outcomes}.values()
    found, people = sum(o.people_detected for o in once), sum(o.people for o in once)
    regions = {o.picture: o.num_regions for o in results.outcomes if o.hide == "detected"}
    lines = [
        f"{len(head['pictures'])} pictures, {people} people; the detector {head['detector']!r} "
        f"finds {found} of them (overlap ≥ ½), {100 * found / max(people, 1):.0f} %, in "
        f"{sum(regions.values())} boxes, many of which are nobody.",
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
