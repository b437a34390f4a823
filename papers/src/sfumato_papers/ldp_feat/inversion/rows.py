"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: means and differences."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfumato.adversary.metrics import (
    Interval,
    difference_interval,
    mean_interval,
    share_interval,
)
from sfumato_papers.ldp_feat.inversion.outcomes import Results, Setting

#: From what shows most to what shows least, as the papers have it, our attack above theirs.
LADDER = ("raw", "vertex", "database", "clustering", "nearest")
_MAX_PSNR = 100.0  # dB; a picture painted exactly has an infinite one, and no mean


@dataclass(frozen=True)
class Row:
    """One setting over its pictures, with 95 % intervals.

    lpips, objects  None where not measured on every picture
    num_bytes       mean per picture, of what left the device
    network         facts of the painter; None for a flat colour
    """

    setting: Setting
    count: int
    ssim: Interval
    mae: Interval
    psnr: Interval
    lpips: Interval | None
    objects: Interval | None
    num_keypoints: float
    num_bytes: float
    seconds: float
    network: dict[str, Any] | None

    @property
    def guarantee(self) -> str:
        """ε with its unit, or that there is none."""
        epsilon = self.setting.defence.epsilon
        if self.setting.attack in ("mean colour", "positions"):
            return "–"
        if epsilon is None or math.isinf(epsilon):
            return "none"
        total = epsilon * self.num_keypoints
        return f"ε = {epsilon:g} per descriptor, {total:,.0f} per picture"

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "guarantee": self.guarantee}


def summarise(results: Results) -> list[Row]:
    """A row for every setting that has pictures."""
    rows = []
    for setting in results.settings():
        found = results.of(setting)
        measures = [outcome.measures for outcome in found]
        lpips = [m.lpips for m in measures if m.lpips is not None]
        objects = [m.objects for m in measures if m.objects is not None]
        whole = len(found)
        rows.append(
            Row(
                setting=setting,
                count=whole,
                ssim=mean_interval([m.ssim for m in measures]),
                mae=mean_interval([m.mae for m in measures]),
                psnr=mean_interval([min(m.psnr, _MAX_PSNR) for m in measures]),
                lpips=mean_interval(lpips) if len(lpips) == whole else None,
                objects=share_interval(*zip(*objects, strict=True))
                if len(objects) == whole
                else None,
                num_keypoints=float(np.mean([o.num_keypoints for o in found])),
                num_bytes=float(np.mean([o.num_bytes for o in found])),
                seconds=float(np.mean([o.seconds for o in found])),
                network=results.facts.get(f"network {found[0].network}"),
            )
        )
    return rows


def steps_down(results: Results) -> list[tuple[str, Interval]]:
    """How much SSIM each step of the ladder loses on the same pictures, and each step of ε."""
    found = {s: {o.picture: o.measures.ssim for o in results.of(s)} for s in results.settings()}
    chains: list[tuple[str, list[tuple[str, Setting]]]] = []
    lifted = [s for s in found if s.defence.strategy and s.attack in LADDER]
    for dimension, strategy in sorted({(s.defence.dimension, s.defence.strategy) for s in lifted}):
        here = {s.attack: s for s in lifted
                if (s.defence.dimension, s.defence.strategy) == (dimension, strategy)}  # fmt: skip
        here["raw"] = Setting("raw")
        chain = [(name, here[name]) for name in LADDER if name in here and here[name] in found]
        chains.append((f"{strategy} m = {dimension}", chain))
    worded = [s for s in found if s.defence.subset_size]
    for key in dict.fromkeys(
        (s.attack, s.defence.num_words, s.defence.subset_size) for s in worded
    ):
        same = [s for s in worded
                if (s.attack, s.defence.num_words, s.defence.subset_size) == key]  # fmt: skip
        same.sort(key=lambda s: -(s.defence.epsilon or 0))
        name = f"words, {key[0]}, |K| = {key[1]:,}, ω = {key[2]}"
        chains.append((name, [(f"ε = {s.defence.epsilon:g}", s) for s in same]))
    steps = []
    for title, chain in chains:
        for (left, a), (right, b) in itertools.pairwise(chain):
            both = sorted(found[a].keys() & found[b].keys())
            if both:
                gap = difference_interval([found[a][p] for p in both], [found[b][p] for p in both])
                steps.append((f"{title}: {left} − {right}", gap))
    return steps
