"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: what each reconstruction scored.

Facts (which pictures, words, networks) are written once. A run on other ones is refused: a
table must not mix them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.adversary.metrics import Interval, difference_interval, mean_interval, share_interval
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.privacy.defence import PLAIN, Defence
from sfumato_papers.harness.outcomes import (
    append_record,
    decode,
    drop_torn_line,
    plain,
    read_records,
)
from sfumato_papers.ldp_feat.inversion.releases import Measures

#: Facts that may change between a run and its continuation.
_FREE = ("lpips",)


@dataclass(frozen=True)
class Setting:
    """What one row of the tables is about: an attack on a defence.

    attack   raw, mean colour, positions; nearest, clustering, database, vertex, direct on
             lifts; posterior, direct on words
    """

    attack: str
    defence: Defence = PLAIN

    @property
    def name(self) -> str:
        """Fit for a file name."""
        said = f"{self.defence.extractor}-{self.defence.name}-{self.attack}"
        return said.replace(" ", "-")


@dataclass(frozen=True)
class Outcome:
    """One picture under one setting.

    num_bytes  that left the device, header included; 0 for a baseline
    seconds    of processor time to read the release, painting not counted
    network    its name; empty for a flat colour
    """

    setting: Setting
    picture: str
    measures: Measures
    num_keypoints: int
    num_bytes: int
    seconds: float
    network: str


@dataclass(frozen=True)
class Results:
    """All that a file holds; absent says why a row could not be made."""

    facts: Mapping[str, Any]
    outcomes: tuple[Outcome, ...]
    absent: Mapping[Setting, str]

    def of(self, setting: Setting) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.setting == setting]

    def settings(self) -> list[Setting]:
        return list(dict.fromkeys(outcome.setting for outcome in self.outcomes))


class OutcomeFile:
    """Appends to a file of one experiment; what it holds already is not done again."""

    def __init__(self, path: Path, problem: Mapping[str, Any]) -> None:
        self.path = path
        if path.exists():
            drop_torn_line(path)
        known = path.exists() and path.stat().st_size
        found = read_outcomes(path) if known else Results({}, (), {})
        self._facts, self._absent = dict(found.facts), dict(found.absent)
        self._done = {(o.setting, o.picture) for o in found.outcomes}
        path.parent.mkdir(parents=True, exist_ok=True)
        self.tell("inversion", problem)

    def has(self, setting: Setting, picture: str) -> bool:
        return (setting, picture) in self._done

    def tell(self, name: str, value: Any) -> None:
        """Write a fact down, or refuse if the file says otherwise."""
        if name in self._facts and self._facts[name] == value:
            return
        if name in self._facts and name not in _FREE:
            other = "set of pictures" if name == "inversion" else name
            raise Mismatch(f"{self.path} was made with another {other}; give another folder.")
        append_record(self.path, {"kind": "fact", "name": name, "value": value})
        self._facts[name] = value

    def add(self, outcome: Outcome) -> None:
        append_record(self.path, {"kind": "outcome", **plain(outcome)})
        self._done.add((outcome.setting, outcome.picture))

    def absent(self, setting: Setting, reason: str) -> None:
        """Say why there is no such row; a later outcome overrules it."""
        if self._absent.get(setting) != reason:
            append_record(
                self.path, {"kind": "absent", "setting": plain(setting), "reason": reason}
            )
            self._absent[setting] = reason


def read_outcomes(path: str | Path) -> Results:
    """Everything a file of this experiment holds."""
    facts: dict[str, Any] = {}
    outcomes: list[Outcome] = []
    absent: dict[Setting, str] = {}
    for number, line in enumerate(read_records(Path(path)), start=1):
        kind = line.pop("kind", None)
        damaged = f"{path} is damaged in line {number}"
        if kind == "fact":
            facts[line["name"]] = line["value"]
        elif kind == "absent":
            absent[decode(Setting, line["setting"], damaged)] = str(line["reason"])
        elif kind == "outcome" and "inversion" in facts:
            outcomes.append(decode(Outcome, line, damaged))
        else:
            raise InvalidInput(
                f"{path} is not a file of the inversion experiment, or damaged in line {number}: "
                f"kind {kind!r}."
            )
    if "inversion" not in facts:
        raise InvalidInput(f"{path} is not a file of the inversion experiment: it says no problem.")
    made = {outcome.setting for outcome in outcomes}
    return Results(
        facts, tuple(outcomes), {row: why for row, why in absent.items() if row not in made}
    )


