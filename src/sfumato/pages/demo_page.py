"""The whole demonstration as one page of HTML that needs nothing from anywhere else."""

from __future__ import annotations

from html import escape

from sfumato import __version__
from sfumato.pages.demo_figures import share_chart
from sfumato.pages.demo_result import OURS, PAPER, RAW, DemoResult, Row
from sfumato.pages.demo_sides import examples_section
from sfumato.pages.demo_text import cells, headings, notes, odds
from sfumato.pages.frame import framed_page, header, made_section
from sfumato.server.ldp_feat_recipe import MAX_ITERATIONS

_NUMBERS_FROM = 2  # the first two columns are words
_RIGHT = 5


def demo_page(result: DemoResult, command: str) -> str:
    """HTML that is also well-formed XML; `command` is what made it."""
    sections = (
        _table(result),
        examples_section(result),
        _meaning(result),
        _made(result, command),
    )
    return framed_page("sfumato: localized without showing the picture", _top(result), sections)


def _top(result: DemoResult) -> str:
    shown, raw = result.shown, result.of(RAW)[0]
    paper = next(row for row in result.of(PAPER) if row.epsilon == shown.epsilon)
    unit = f"ε = {shown.epsilon:g} per descriptor"
    above = header(
        "sfumato, a demonstration",
        "Where was this photograph taken? The server answers without seeing it.",
        "A device replaces what it sees by random words of a public dictionary, with a proven "
        "limit ε per descriptor on what they give away, and a server still finds where the camera "
        "stood.",
    )
    return f"""{above}
<div class="wrap"><div class="card top">
<div>
<ul class="legend">
<li class="k-ours"><span>sfumato</span></li>
<li class="k-paper"><span>the paper's recipe</span></li>
<li class="k-raw"><span>raw descriptors, no protection</span></li>
</ul>
{share_chart(result)}
<p class="small">Share of {result.num_queries} queries localized within
{result.settings.max_cm:g} cm and {result.settings.max_deg:g}°.</p>
</div>
<dl class="facts">
<div><dd>{shown.num_right} of {result.num_queries} found</dd>
<dt>at {unit} (ε = {shown.picture_epsilon:,.0f} per picture). Raw descriptors:
{raw.num_right}. The paper's recipe: {paper.num_right}.</dt></div>
<div><dd>{_count(shown.num_wrong, "wrong answer")}</dd>
<dt>at {unit}, against {paper.num_wrong} of the paper's recipe. Where chance could explain a pose,
the server says that it does not know.</dt></div>
<div><dd>{shown.median_bytes / 1000:,.1f} kB per picture</dd>
<dt>leave the device, {raw.median_bytes / shown.median_bytes:,.0f} times less than the
{raw.median_bytes / 1000:,.0f} kB of raw descriptors.</dt></div>
</dl>
</div></div>"""


def _count(number: int, what: str) -> str:
    return f"{number or 'No'} {what}{'' if number == 1 else 's'}"


def _table(result: DemoResult) -> str:
    names = headings(result)
    head = "".join(
        f'<th scope="col" role="columnheader"{_number(i)}>{escape(name)}</th>'
        for i, name in enumerate(names)
    )
    body = "".join(_table_row(row, result) for row in result.rows)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes(result)[:-1])
    return f"""
<section aria-labelledby="figures">
<h2 id="figures">The figures</h2>
<div class="card">
<table role="table"><thead role="rowgroup"><tr role="row">{head}</tr></thead>
<tbody role="rowgroup">{body}</tbody></table>
<div class="note small">{below}<p>The paper's recipe matches all words with the whole map, runs
RANSAC (at most {MAX_ITERATIONS:,} iterations here, ten million in the paper) and returns a pose
from 12 inliers on. The paper first narrows the map to 20 images by an unprotected description of
the picture, which is left out here. These are not the paper's data.</p>
</div></div>
<div class="warning"><p>{escape(notes(result)[-1])}</p></div>
</section>"""


def _number(column: int) -> str:
    return ' class="number"' if column >= _NUMBERS_FROM else ""


