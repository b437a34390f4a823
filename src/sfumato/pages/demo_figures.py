"""Two drawings in SVG: how many queries are found at which ε, and the room from above."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from sfumato.core.types import Camera, Pose
from sfumato.pages.demo_result import OURS, PAPER, RAW, DemoResult, Example, Row
from sfumato.pages.demo_text import outcome
from sfumato.server.mapping.map import Map

_WIDTH, _HEIGHT = 440, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 18, 26, 58
_PLAN = (640, 480)  # as wide and high as the pictures beside it
_MAX_DOTS = 3500
_REACH = 0.75  # metres that a camera is drawn to look


def share_chart(result: DemoResult) -> str:
    """The share of right poses over ε per descriptor, protection growing to the right."""
    epsilons = result.settings.epsilons
    label = "; ".join(
        f"{name} {row.num_right} of {len(row.answers)}"
        + ("" if row.epsilon is None else f" at ε = {row.epsilon:g} per descriptor")
        for row in result.rows
        for name in [row.method]
    )
    parts = [
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="Share of queries localized. {escape(label)}.">'
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(share)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(_text(_LEFT - 8, y + 4, f"{share:.0%}", "end"))
    for epsilon in epsilons:
        parts.append(_text(_x(epsilon, epsilons), _HEIGHT - _BOTTOM + 22, f"{epsilon:g}"))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(_text(middle, _HEIGHT - 10, "ε per descriptor, smaller is more private →"))
    raw = result.of(RAW)[0].share_right
    parts.append(f'<path class="raw" d="M{_LEFT} {_y(raw):.1f}H{_WIDTH - _RIGHT}"/>')
    for method in (PAPER, OURS):
        parts.append(_series(method, result.of(method), epsilons))
    return "".join([*parts, "</svg>"])


def _series(method: str, rows: tuple[Row, ...], epsilons: tuple[float, ...]) -> str:
    points = [(_x(row.epsilon or 0, epsilons), _y(row.share_right)) for row in rows]
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5"/>' for x, y in points)
    return f'<g class="{method}"><path d="M{line}"/>{dots}</g>'


def _x(epsilon: float, epsilons: tuple[float, ...]) -> float:
    most, least = epsilons[0], epsilons[-1]
    share = 0.5 if most == least else (most - epsilon) / (most - least)
    return _LEFT + 22 + share * (_WIDTH - _RIGHT - _LEFT - 44)


def _y(share: float) -> float:
    return _TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM)


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


@dataclass(frozen=True)
class FloorPlan:
    """The map from above, z pointing at the reader; drawn once and used by every example."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    scale: float

    @staticmethod
    def of(world: Map) -> FloorPlan:
        """Large enough for nearly all points; a few wild ones stay outside."""
        flat = np.asarray(world.points)[:, :2]
        centers = np.stack([world.pose(image).center[:2] for image in range(world.num_images)])
        low = np.minimum(np.quantile(flat, 0.01, axis=0), centers.min(axis=0)) - 0.3
        high = np.maximum(np.quantile(flat, 0.99, axis=0), centers.max(axis=0)) + 0.3
        wide, deep = (high - low).tolist()
        scale = min(_PLAN[0] / wide, _PLAN[1] / deep)
        spare = (np.array(_PLAN) / scale - (wide, deep)) / 2  # centred in the frame
        return FloorPlan(low - spare, high + spare, scale)

    def symbol(self, world: Map) -> str:
        """Points and mapping cameras, for <use>."""
        flat = np.asarray(world.points)[:, :2]
        flat = flat[((flat > self.low) & (flat < self.high)).all(axis=1)]
        flat = flat[:: max(1, math.ceil(len(flat) / _MAX_DOTS))]
        dots = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in self._flat(flat).tolist())
        cameras = "".join(
            self._wedge(world.pose(image), world.camera(image), 0.28)
            for image in range(world.num_images)
        )
        width, height = _PLAN
        return (
            f'<svg class="hidden" aria-hidden="true"><symbol id="plan" viewBox="0 0 {width} '
            f'{height}"><path class="dots" d="{dots}" stroke-width="2.6"/>'
            f'<path class="mapping" d="{cameras}"/></symbol></svg>'
        )

    def figure(self, example: Example) -> str:
        """The plan with the true pose and the one that was found."""
        width, height = _PLAN
        view, found = example.view, example.ours.found.pose
        label = (
            "Floor plan with the map's points, its cameras and the true pose; "
            f"the pose that was found is off by {outcome(example.ours)}"
            if found is not None
            else "Floor plan with the map's points, its cameras and the true pose; no pose found"
        )
        parts = [
            f'<svg class="picture" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(label)}"><rect class="ground" width="{width}" '
            f'height="{height}"/><use href="#plan" width="{width}" height="{height}"/>'
        ]
        if found is not None:
            parts.append(f'<path class="found" d="{self._wedge(found, view.camera, _REACH)}"/>')
            x, y = self._flat(found.center[None, :2])[0].tolist()
            parts.append(f'<circle class="found-dot" cx="{x:.1f}" cy="{y:.1f}" r="6"/>')
        parts.append(f'<path class="truth" d="{self._wedge(view.pose, view.camera, _REACH)}"/>')
        x, y = self._flat(view.pose.center[None, :2])[0].tolist()
        parts.append(f'<circle class="truth" cx="{x:.1f}" cy="{y:.1f}" r="12"/></svg>')
        return "".join(parts)

    def _flat(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        x = (places[:, 0] - self.low[0]) * self.scale
        return np.stack([x, (self.high[1] - places[:, 1]) * self.scale], axis=1)

    def _wedge(self, pose: Pose, camera: Camera, reach: float) -> str:
        """A camera from above: where it stands and how wide it sees."""
        half = math.atan(camera.width / 2 / camera.params[0])
        forward = pose.rotation[2, :2]
        heading = math.atan2(forward[1], forward[0])
        corners = [pose.center[:2]] + [
            pose.center[:2] + reach * np.array([math.cos(heading + turn), math.sin(heading + turn)])
            for turn in (-half, half)
        ]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in self._flat(np.stack(corners)).tolist())
        return f"M{path}Z"
