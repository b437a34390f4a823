"""An attacked photograph as one page: verdict, pictures, figures, meaning."""

from __future__ import annotations

from itertools import groupby

from sfumato.core.types import NOT_PROTECTED
from sfumato.pages import photo_text
from sfumato.pages.photo_result import DIRECT, LIFTED, WORDS, PhotoResult
from sfumato.pages.pictures import keypoint_picture
from sfumato.pages.render import render


def photo_page(result: PhotoResult, command: str) -> str:
    """HTML that is also well-formed XML; `command` is what made it. It holds the photograph."""
    by_dimension = groupby(result.of(LIFTED), key=lambda row: row.dimension)
    columns = len(photo_text.HEADINGS) - 1
    baselines = [
        ("no descriptors", *photo_text.baseline_cells(baseline, columns))
        for baseline in result.baselines
    ]
    return render(
        "photo.html",
        result=result,
        command=command,
        text=photo_text,
        direct=DIRECT,
        keypoints=keypoint_picture(result.photo, result.features),
        lifted=[list(rows) for _, rows in by_dimension],
        words=result.of(WORDS),
        rows=[*map(photo_text.cells, result.rows), *baselines],
        not_protected=NOT_PROTECTED,
    )
