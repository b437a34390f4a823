"""A map as a picture: three views of its points and cameras."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from sfumato.core.storage import write_file
from sfumato.core.types import Pose
from sfumato.server.mapping import Map

_PANEL, _GAP, _HEAD = 460, 20, 44
_OUTSIDE = 0.02  # share of the points on each side that may lie beyond the picture
_MARGIN = 0.08
_RED, _BLUE = (200, 60, 40), (40, 90, 200)
#: Which axes go right and down; the cameras' x is right, y down, z forward.
_VIEWS = (
    ("from above: right, and forward is up", 0, 2, True),
    ("from the front: right, and down", 0, 1, False),
    ("from the side: forward, and down", 2, 1, False),
)

Floats = NDArray[np.float64]


def draw_map(world: Map, path: Path, poses: Sequence[Pose] = ()) -> None:
    """Draw a map from above, from the front and from the side of its cameras, as PNG.

    Axes are right, down and forward of the cameras on average; up is the map's own where it
    knows it. Points are gray, the map's cameras red, further poses blue.
    """
    own = [world.pose(image) for image in range(world.num_images)]
    draw_points(np.asarray(world.points), path, own, poses, up=world.up)


def draw_points(
    points: Floats,
    path: Path,
    own: Sequence[Pose] = (),
    poses: Sequence[Pose] = (),
    *,
    up: Sequence[float] | None = None,
) -> None:
    """The same of points and poses alone, as a server tells them."""
    axes = _axes(own, up)
    points = points @ axes.T
    low, high = _window(
        points, np.array([pose.center for pose in [*own, *poses]]).reshape(-1, 3) @ axes.T
    )
    width = 3 * _PANEL + 4 * _GAP
    sheet = Image.new("RGB", (width, _HEAD + _PANEL + _GAP + 24), "white")
    draw = ImageDraw.Draw(sheet)
    head = f"{len(points):,} points (gray)"
    head = f"{len(own):,} images (red), {head}" if len(own) else head
    head += f", {len(poses):,} localized (blue)" if len(poses) else ""
    draw.text((_GAP, 8), head, fill="black", font_size=17)
    for number, (title, a, b, flip) in enumerate(_VIEWS):
        left = _GAP + number * (_PANEL + _GAP)
        panel = _Panel(low[[a, b]], high[[a, b]], flip)
        sheet.paste(Image.fromarray(panel.points(points[:, [a, b]])), (left, _HEAD))
        for group, colour in ((own, _RED), (poses, _BLUE)):
            for pose in group:
                start = axes @ pose.center
                end = start + 0.06 * (high - low).max() * (axes @ pose.rotation[2])
                ends = panel.place(np.stack([start, end])[:, [a, b]]) + np.array([left, _HEAD])
                draw.line([tuple(row) for row in ends], fill=colour, width=2)
                x, y = ends[0]
                draw.ellipse((x - 3, y - 3, x + 3, y + 3), fill=colour)
        box = (left, _HEAD, left + _PANEL, _HEAD + _PANEL)
        draw.rectangle(box, outline=(190, 190, 190))
        side = f"; {panel.size:.3g} units wide"
        draw.text((left, _HEAD + _PANEL + 6), title + side, fill=(60, 60, 60), font_size=13)
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG")
    write_file(path, buffer.getvalue())


class _Panel:
    """A square of the world and where its places lie in a square of pixels."""

    def __init__(self, low: Floats, high: Floats, flip: bool) -> None:
        self.size = float((high - low).max())
        self.corner = (low + high) / 2 - self.size / 2
        self.flip = flip

    def place(self, places: Floats) -> Floats:
        pixels = (places - self.corner) / self.size * (_PANEL - 1)
        if self.flip:
            pixels[:, 1] = _PANEL - 1 - pixels[:, 1]
        return pixels

    def points(self, places: Floats) -> NDArray[np.uint8]:
        """How many points fall on each pixel, as gray: one is seen, many are darker."""
        pixels = np.rint(self.place(places))
        inside = ((pixels >= 0) & (pixels < _PANEL)).all(axis=1)
        columns, rows = pixels[inside].astype(np.int64).T
        counts = np.bincount(rows * _PANEL + columns, minlength=_PANEL**2)
        gray = np.where(counts > 0, 170 - 40 * np.minimum(np.log2(counts.clip(1)), 4), 255)
        return np.repeat(gray.reshape(_PANEL, _PANEL, 1).astype(np.uint8), 3, axis=2)


def _axes(own: Sequence[Pose], up: Sequence[float] | None) -> Floats:
    """Rows: right, down and forward, of the cameras on average or by the map's own up."""
    mean = np.mean([pose.rotation for pose in own], axis=0) if len(own) else np.eye(3)
    down = mean[1] if up is None else -np.asarray(up, dtype=np.float64)
    down = _unit(down, np.array([0.0, 1.0, 0.0]))
    ahead = mean[2] if abs(mean[2] @ down) < 0.9 else mean[0]
    forward = _unit(ahead - (ahead @ down) * down, np.array([0.0, 0.0, 1.0]))
    return np.stack([np.cross(down, forward), down, forward])


def _unit(vector: Floats, otherwise: Floats) -> Floats:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-6 else otherwise


def _window(places: Floats, cameras: Floats) -> tuple[Floats, Floats]:
    """What is shown: nearly all points, and every camera."""
    every = [cameras]
    if len(places):
        every.append(np.quantile(places, [_OUTSIDE, 1 - _OUTSIDE], axis=0))
    joined = np.concatenate(every)
    if not len(joined):
        return -np.ones(3), np.ones(3)
    low, high = joined.min(axis=0), joined.max(axis=0)
    room = _MARGIN * max(float((high - low).max()), 1e-9)
    return low - room, high + room
