"""A map as dots: what a page needs to show where a pose lies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.server.mapping.map import Map

_FAR = 3.0  # times the span of the inner nine tenths; farther points are noise that hides the rest


def few_points(world: Map, count: int) -> dict[str, Any]:
    """At most `count` points, evenly from all of the map, and up: known, or as images were held."""
    points = np.asarray(world.points[:: max(1, -(-len(world.points) // max(1, count)))])[:count]
    if len(points):
        low, middle, high = np.percentile(points, (5, 50, 95), axis=0)
        points = points[(np.abs(points - middle) <= _FAR * np.ptp([low, high], axis=0)).all(axis=1)]
    digits = 5 - math.floor(math.log10(max(float(np.ptp(points)), 1e-9))) if len(points) else 0
    return {"points": np.round(points, digits).tolist(), "up": _up(world)}


def _up(world: Map) -> list[float]:
    """A camera's second axis points down in its picture; most pictures are held upright."""
    if world.up is not None:
        return list(world.up)
    down = np.asarray(world.rotations)[:, 1, :].sum(axis=0)
    length = float(np.linalg.norm(down))
    up = -down / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    return [float(value) for value in up]