def _table_row(row: Row, result: DemoResult) -> str:
    columns = []
    for i, (name, text) in enumerate(zip(headings(result), cells(row, result), strict=True)):
        bar = _bar(row) if i == _RIGHT else ""
        columns.append(
            f'<td role="cell" data-name="{escape(name)}"{_number(i)}>{escape(text)}{bar}</td>'
        )
    return f'<tr role="row" class="{row.method}">{"".join(columns)}</tr>'


def _bar(row: Row) -> str:
    """Right, wrong and no answer as one bar; the numbers beside it say the same."""
    total = len(row.answers)
    right, wrong = 100 * row.num_right / total, 100 * row.num_wrong / total
    return (
        f'<span class="bar" aria-hidden="true"><i style="width:{right:.1f}%"></i>'
        f'<i style="width:{wrong:.1f}%"></i></span>'
    )


def _meaning(result: DemoResult) -> str:
    shown = result.shown
    epsilon, size = shown.epsilon or 0.0, result.settings.subset_size
    keypoints = round((shown.picture_epsilon or 0.0) / epsilon)
    chances = "".join(
        f"<li>ε = {row.epsilon:g} per descriptor: {row.keep_probability or 0:.1%}</li>"
        for row in result.of(OURS)
    )
    outside = "".join(f"<li>{escape(item)}</li>" for item in result.not_protected)
    return f"""
<section aria-labelledby="meaning">
<h2 id="meaning">What the numbers mean</h2>
<div class="card columns">
<div><h3>ε per descriptor</h3>
<p>A limit of ε per descriptor means that no answer is more than e<sup>ε</sup> times as likely as
it would be for any other descriptor. At ε = {epsilon:g} per descriptor that is {odds(epsilon)}
times. It holds against anyone, whatever they know or compute later.</p>
<p>The chance that the true word is among the {size} sent:</p>
<ul>{chances}</ul></div>
<div><h3>ε per picture</h3>
<p>Descriptors of one picture add up: {keypoints:,} keypoints at ε = {epsilon:g} per descriptor are
ε = {shown.picture_epsilon:,.0f} per picture. A number of that size is no formal protection of the
picture as a whole: the guarantee speaks about single descriptors.</p>
<p>Every further picture adds again, also of the same thing. Fewer keypoints cost less, and a
ledger on the device can refuse what would exceed a limit.</p></div>
<div><h3>What is not protected</h3>
<ul>{outside}</ul>
<p>Positions are sent as they are. Where keypoints lie dense along an outline, the outline can be
seen.</p></div>
<div><h3>What may be concluded</h3>
<p>About a single keypoint the server is left in doubt, the more the smaller ε per descriptor is:
where the true word is nearly always sent, little is hidden. It learns where somebody was, and by
combining many keypoints it may learn about whole objects. What must not be combined, a face for
instance, is best left out before anything is sent.</p></div>
</div>
</section>"""


def _made(result: DemoResult, command: str) -> str:
    settings, world, words = result.settings, result.world, result.dictionary
    epsilons = ", ".join(f"{epsilon:g}" for epsilon in settings.epsilons)
    facts = {
        "command": f"<code>{escape(command)}</code>",
        "version": escape(__version__),
        "scene": f"the built-in gallery: {world.num_images} mapping views with known poses and "
        f"{result.num_queries} queries, rendered and not photographed. The visitor is cut out of "
        "NASA's portrait of Eileen Collins (public domain)",
        "map": f"{len(world.points):,} points, {world.num_observations:,} observations, "
        f"{escape(world.extractor)}",
        "dictionary": f"{escape(settings.dictionary)}: {words.num_words:,} words from "
        f"{escape(str(words.manifest['provenance']))}, not built from this map; fingerprint "
        f"<code>{words.fingerprint[:16]}…</code>",
        "releases": f"{settings.subset_size} words per keypoint, all keypoints, ε per descriptor "
        f"of {epsilons}; the same bytes are given to both servers",
        "randomness": "secure and without a seed, as in a real release: figures vary slightly "
        "from run to run. The scene, the map and the queries are always the same",
        "server time": "median per query on this machine, from bytes to pose",
    }
    return made_section(facts)
