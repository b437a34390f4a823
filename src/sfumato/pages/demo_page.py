"""The whole demonstration as one page of HTML that needs nothing from anywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.pages import demo_text
from sfumato.pages.demo_drawings import FloorPlan, share_chart
from sfumato.pages.demo_result import OURS, PAPER, RAW, WORKS, DemoResult, Row
from sfumato.pages.demo_words import dots_path, roomy_rows, star_path, stars_path
from sfumato.pages.pictures import clear_keypoint, keypoint_picture, patch_at
from sfumato.pages.render import render
from sfumato.server.ldp_feat_recipe import MAX_ITERATIONS


def demo_page(result: DemoResult, command: str) -> str:
    """HTML that is also well-formed XML; `command` is what made it."""
    return render(
        "demo.html",
        result=result,
        command=command,
        text=demo_text,
        works=WORKS,
        max_iterations=MAX_ITERATIONS,
        raw=result.of(RAW)[0],
        ours=result.of(OURS),
        paper=next(row for row in result.of(PAPER) if row.epsilon == result.shown.epsilon),
        rows=[demo_text.cells(row, result) for row in result.rows],
        bars=[_right_and_wrong(row) for row in result.rows],
        chart=share_chart(result),
        plan=FloorPlan.of(result.world),
        close_up=_close_up(result),
        keypoint_picture=keypoint_picture,
        roomy_rows=roomy_rows,
        dots_path=dots_path,
        star_path=star_path,
        stars_path=stars_path,
    )


def _right_and_wrong(row: Row) -> tuple[float, float]:
    """Percent of right and of wrong answers; the rest of the bar is no answer."""
    total = len(row.answers)
    return 100 * row.num_right / total, 100 * row.num_wrong / total


@dataclass(frozen=True)
class CloseUp:
    """One keypoint, step by step: what is seen, what it becomes, and what is sent instead."""

    patch: NDArray[np.uint8]
    descriptor: NDArray[Any]
    true_word: int
    sent: list[int]


def _close_up(result: DemoResult) -> CloseUp | None:
    """A keypoint of the first example that is alone at its position; None where there is none."""
    example = result.examples[0]
    rows = clear_keypoint(example.view, example.features, example.release)
    if rows is None:
        return None
    row, sent_row = rows
    descriptor = example.features.descriptors[row]
    return CloseUp(
        patch=patch_at(example.view.image, example.features, row),
        descriptor=descriptor,
        true_word=int(result.dictionary.nearest(descriptor[None])[0]),
        sent=example.release.words[sent_row].tolist(),
    )
