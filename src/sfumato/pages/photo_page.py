"""An attacked photograph as one page: verdict, advice, pictures, what is sent, figures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import groupby

from sfumato.core.types import NOT_PROTECTED
from sfumato.detectors.find import counted
from sfumato.pages import photo_text, photo_verdict
from sfumato.pages.photo_result import DIRECT, LIFTED, RAW, WORDS, PhotoResult
from sfumato.pages.render import render


def photo_page(result: PhotoResult, command: str, options: Sequence[str] = ()) -> str:
    """HTML that is also well-formed XML. It holds the photograph.

    command  what made it
    options  of `sfumato protect`, as they were given for what is sent
    """
    advice = photo_verdict.advice(result)
    sending = ["sfumato", "protect", "IMAGE", *advice.options, *options, "-o", "photo.sfr"]
    columns = len(photo_text.HEADINGS) - 1
    baselines = [
        ("no descriptors", *photo_text.baseline_cells(baseline, columns))
        for baseline in result.baselines
    ]
    shown = [rows[0] for rows in photo_verdict.by_epsilon(result).values()]
    by_dimension = groupby(result.of(LIFTED), key=lambda row: row.dimension)
    return render(
        "photo.html",
        result=result,
        command=command,
        text=photo_text,
        verdict=photo_verdict,
        advice=advice.sentence,
        sending=[*map(shlex.quote, sending)] if advice.options else [],
        direct=DIRECT,
        counted=counted,
        suppress_names=",".join(name for name, count in result.people.found.items() if count),
        words=shown,
        plainly=[row for row in result.of(WORDS) if row not in shown],
        lifted=[list(rows) for _, rows in by_dimension],
        rows=[*map(photo_text.cells, (*result.of(RAW), *result.of(WORDS))), *baselines],
        lifted_rows=[photo_text.cells(row) for row in result.of(LIFTED)],
        sent_rows=[photo_text.sent_cells(one) for one in result.sent],
        not_protected=NOT_PROTECTED,
    )
