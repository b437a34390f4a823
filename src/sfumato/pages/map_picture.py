"""A map as a picture: three views of its points and cameras."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.storage import check_writable
from sfumato.core.types import Pose
from sfumato.server.mapping import Map

_MOST_POINTS = 60_000
_OUTSIDE = 0.02  # share of the points on each side that may lie beyond the picture
_MARGIN = 0.08


def draw_map(world: Map, path: Path, poses: Sequence[Pose] = ()) -> None:
    """Draw a map from above, from the front and from the side of its cameras, as PNG.

    Axes are those of the picture that the cameras take together: right, down and forward on
    average; up is the map's own where it knows it.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_writable(path)
    axes = _axes(world)
    points = np.asarray(world.points)
    step = max(1, len(points) // _MOST_POINTS)
    places = points[::step] @ axes.T
    own = [world.pose(image) for image in range(world.num_images)]
    low, high = _window(places, np.array([pose.center for pose in [*own, *poses]]) @ axes.T)
    figure = Figure(figsize=(13, 4.6), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    for number, (title, a, b) in enumerate(
        (("from above", 0, 2), ("from the front", 0, 1), ("from the side", 2, 1)), start=1
    ):
        plot = figure.add_subplot(1, 3, number)
        plot.plot(places[:, a], places[:, b], ",", color="0.45", alpha=0.7)
        for group, colour in ((own, "#c83c28"), (poses, "#285ac8")):
            for pose in group:
                x, y = (axes @ pose.center)[[a, b]]
                look = (axes @ pose.rotation[2])[[a, b]] * 0.06 * (high - low).max()
                plot.plot([x, x + look[0]], [y, y + look[1]], "-", color=colour, linewidth=1)
                plot.plot([x], [y], "o", color=colour, markersize=3)
        plot.set_xlim(low[a], high[a])
        plot.set_ylim(low[b], high[b])
        if b == 1:
            plot.invert_yaxis()  # the cameras' y points down
        plot.set_aspect("equal", adjustable="box")
        plot.set_title(title, fontsize=10)
        plot.tick_params(labelsize=8)
    count = f"{world.num_images:,} images (red), {len(points):,} points"
    more = f", {len(poses):,} localized (blue)" if len(poses) else ""
    figure.suptitle(f"{count}{more}; in the map's unit", fontsize=11)
    figure.savefig(path, format="png")


def _axes(world: Map) -> NDArray[np.float64]:
    """Rows: right, down and forward, of the cameras on average or by the map's own up."""
    mean = np.asarray(world.rotations).mean(axis=0)
    down = mean[1] if world.up is None else -np.asarray(world.up)
    down = _unit(down, np.array([0.0, 1.0, 0.0]))
    forward = _unit(mean[2] - (mean[2] @ down) * down, np.array([0.0, 0.0, 1.0]))
    return np.stack([np.cross(down, forward), down, forward])


def _unit(vector: NDArray[np.float64], otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-6 else otherwise


def _window(
    places: NDArray[np.float64], cameras: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What is shown: nearly all points, and every camera."""
    every = [cameras]
    if len(places):
        every.append(np.quantile(places, [_OUTSIDE, 1 - _OUTSIDE], axis=0))
    joined = np.concatenate(every)
    low, high = joined.min(axis=0), joined.max(axis=0)
    room = _MARGIN * max(float((high - low).max()), 1e-9)
    return low - room, high + room
