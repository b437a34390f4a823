"""The examples: what stays on the device, what the server receives and what it makes of it."""

from __future__ import annotations

from html import escape

from sfumato.pages.demo_figures import FloorPlan
from sfumato.pages.demo_result import WORKS, DemoResult, Example
from sfumato.pages.demo_text import distance, outcome
from sfumato.pages.demo_words import release_figure, star_tile
from sfumato.pages.pictures import (
    embedded_jpeg,
    keypoint_picture,
    patch_at,
    telling_keypoint,
)

DEVICE, SERVER = "Stays on the device", "What the server has"


def examples_section(result: DemoResult) -> str:
    plan = FloorPlan.of(result.world)
    shown = result.shown
    why = (
        "the smallest of those above that still finds nine queries in ten"
        if shown.share_right >= WORKS
        else "the one of those above that finds most"
    )
    rows = "".join(
        _example(number, example, plan, result)
        for number, example in enumerate(result.examples, start=1)
    )
    return f"""
<section aria-labelledby="sides">
<h2 id="sides">What stays, and what leaves</h2>
<p>A picture is described by its keypoints: corners and blobs, each with a descriptor of what
is around it. The photograph, the descriptors and their true words stay on the device. Positions
and drawn words are all that leaves, here at ε = {shown.epsilon:g} per descriptor: {why}.</p>
{plan.symbol(result.world)}
{_close_up(result.examples[0], result)}
{rows}
</section>"""


def _close_up(example: Example, result: DemoResult) -> str:
    """One keypoint, step by step."""
    rows = telling_keypoint(example.view, example.features, example.release)
    if rows is None:
        return ""
    row, sent_row = rows
    features, words = example.features, result.dictionary.words
    true_word = int(result.dictionary.nearest(features.descriptors[row : row + 1])[0])
    sent = example.release.words[sent_row].tolist()
    patch = embedded_jpeg(patch_at(example.view.image, features, row))
    truth = "is among them" if true_word in sent else "is not among them"
    tiles = "".join(
        f"<figure>{star_tile(words[word], f'The sent word number {word} as stars')}"
        f"<figcaption>word {word:,}</figcaption></figure>"
        for word in sent
    )
    chance = result.shown.keep_probability or 0.0
    return f"""
<div class="card example">
<h3>One keypoint from near by</h3>
<p>Its descriptor is replaced by the nearest of {result.dictionary.num_words:,} public words.
With a chance of {chance:.0%} that true word is among the {len(sent)} that are sent; otherwise
none of them has to do with it. Nothing marks which case it was.</p>
<div class="steps">
<div class="side device"><h4>{DEVICE}</h4>
<figure><img class="tile" src="{patch}" alt="A small patch of the photograph, enlarged"/>
<figcaption>what it looks at</figcaption></figure>
<figure>{star_tile(features.descriptors[row], "Its descriptor as stars")}
<figcaption>its descriptor</figcaption></figure>
<figure>{star_tile(words[true_word], f"The nearest word, number {true_word}, as stars")}
<figcaption>its true word, {true_word:,}</figcaption></figure></div>
<div class="side server"><h4>{SERVER}</h4>{tiles}
<figure><figcaption>Its position, and these words. The true one {truth} this time; the server
cannot know.</figcaption></figure></div>
</div></div>"""


def _example(number: int, example: Example, plan: FloorPlan, result: DemoResult) -> str:
    view, features, release = example.view, example.features, example.release
    photo = embedded_jpeg(view.image)
    keypoints = embedded_jpeg(keypoint_picture(view.image, features))
    who = "a room with a visitor in it" if view.person_box else "a room"
    total = release.epsilon * len(release)
    words = f"{release.subset_size} word{'s' if release.subset_size > 1 else ''}"
    answer = (
        f"The server finds the camera {outcome(example.ours)} from where it really was."
        if example.ours.found.localized
        else f"The server gives {outcome(example.ours)}."
    )
    paper = (
        f"The paper's recipe is {distance(example.paper)} off."
        if example.paper.found.localized
        else "The paper's recipe gives no answer."
    )
    return f"""
<article class="card example" aria-labelledby="query-{number}">
<h3 id="query-{number}">Query {number}: {len(release):,} keypoints,
{example.ours.num_bytes:,} bytes</h3>
<p class="small">ε = {release.epsilon:g} per descriptor, adding up to ε = {total:,.0f} per
picture for these {len(release):,} keypoints.</p>
<div class="sides">
<div class="side device"><h4>{DEVICE}</h4>
<figure><img class="picture" src="{photo}" alt="The photograph: {who}"/>
<figcaption>The photograph. It is never sent.</figcaption></figure>
<figure><img class="picture" src="{keypoints}" alt="The dimmed photograph with its keypoints"/>
<figcaption>Its keypoints. Their sizes and directions are not sent.</figcaption></figure></div>
<div class="side server"><h4>{SERVER}</h4>
<figure>{release_figure(release, result.dictionary)}
<figcaption>All that left: {len(release):,} positions (dots) with {words} each. Where there is
room, one word is drawn as stars of gradients. Positions are exact: outlines can show.</figcaption>
</figure>
<figure>{plan.figure(example)}
<figcaption>{escape(answer)} Map points and mapping cameras in grey, the true pose dashed, the one
found filled. {escape(paper)}</figcaption></figure></div>
</div></article>"""