#: From what shows most to what shows least, as the papers have it, our attack above theirs.
LADDER = ("raw", "vertex", "database", "clustering", "nearest")
_MAX_PSNR = 100.0  # dB; a picture painted exactly has an infinite one, and no mean


def summarise(results: Results) -> list[dict[str, Any]]:
    """A row for every setting that has pictures, with 95 % intervals.

    lpips, objects  None where not measured on every picture
    num_bytes       mean per picture, of what left the device
    network         facts of the painter; None for a flat colour
    """
    rows = []
    for setting in results.settings():
        found = results.of(setting)
        measures = [outcome.measures for outcome in found]
        lpips = [m.lpips for m in measures if m.lpips is not None]
        objects = [m.objects for m in measures if m.objects is not None]
        means = {
            name: float(np.mean([getattr(outcome, name) for outcome in found]))
            for name in ("num_keypoints", "num_bytes", "seconds")
        }
        all_objects = len(objects) == len(found)
        rows.append(
            {
                "setting": setting,
                "count": len(found),
                "ssim": mean_interval([m.ssim for m in measures]),
                "mae": mean_interval([m.mae for m in measures]),
                "psnr": mean_interval([min(m.psnr, _MAX_PSNR) for m in measures]),
                "lpips": mean_interval(lpips) if len(lpips) == len(found) else None,
                "objects": share_interval(*zip(*objects, strict=True)) if all_objects else None,
                **means,
                "network": results.facts.get(f"network {found[0].network}"),
                "guarantee": _guarantee(setting, means["num_keypoints"]),
            }
        )
    return rows


def _guarantee(setting: Setting, num_keypoints: float) -> str:
    """ε with its unit, or that there is none."""
    epsilon = setting.defence.epsilon
    if setting.attack in ("mean colour", "positions"):
        return "–"
    if epsilon is None or math.isinf(epsilon):
        return "none"
    total = epsilon * num_keypoints
    return f"ε = {epsilon:g} per descriptor, {total:,.0f} per picture"


def word_series(settings: Sequence[Setting]) -> dict[str, list[Setting]]:
    """Rows of words that differ in ε, and in |K| where it goes with ε; ε falls."""
    worded: dict[tuple[str, int], list[Setting]] = {}
    for row in settings:
        if row.defence.subset_size:
            worded.setdefault((row.attack, row.defence.subset_size), []).append(row)
    series: dict[str, list[Setting]] = {}
    for (attack, subset_size), rows in worded.items():
        sizes = {row.defence.num_words for row in rows}
        by_rule = len(sizes) > 1 and len({row.defence.epsilon for row in rows}) == len(rows)
        for row in sorted(rows, key=lambda row: -(row.defence.epsilon or 0)):
            words = "|K| by ε" if by_rule else f"|K| = {row.defence.num_words:,}"
            series.setdefault(f"{attack}, {words}, ω = {subset_size}", []).append(row)
    return series


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
    for label, same in word_series(list(found)).items():
        chains.append((f"words, {label}", [(f"ε = {s.defence.epsilon:g}", s) for s in same]))
    steps = []
    for title, chain in chains:
        for (left, a), (right, b) in itertools.pairwise(chain):
            both = sorted(found[a].keys() & found[b].keys())
            if both:
                gap = difference_interval([found[a][p] for p in both], [found[b][p] for p in both])
                steps.append((f"{title}: {left} − {right}", gap))
    return steps
