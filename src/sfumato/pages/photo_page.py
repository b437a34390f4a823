"""An attacked photograph as one page: the picture, what was sent, and what came of it."""

from __future__ import annotations

from html import escape
from itertools import groupby

from sfumato.adversary.invert.sheet import to_pixels
from sfumato.pages.frame import framed_page, header, made_section, table
from sfumato.pages.photo_meaning import made_facts, meaning_section
from sfumato.pages.photo_result import (
    DIRECT,
    LIFTED,
    WORDS,
    PhotoResult,
    PhotoRow,
)
from sfumato.pages.photo_style import PHOTO_CSS
from sfumato.pages.photo_text import (
    HEADINGS,
    attack_name,
    cells,
    exactly,
    figures,
    measures,
    not_protected,
    sent,
)
from sfumato.pages.pictures import embedded_jpeg, keypoint_picture


def photo_page(result: PhotoResult, command: str) -> str:
    """HTML that is also well-formed XML; `command` is what made it. It holds the photograph."""
    sections = (
        _lifted(result),
        _words(result),
        _table(result),
        meaning_section(result),
        made_section(made_facts(result, command)),
    )
    return framed_page(
        "sfumato: what a curious server would see", _top(result), sections, css=PHOTO_CSS
    )


def _top(result: PhotoResult) -> str:
    above = header(
        "sfumato, an attack on one photograph",
        "What a curious server would see",
        "A server that is sent image features never gets the picture. This is what it can paint "
        "from them all the same: from raw descriptors, from descriptors hidden in subspaces, and "
        "from random words with a proven limit per descriptor.",
    )
    raw, count = result.raw, len(result.features)
    ssim, psnr, mae = figures(raw)
    photo = embedded_jpeg(result.photo)
    keypoints = embedded_jpeg(keypoint_picture(result.photo, result.features))
    painted = embedded_jpeg(to_pixels(raw.picture))
    told = f" {escape(raw.remark.capitalize())}" if raw.remark else ""
    return f"""{above}
<div class="wrap"><div class="card three">
<div class="side device"><h2>Stays on the device</h2>
<figure><img class="picture" src="{photo}" alt="The photograph"/>
<figcaption>The photograph, {result.photo.shape[1]}×{result.photo.shape[0]} pixels.</figcaption>
</figure></div>
<div class="side device"><h2>What is found in it</h2>
<figure><img class="picture" src="{keypoints}" alt="The dimmed photograph with its keypoints"/>
<figcaption>{count:,} keypoints, each with a descriptor. Their sizes and directions are not
sent.</figcaption></figure></div>
<div class="side server"><h2>Painted from raw descriptors</h2>
<figure><img class="picture" src="{painted}" alt="The picture painted from raw descriptors"/>
<figcaption>{raw.num_bytes:,} bytes sent, no protection. SSIM {ssim}, PSNR {psnr}, MAE
{mae}.{told}</figcaption></figure></div>
</div></div>"""


def _lifted(result: PhotoResult) -> str:
    rows = result.of(LIFTED)
    if not rows:
        return ""
    rungs = "".join(
        _rung(f"Subspaces of {dimension} dimensions", list(group))
        for dimension, group in groupby(rows, key=lambda row: row.dimension)
    )
    return f"""
<section aria-labelledby="lifted">
<h2 id="lifted">Hidden in subspaces: no guarantee</h2>
<p>Each descriptor is replaced by a subspace that passes through it and through words of a public
list. Attacks differ in what they know; each gives back descriptors, and the same network paints
them.</p>
{rungs}
<div class="warning"><p>Guarantee: none. Not protected: {escape(not_protected(rows[0]))}.</p></div>
</section>"""


def _rung(title: str, rows: list[PhotoRow]) -> str:
    shots = "".join(
        _shot(row, attack_name(row).capitalize(), f"knows {row.knowledge}") for row in rows
    )
    return f"""<div class="card rung"><h3>{escape(title)}
<small>{rows[0].num_bytes:,} bytes</small></h3><div class="shots">{shots}</div></div>"""


def _words(result: PhotoResult) -> str:
    rows = result.of(WORDS)
    if not rows or result.words is None:
        return ""
    size, many = result.settings.subset_size, result.words.dictionary.num_words
    each = "a random word" if size == 1 else f"{size} random words"
    shots = "".join(
        _shot(
            row,
            f"ε = {row.epsilon:g} per descriptor",
            f"chance of the true word {row.keep_probability or 0:.1%}",
            f"ε = {row.event.picture_epsilon or 0:,.0f} per picture",
            *([f"painted by {attack_name(row)}"] if row.attack == DIRECT else []),
        )
        for row in rows
    )
    return f"""
<section aria-labelledby="words">
<h2 id="words">Random words: a limit ε per descriptor</h2>
<p>Each descriptor is replaced by {each} of a public dictionary of {many:,}. The smaller ε per
descriptor, the more seldom the true word is among them; the attacker cannot tell when.</p>
<div class="card rung words"><h3>Words of a dictionary
<small>{rows[0].num_bytes:,} bytes</small></h3><div class="shots">{shots}</div></div>
<div class="warning"><p>Not protected: {escape(not_protected(rows[0]))}. Descriptors of one picture
add up to ε per picture, so the limit speaks about single descriptors, not about the picture as a
whole.</p></div>
</section>"""


def _shot(row: PhotoRow, title: str, *below: str) -> str:
    """One painted picture, with a bar as long as its SSIM."""
    ssim, _, _ = figures(row)
    lines = [f"SSIM {ssim}{exactly(row)}", *below]
    wide = 100 * min(max(row.similarity.ssim, 0.0), 1.0)
    alt = f"Painted from {sent(row)}, read by: {attack_name(row)}"
    told = "".join(f"<span>{escape(line)}</span>" for line in lines)
    return f"""<figure><img src="{embedded_jpeg(to_pixels(row.picture))}" alt="{escape(alt)}"/>
<span class="level" aria-hidden="true"><i style="width:{wide:.1f}%"></i></span>
<figcaption><b>{escape(title)}</b>{told}</figcaption></figure>"""


def _table(result: PhotoResult) -> str:
    lines = [cells(row) for row in result.rows]
    lines += [
        ("nothing", one.name, "–", "–", "–", *measures(one.similarity)) for one in result.baselines
    ]
    notes = [
        "SSIM (1 is the photograph itself), PSNR and mean absolute error (MAE) of pictures in 0…1. "
        "They compare pixels: a picture can score low and still show who is in it. Look at it.",
        "Read exactly: the share of descriptors, or of words, that the attack gets right.",
    ]
    notes += [f"Left out: {one}." for one in result.left_out]
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"""
<section aria-labelledby="figures">
<h2 id="figures">The figures</h2>
<div class="card">{table(HEADINGS, lines, words=3)}
<div class="note small">{below}</div></div>
</section>"""
