"""The figures of an attacked photograph as words: for the terminal, the page and machines.

ε is never written without its unit, and never beside a lifted descriptor.
"""

from __future__ import annotations

import math
from typing import Any

from sfumato import __version__
from sfumato.adversary.metrics import Similarity
from sfumato.pages.photo_result import (
    DIRECT,
    LIFTED,
    RAW,
    WORDS,
    Baseline,
    PhotoResult,
    PhotoRow,
)

HEADINGS = (
    "what is sent",
    "read by",
    "guarantee",
    "bytes",
    "read exactly",
    "SSIM",
    "PSNR",
    "MAE",
)
SHORT_HEADINGS = (
    "sent",
    "read by",
    "ε per descriptor",
    "ε per picture",
    "bytes",
    "read exactly",
    "SSIM",
    "PSNR dB",
    "MAE",
)
NAMES = {"": "as it is", "posterior": "likeliest word", DIRECT: "a network trained on it"}


def cells(row: PhotoRow) -> tuple[str, ...]:
    """One line of the table, in the order of the headings."""
    return (
        sent(row),
        attack_name(row),
        guarantee(row),
        f"{row.num_bytes:,}",
        "–" if row.right is None else f"{row.right:.0%}",
        *figures(row),
    )


def short_cells(row: PhotoRow) -> tuple[str, ...]:
    """One line for a terminal, in the order of the short headings."""
    what = {RAW: "raw", LIFTED: f"subspaces {row.dimension}", WORDS: "words"}[row.mechanism]
    total = row.event.picture_epsilon or 0.0
    limit = ("none", "none") if row.epsilon is None else (f"{row.epsilon:g}", f"{total:,.0f}")
    right = "–" if row.right is None else f"{row.right:.0%}"
    size = f"{row.num_bytes:,}"
    return what, row.attack or "–", *limit, size, right, *_narrow(row.similarity)


def baseline_cells(baseline: Baseline) -> tuple[str, ...]:
    """A line of the terminal for what needs no descriptor."""
    return baseline.name, "–", "–", "–", "–", "–", *_narrow(baseline.similarity)


def _narrow(found: Similarity) -> tuple[str, str, str]:
    ssim, psnr, mae = measures(found)
    return ssim, psnr.removesuffix(" dB"), mae


def figures(row: PhotoRow) -> tuple[str, str, str]:
    """SSIM, PSNR and MAE of a row."""
    return measures(row.similarity)


def measures(found: Similarity) -> tuple[str, str, str]:
    return f"{found.ssim:.3f}", decibels(found.psnr), f"{found.mae:.3f}"


def exactly(row: PhotoRow) -> str:
    """What the attack got right, behind a comma; nothing where there was nothing to guess."""
    if row.right is None:
        return ""
    return f", {row.right:.0%} {'of words right' if row.mechanism == WORDS else 'exact'}"


def decibels(value: float) -> str:
    return f"{value:.1f} dB" if math.isfinite(value) else "∞"


def sent(row: PhotoRow) -> str:
    if row.mechanism == RAW:
        return "raw descriptors"
    if row.mechanism == LIFTED:
        return f"subspaces, m = {row.dimension}"
    return f"words, ε = {row.epsilon:g} per descriptor"


def attack_name(row: PhotoRow) -> str:
    return NAMES.get(row.attack, row.attack)


def guarantee(row: PhotoRow) -> str:
    """The limit with its unit, or that there is none."""
    if row.epsilon is None:
        return "none"
    total = row.event.picture_epsilon or 0.0
    return f"ε = {row.epsilon:g} per descriptor, {total:,.0f} per picture"


def not_protected(row: PhotoRow) -> str:
    return ", ".join(row.event.not_protected)


def as_dict(result: PhotoResult) -> dict[str, Any]:
    """Every figure, for machines; no picture."""
    width, height = result.features.image_size
    return {
        "version": __version__,
        "extractor": result.settings.extractor,
        "original_size": list(result.original_size),
        "attacked_size": [width, height],
        "keypoints": len(result.features),
        "seed": result.settings.seed,
        "networks": [
            {
                "name": network.name,
                "sha256": network.fingerprint,
                "kind": network.kind,
                "frames": network.frames,
                "steps": network.step,
                "shipped": network.shipped,
            }
            for network in result.networks
        ],
        "rows": [_row(row) for row in result.rows],
        "baselines": [
            {"name": one.name, **_similarity(one.similarity)} for one in result.baselines
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
