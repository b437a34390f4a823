"""The figures of an attacked photograph as words: for the terminal, the page and machines.

ε is never written without its unit, and never beside a lifted descriptor.
"""

from __future__ import annotations

import math
from typing import Any

from sfumato import __version__
from sfumato.adversary.metrics import Similarity
from sfumato.core.accounting import DELTA
from sfumato.device.explain import promise_sentences, short
from sfumato.pages.photo_result import (
    DIRECT,
    LIFTED,
    RAW,
    WORDS,
    Baseline,
    PhotoResult,
    PhotoRow,
    Sent,
)
from sfumato.pages.photo_verdict import advice, verdict

_MEASURES = ("bytes", "recovered exactly", "SSIM", "PSNR dB", "MAE")
HEADINGS = ("what is sent", "attack", "guarantee", *_MEASURES)
SHORT_HEADINGS = ("sent", "attack", "ε per descriptor", "ε per picture", *_MEASURES)
SENT_HEADINGS = (
    "ε per descriptor",
    "keypoints",
    "bytes",
    "words each",
    "true word sent",
    f"E per picture (δ = {DELTA:g})",
    "at most, N·ε per picture",
)
_ATTACKS = {"": "none", "posterior": "likeliest word", DIRECT: "a network trained for it"}


def cells(row: PhotoRow) -> tuple[str, ...]:
    """One line of the table, in the order of the headings."""
    return sent(row), attack_name(row), guarantee(row), *_measured(row)


def short_cells(row: PhotoRow) -> tuple[str, ...]:
    """One line for a terminal, in the order of the short headings."""
    what = {RAW: "raw", LIFTED: f"subspaces {row.dimension}", WORDS: "words"}[row.mechanism]
    total = row.event.picture_epsilon or 0.0
    limit = ("none", "none") if row.epsilon is None else (f"{row.epsilon:g}", f"{total:,.0f}")
    return what, row.attack or "–", *limit, *_measured(row)


def sent_cells(one: Sent) -> tuple[str, ...]:
    """What one release holds and costs, in the order of its headings."""
    facts = one.facts
    return (
        f"{one.epsilon:g}",
        f"{facts['keypoints']:,}",
        f"{facts['bytes']:,}",
        f"{facts['words_per_keypoint']} of {facts['dictionary_words']:,}",
        f"{facts['true_word_sent_probability']:.1%}",
        short(facts["exact_epsilon_per_picture"]),
        short(facts["epsilon_per_picture"]),
    )


def _measured(row: PhotoRow) -> tuple[str, ...]:
    recovered = "–" if row.right is None else f"{row.right:.0%}"
    return f"{row.num_bytes:,}", recovered, *measures(row.similarity)


def baseline_cells(baseline: Baseline, columns: int) -> tuple[str, ...]:
    """A line for a picture that needs no descriptor, in a table of so many columns."""
    shown = measures(baseline.similarity)
    return baseline.name, *["–"] * (columns - 1 - len(shown)), *shown


def measures(similarity: Similarity) -> tuple[str, str, str]:
    """SSIM, PSNR in dB, and mean absolute error."""
    psnr = f"{similarity.psnr:.1f}" if math.isfinite(similarity.psnr) else "∞"
    return f"{similarity.ssim:.3f}", psnr, f"{similarity.mae:.3f}"


def share_recovered(row: PhotoRow) -> str:
    """What the attack got right, behind a comma; nothing where there was nothing to guess."""
    if row.right is None:
        return ""
    return f", {row.right:.0%} {'of words right' if row.mechanism == WORDS else 'recovered'}"


def sent(row: PhotoRow) -> str:
    lifted = f"subspaces, m = {row.dimension}"
    return {RAW: "raw descriptors", LIFTED: lifted, WORDS: "random words"}[row.mechanism]


def attack_name(row: PhotoRow) -> str:
    return _ATTACKS.get(row.attack, row.attack)


def guarantee(row: PhotoRow) -> str:
    """The limit with its unit, or that there is none."""
    if row.epsilon is None:
        return "none"
    total = row.event.picture_epsilon or 0.0
    return f"ε = {row.epsilon:g} per descriptor, {total:,.0f} per picture"


def exact_promise(row: PhotoRow) -> str:
    """What the picture costs as a whole, and what an object in it may give away."""
    return promise_sentences(row.event)


def not_protected(row: PhotoRow) -> str:
    return ", ".join(row.event.not_protected)


def as_dict(result: PhotoResult) -> dict[str, Any]:
    """Every figure, for machines; no picture."""
    return {
        "version": __version__,
        "extractor": result.settings.extractor,
        "original_size": list(result.original_size),
        "painted_size": [result.photo.shape[1], result.photo.shape[0]],
        "keypoints": len(result.features),
        "verdict": list(verdict(result)),
        "advice": advice(result).sentence,
        "people": {
            "found": dict(result.people.found),
            "found_at_painted_size": dict(result.people.visible),
            "with_keypoints_sent": dict(result.people.described),
            "not_looked_for": list(result.people.missing),
        },
        "would_be_sent": [dict(one.facts) for one in result.sent],
        "seed": result.settings.seed,
        "networks": [
            {
                "name": network.name,
                "sha256": network.fingerprint,
                "kind": network.kind,
                "frames": network.frames,
                "steps": network.step,
                "shipped": network.shipped,
                "trained_on": network.card.get("data"),
            }
            for network in result.networks
        ],
        "rows": [_row(row) for row in result.rows],
        "baselines": [
            {"name": baseline.name, **_similarity(baseline.similarity)}
            for baseline in result.baselines
        ],
        "left_out": list(result.left_out),
    }


def _row(row: PhotoRow) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "sent": row.mechanism,
        "read_by": row.attack or None,
        "attacker_knows": row.knowledge,
        "bytes": row.num_bytes,
        "read_exactly": row.right,
        **_similarity(row.similarity),
        "found_again": dict(row.again.found),
        "same_person": row.again.same,
        "guarantee": guarantee(row),
        "not_protected": list(row.event.not_protected),
        "remark": row.remark or None,
    }
    if row.mechanism == LIFTED:
        facts["dimension"] = row.dimension
    if row.mechanism == WORDS:
        facts["epsilon_per_descriptor"] = row.epsilon
        facts["epsilon_per_picture"] = row.event.picture_epsilon
        facts["true_word_sent_probability"] = row.keep_probability
    return facts


def _similarity(found: Similarity) -> dict[str, float]:
    return {"ssim": found.ssim, "psnr_db": found.psnr, "mae": found.mae}
