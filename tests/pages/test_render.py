"""Templates: hostile text stays text, a missing value is an error, and every page opens alike."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from jinja2 import UndefinedError

from sfumato.pages.render import render

HOSTILE = """</td><script>alert(1)</script>"><img src=x onerror=y> '&"""
PIXELS = np.zeros((4, 4, 3), dtype=np.uint8)


def a_report(**changes: object) -> str:
    values: dict[str, object] = dict.fromkeys(
        ("title", "kicker", "heading", "verdict", "alt", "caption", "command"), HOSTILE
    )
    values |= {"headings": [HOSTILE] * 2, "rows": [[HOSTILE] * 2], "notes": [HOSTILE]}
    return render("report.html", **{**values, "picture": PIXELS, "words": 1, **changes})


def test_hostile_text_stays_text_wherever_it_stands() -> None:
    page = a_report()
    root = ElementTree.fromstring(page)
    assert "<script" not in page
    assert len(list(root.iter("img"))) == 1
    assert "".join(root.itertext()).count(HOSTILE) == 11
    (picture,) = root.iter("img")
    assert picture.get("alt") == HOSTILE
    assert {cell.get("data-name") for cell in root.iter("td")} == {HOSTILE}


def test_a_page_opens_with_the_verdict_then_the_picture_then_the_figures() -> None:
    page = a_report(verdict="It holds.")
    assert page.index("<h1>") < page.index("It holds.") < page.index("<img") < page.index("<table")


def test_a_value_that_is_missing_is_an_error_not_a_gap() -> None:
    with pytest.raises(UndefinedError, match="'kicker' is undefined"):
        render("report.html", title="no more than this")


def test_a_line_does_not_break_inside_an_epsilon() -> None:
    assert re.search("ε\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}8 per", a_report(verdict="ε = 8 per"))
