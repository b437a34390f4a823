"""The frame of every page: one file of HTML that needs nothing from anywhere else.

It is also well-formed XML, so that a test can read it. Text that comes from outside must be
escaped by whoever writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from sfumato import __version__
from sfumato.pages.style import CSS

# Loads nothing, runs nothing, sends nothing, whatever may have slipped into the page.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def framed_page(title: str, top: str, sections: Sequence[str], *, css: str = "") -> str:
    """A whole page: `top` spans its width, sections follow one below the other."""
    parts = "\n".join(sections)
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>
<title>{escape(title)}</title>
<style>{CSS}{css}</style>
</head>
<body>
{top}
<main class="wrap">
{parts}
</main>
<footer class="wrap small"><p>sfumato {__version__}. This page loads nothing from the network.</p>
</footer>
</body>
</html>
"""
    # A line must not break inside "ε = 8".
    return page.replace("ε = ", "ε\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def header(kicker: str, heading: str, lead: str) -> str:
    """The first screen: what this is, its one sentence, and a few more."""
    return f"""<header>
<div class="wrap">
<p class="brand">{kicker}</p>
<h1>{heading}</h1>
<p class="lead">{lead}</p>
</div>
</header>"""


def made_section(facts: Mapping[str, str]) -> str:
    """How the page was made, one fact a line; values are HTML."""
    items = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in facts.items())
    return f"""
<section aria-labelledby="made">
<h2 id="made">How this page was made</h2>
<div class="card"><dl class="made">{items}</dl></div>
</section>"""


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A table that becomes cards on a phone; the first `words` columns are not numbers.

    Cells are text and are escaped here.
    """

    def number(column: int) -> str:
        return ' class="number"' if column >= words else ""

    head = "".join(
        f'<th scope="col" role="columnheader"{number(i)}>{escape(name)}</th>'
        for i, name in enumerate(headings)
    )
    body = "".join(
        '<tr role="row">'
        + "".join(
            f'<td role="cell" data-name="{escape(name)}"{number(i)}>{escape(text)}</td>'
            for i, (name, text) in enumerate(zip(headings, row, strict=True))
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<table role="table"><thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody></table>'
    )
