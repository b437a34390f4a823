"""Coordinates of two drawings: how many queries are found at which ε, and the room from above."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.types import Camera, Pose
from sfumato.pages.demo_result import OURS, PAPER, RAW, DemoResult
from sfumato.pages.demo_words import dots_path
from sfumato.server.mapping.map import Map

_MAX_DOTS = 3500
_REACH = 0.75  # metres that a camera is drawn to look
_MAPPING_REACH = 0.28


@dataclass(frozen=True)
class Chart:
    """Where lines and dots lie in a drawing of `width` × `height`, the axes at left and bottom."""

    label: str
    levels: list[tuple[float, str]]
    ticks: list[tuple[float, str]]
    raw: float
    series: dict[str, list[tuple[float, float]]]
    axis: str = "ε per descriptor, smaller is more private →"
    width: ClassVar[int] = 440
    height: ClassVar[int] = 290
    left: ClassVar[int] = 46
    right: ClassVar[int] = 422
    top: ClassVar[int] = 26
    bottom: ClassVar[int] = 232


def share_chart(result: DemoResult) -> Chart:
    """The share of right poses over ε per descriptor, protection growing to the right."""
    epsilons = result.settings.epsilons
    most, least = epsilons[0], epsilons[-1]

    def x(epsilon: float) -> float:
        share = 0.5 if most == least else (most - epsilon) / (most - least)
        return round(Chart.left + 22 + share * (Chart.right - Chart.left - 44), 1)

    def y(share: float) -> float:
        return round(Chart.bottom - share * (Chart.bottom - Chart.top), 1)

    counts = "; ".join(
        f"{row.method} {row.num_right} of {len(row.answers)}"
        + ("" if row.epsilon is None else f" at ε = {row.epsilon:g} per descriptor")
        for row in result.rows
    )
    return Chart(
        label=f"Share of queries localized. {counts}.",
        levels=[(y(share), f"{share:.0%}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        ticks=[(x(epsilon), f"{epsilon:g}") for epsilon in epsilons],
        raw=y(result.of(RAW)[0].share_right),
        series={
            method: [(x(row.epsilon or 0), y(row.share_right)) for row in result.of(method)]
            for method in (PAPER, OURS)
        },
    )


@dataclass(frozen=True)
class FloorPlan:
    """The map from above, z pointing at the reader; as wide and high as the pictures beside it."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    scale: float
    width: ClassVar[int] = 640
    height: ClassVar[int] = 480

    @staticmethod
    def of(world: Map) -> FloorPlan:
        """Large enough for nearly all points; a few wild ones stay outside."""
        flat = np.asarray(world.points)[:, :2]
        centers = np.stack([world.pose(image).center[:2] for image in range(world.num_images)])
        low = np.minimum(np.quantile(flat, 0.01, axis=0), centers.min(axis=0)) - 0.3
        high = np.maximum(np.quantile(flat, 0.99, axis=0), centers.max(axis=0)) + 0.3
        frame = np.array([FloorPlan.width, FloorPlan.height])
        scale = float((frame / (high - low)).min())
        spare = (frame / scale - (high - low)) / 2  # centred in the frame
        return FloorPlan(low - spare, high + spare, scale)

    def dots(self, world: Map) -> str:
        """SVG path data of the map's points."""
        flat = np.asarray(world.points)[:, :2]
        flat = flat[((flat > self.low) & (flat < self.high)).all(axis=1)]
        return dots_path(self._on_page(flat[:: max(1, math.ceil(len(flat) / _MAX_DOTS))]))

    def cameras(self, world: Map) -> str:
        """SVG path data of the mapping cameras."""
        return "".join(
            self.wedge(world.pose(image), world.camera(image), _MAPPING_REACH)
            for image in range(world.num_images)
        )

    def position(self, pose: Pose) -> tuple[float, float]:
        """Where a camera stands on the page."""
        x, y = self._on_page(pose.center[None, :2])[0].tolist()
        return round(x, 1), round(y, 1)

    def wedge(self, pose: Pose, camera: Camera, reach: float = _REACH) -> str:
        """SVG path data of a camera from above: where it stands and how wide it sees."""
        half = math.atan(camera.width / 2 / camera.params[0])
        forward = pose.rotation[2, :2]
        heading = math.atan2(forward[1], forward[0])
        corners = [pose.center[:2]] + [
            pose.center[:2] + reach * np.array([math.cos(heading + turn), math.sin(heading + turn)])
            for turn in (-half, half)
        ]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in self._on_page(np.stack(corners)).tolist())
        return f"M{path}Z"

    def _on_page(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        x = (positions[:, 0] - self.low[0]) * self.scale
        return np.stack([x, (self.high[1] - positions[:, 1]) * self.scale], axis=1)
