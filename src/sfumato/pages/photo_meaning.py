"""What the figures of an attacked photograph mean, and how they were made."""

from __future__ import annotations

from html import escape

from sfumato import __version__
from sfumato.core.types import NOT_PROTECTED
from sfumato.pages.demo_text import odds
from sfumato.pages.photo_result import WORDS, PhotoResult

_FRAMES = {
    "none": "it is told positions and descriptors, nothing else",
    "inferred": "sizes and directions of keypoints, which are not sent, are guessed from "
    "neighbouring descriptors",
    "given": "it is told sizes and directions of keypoints too, which no release sends: a stronger "
    "attacker than a server",
}


def meaning_section(result: PhotoResult) -> str:
    trained = {network.kind for network in result.networks} & {"words", "subspace"}
    only = (
        ""
        if trained
        else "It was trained on raw descriptors; one trained on what a defence sends may do better."
    )
    outside = "".join(f"<li>{escape(item)}</li>" for item in NOT_PROTECTED)
    return f"""
<section aria-labelledby="meaning">
<h2 id="meaning">What may be concluded</h2>
<div class="card columns">
<div><h3>A picture is a lower bound</h3>
<p>These pictures show what one small network makes of the data. {only}
A larger one, trained for longer or on pictures like this one, makes more of the same bytes. Where
nothing is recognised, that attacker failed; it does not show that every attacker must.</p></div>
<div><h3>A proof is an upper bound</h3>
{_proof(result)}</div>
<div><h3>What no mechanism here hides</h3>
<ul>{outside}</ul>
<p>Where keypoints lie dense along an outline, the outline can be seen, whatever is sent with
them.</p></div>
<div><h3>This page holds the photograph</h3>
<p>The original and all that was painted from it are inside this file. Keep it where you would keep
the photograph.</p></div>
</div>
</section>"""


def _proof(result: PhotoResult) -> str:
    rows = result.of(WORDS)
    if not rows:
        return "<p>None of the mechanisms shown here has one.</p>"
    last = min(rows, key=lambda row: row.epsilon or 0.0)
    epsilon = last.epsilon or 0.0
    return f"""<p>A limit of ε per descriptor means that no answer is more than e<sup>ε</sup> times
as likely as it would be for any other descriptor: at ε = {epsilon:g} per descriptor,
{odds(epsilon)} times. It holds against any attacker. It adds up over the
{len(result.features):,} keypoints of this picture to ε = {last.event.picture_epsilon or 0:,.0f} per
picture, and that is no formal protection of the picture as a whole. Raw descriptors and subspaces
have no limit at all.</p>"""


def made_facts(result: PhotoResult, command: str) -> dict[str, str]:
    """How the page was made; values are HTML."""
    settings = result.settings
    wide, high = result.original_size
    small = result.features.image_size
    scaled = "" if small == (wide, high) else f", scaled to {small[0]}×{small[1]} first"
    facts = {
        "command": f"<code>{escape(command)}</code>",
        "version": escape(__version__),
        "photograph": f"{wide}×{high} pixels{scaled}; the {len(result.features):,} strongest "
        f"keypoints of {escape(settings.extractor)}, at most {settings.max_keypoints:,}",
    }
    for network in result.networks:
        steps = "" if network.step is None else f", {network.step:,} training steps"
        owner = "shipped with sfumato" if network.shipped else "given"
        facts[f"network, {network.kind}"] = (
            f"{escape(network.name)}, {owner}, width {network.width}{steps}; "
            f"{_FRAMES[network.frames]}; sha256 <code>{network.fingerprint[:16]}…</code>"
        )
    if result.words is not None:
        words = result.words
        facts["dictionary"] = (
            f"{words.dictionary.num_words:,} words from "
            f"{escape(str(words.dictionary.manifest['provenance']))}; fingerprint "
            f"<code>{words.dictionary.fingerprint[:16]}…</code>"
        )
        if words.lifting is not None:
            origin = "the two halves of the dictionary" if words.halves else "given"
            facts["lifting"] = (
                f"{escape(settings.strategy)}, through {words.lifting.num_words:,} words; the "
                f"attacker's other public descriptors are {len(words.strangers):,} ({origin})"
            )
    facts["randomness"] = (
        f"seed {settings.seed}: the same photograph gives the same page. Releases made for real "
        "have no seed"
    )
    return facts
