"""A small exact renderer: textured rectangles, one plane per rectangle, a depth buffer.

A rectangle holds the points corner + u·right + v·down with 0 ≤ u, v ≤ 1. In a camera that
sees along d = (x, y, 1) the point hit has

    (u·w, v·w, w)ᵀ = [right | down | corner]⁻¹ · d,   w = 1 / depth

so u·w, v·w and the inverse depth w are linear in the pixel, and depth is exact everywhere.
Colours are linear light. Every pixel is the mean of 2×2 samples from mip-mapped textures.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core import lens
from sfumato.core.checks import check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Camera, Pose

Array = NDArray[np.float64]
Image = NDArray[np.float32]
Box = tuple[slice, slice]  # rows and columns

SAMPLES = 2  # per pixel and axis
_NEAR = 0.02  # metres; nearer corners have no usable projection


@dataclass(frozen=True, eq=False)
class Quad:
    """A rectangle seen from the side where `right` points right and `down` points down."""

    corner: Array
    right: Array
    down: Array
    skin: str = ""  # what is painted on it, see gallery_paint

    @cached_property
    def normal(self) -> Array:
        """The unit vector towards those who can see it."""
        outward = np.cross(self.down, self.right)
        return np.asarray(outward / np.linalg.norm(outward))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in metres."""
        return float(np.linalg.norm(self.right)), float(np.linalg.norm(self.down))

    def at(self, u: float | Array, v: float | Array) -> Array:
        """The point, or the (N, 3) points, of the world at texture coordinates u, v."""
        u, v = np.asarray(u)[..., None], np.asarray(v)[..., None]
        return np.asarray(self.corner + u * self.right + v * self.down)


@dataclass(frozen=True, eq=False)
class Texture:
    """A picture and its halvings, down to one pixel; (h, w, 3) or, with alpha, (h, w, 4)."""

    levels: tuple[Image, ...]

    @classmethod
    def of(cls, pixels: NDArray[np.float32]) -> Texture:
        import cv2

        levels = [np.ascontiguousarray(pixels, dtype=np.float32)]
        while max(levels[-1].shape[:2]) > 1:
            height, width = ((side + 1) // 2 for side in levels[-1].shape[:2])
            half = cv2.resize(levels[-1], (width, height), interpolation=cv2.INTER_AREA)
            levels.append(np.asarray(half, dtype=np.float32))
        return cls(tuple(levels))

    def sample(self, u: Image, v: Image, level: NDArray[np.int8]) -> Image:
        """(N, channels) colours at u, v, each bilinear in its own level."""
        import cv2

        out = np.empty((len(u), self.levels[0].shape[2]), dtype=np.float32)
        for number in range(int(level.min(initial=127)), int(level.max(initial=-1)) + 1):
            rows = np.flatnonzero(level == number)
            if not rows.size:
                continue
            pixels = self.levels[number]
            # remap takes at most 32,767 rows or columns: fold the list into a table.
            table = np.resize(rows, (-(-len(rows) // 1024), 1024))
            x = u[table] * np.float32(pixels.shape[1]) - np.float32(0.5)
            y = v[table] * np.float32(pixels.shape[0]) - np.float32(0.5)
            colours = cv2.remap(pixels, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
            out[rows] = colours.reshape(-1, out.shape[1])[: len(rows)]
        return out


@dataclass(frozen=True, eq=False)
class Layer:
    """A rectangle with alpha that is laid over the room, hidden by what is nearer."""

    quad: Quad
    texture: Texture
    solid: bool  # a body, not a shadow


def pinhole(camera: Camera) -> tuple[float, float, float, float]:
    """fx, fy, cx, cy of a camera without distortion."""
    if camera.model != "PINHOLE":
        raise InvalidInput(f"a PINHOLE camera is needed, got {camera.model}.")
    fx, fy, cx, cy = camera.params
    return fx, fy, cx, cy


def project(points_in_world: Array, camera: Camera, pose: Pose) -> Array:
    """(N, 2) keypoints of (N, 3) points; whole numbers are centres of pixels.

    Points behind the camera have no picture and become NaN.
    """
    pinhole(camera)
    return lens.project(camera, pose.apply(points_in_world))


def planes_in_camera(quads: Sequence[Quad], pose: Pose) -> dict[int, Array]:
    """The matrix of each rectangle by its number, without those whose back alone is seen."""
    planes = {}
    for number, quad in enumerate(quads):
        if quad.normal @ (pose.center - quad.corner) > 1e-9:
            corner = pose.rotation @ quad.corner + pose.translation
            edges = (pose.rotation @ quad.right, pose.rotation @ quad.down, corner)
            planes[number] = np.linalg.inv(np.stack(edges, axis=1))
    return planes


def _in_front(
    u: NDArray[Any], v: NDArray[Any], w: NDArray[Any], nearest: NDArray[Any]
) -> NDArray[np.bool_]:
    """Which rays hit a rectangle, nearer than anything before; from u·w, v·w and w."""
    return np.asarray((w > nearest) & (u >= 0) & (u <= w) & (v >= 0) & (v <= w))


def cast(
    quads: Sequence[Quad], camera: Camera, pose: Pose, keypoints: Array
) -> tuple[NDArray[np.intp], Array, Array]:
    """What (N, 2) keypoints show: rectangle (−1 for none), its (N, 2) u, v, inverse depth."""
    check_shape("keypoints", np.asarray(keypoints), (None, 2))
    pinhole(camera)
    count = len(keypoints)
    rays = np.column_stack([lens.unproject(camera, keypoints), np.ones(count)])
    hit, texture_uv, nearest = np.full(count, -1), np.full((count, 2), np.nan), np.zeros(count)
    for number, plane in planes_in_camera(quads, pose).items():
        u, v, w = (rays @ plane.T).T
        rows = np.flatnonzero(_in_front(u, v, w, nearest))
        hit[rows], nearest[rows] = number, w[rows]
        texture_uv[rows] = np.stack([u[rows], v[rows]], axis=1) / w[rows, None]
    return hit, texture_uv, nearest


def render(
    quads: Sequence[Quad],
    textures: Sequence[Texture],
    camera: Camera,
    pose: Pose,
    layers: Sequence[Layer] = (),
) -> tuple[Image, Image]:
    """The (H, W, 3) linear picture, and (H, W) how much of a pixel solid layers cover."""
    grid = _Grid(camera)
    owner = np.full(grid.shape, -1, dtype=np.int32)
    nearest = np.zeros(grid.shape, dtype=np.float32)
    shown = grid.shown(quads, pose)
    for number, (plane, box) in shown.items():
        u, v, w = grid.coordinates(plane, box)
        seen = _in_front(u, v, w, nearest[box])
        np.copyto(nearest[box], w, where=seen)
        np.copyto(owner[box], number, where=seen)
    colours = np.zeros((*grid.shape, 3), dtype=np.float32)
    for number, (plane, box) in shown.items():
        rows, columns = np.nonzero(owner[box] == number)
        rows, columns = rows + box[0].start, columns + box[1].start
        colours[rows, columns] = grid.paint(plane, textures[number], rows, columns)
    covered = np.zeros(grid.shape, dtype=np.float32)
    for number, (plane, box) in grid.shown([layer.quad for layer in layers], pose).items():
        layer = layers[number]
        u, v, w = grid.coordinates(plane, box)
        rows, columns = np.nonzero(_in_front(u, v, w, nearest[box]))
        rows, columns = rows + box[0].start, columns + box[1].start
        laid = grid.paint(plane, layer.texture, rows, columns)
        alpha = laid[:, 3:]
        # Colours are stored multiplied by alpha, so that filtering draws no dark seams.
        colours[rows, columns] = laid[:, :3] + (1 - alpha) * colours[rows, columns]
        if layer.solid:
            covered[rows, columns] = np.maximum(covered[rows, columns], alpha[:, 0])
    return _mean_of_samples(colours), _mean_of_samples(covered)


def _mean_of_samples(values: Image) -> Image:
    parts = itertools.product(range(SAMPLES), repeat=2)
    total = sum(values[i::SAMPLES, j::SAMPLES] for i, j in parts)
    return np.asarray(total / np.float32(SAMPLES**2), dtype=np.float32)


class _Grid:
    """The rays of one camera, SAMPLES × SAMPLES to a pixel."""

    def __init__(self, camera: Camera) -> None:
        fx, fy, cx, cy = pinhole(camera)
        self.camera = camera
        self.shape = (camera.height * SAMPLES, camera.width * SAMPLES)
        self.x = ((np.arange(self.shape[1]) + 0.5) / SAMPLES - cx) / fx
        self.y = ((np.arange(self.shape[0]) + 0.5) / SAMPLES - cy) / fy
        self.pitch = 1 / (SAMPLES * fx), 1 / (SAMPLES * fy)

    def shown(self, quads: Sequence[Quad], pose: Pose) -> dict[int, tuple[Array, Box]]:
        """The rectangles that can be seen, by number: their matrix, and where in the picture."""
        planes = planes_in_camera(quads, pose)
        boxes = {number: self.box(quads[number], pose) for number in planes}
        return {number: (planes[number], box) for number, box in boxes.items() if box is not None}

    def box(self, quad: Quad, pose: Pose) -> Box | None:
        """Rows and columns that can show the rectangle; all of them if it passes the lens."""
        corners = quad.at(np.array([0.0, 1, 1, 0]), np.array([0.0, 0, 1, 1]))
        depth = pose.apply(corners)[:, 2]
        if (depth < _NEAR).all():
            return None
        if (depth < _NEAR).any():
            return slice(0, self.shape[0]), slice(0, self.shape[1])
        pixels = lens.from_corner(project(corners, self.camera, pose)) * SAMPLES
        limit = np.array(self.shape[::-1])
        left, top = np.clip(np.floor(pixels.min(axis=0)), 0, limit).astype(int)
        right, bottom = np.clip(np.ceil(pixels.max(axis=0)), 0, limit).astype(int)
        if left >= right or top >= bottom:
            return None
        return slice(top, bottom), slice(left, right)

    def coordinates(self, plane: Array, box: Box) -> tuple[Image, Image, Image]:
        """u·w, v·w and w for the samples of a box."""
        x = self.x[None, box[1]]
        y = self.y[box[0], None]
        u, v, w = ((a * x).astype(np.float32) + (b * y + c).astype(np.float32) for a, b, c in plane)
        return u, v, w

    def paint(
        self,
        plane: NDArray[np.floating[Any]],
        texture: Texture,
        rows: NDArray[np.intp],
        columns: NDArray[np.intp],
    ) -> Image:
        """Colours of samples on one rectangle, from the level whose texels have their size."""
        x, y = self.x[columns].astype(np.float32), self.y[rows].astype(np.float32)
        plane = plane.astype(np.float32)
        w = plane[2, 0] * x + plane[2, 1] * y + plane[2, 2]
        height, width = texture.levels[0].shape[:2]
        uv, steps = [], []
        for line, side in ((plane[0], width), (plane[1], height)):
            coordinate = (line[0] * x + line[1] * y + line[2]) / w
            uv.append(coordinate)
            # d(u)/dx = ((u·w)' − u·w') / w: how far in the texture one sample reaches.
            for axis, pitch in enumerate(self.pitch):
                steps.append(
                    (line[axis] - coordinate * plane[2, axis]) / w * np.float32(pitch * side)
                )
        reach = (np.hypot(steps[0], steps[2]) + np.hypot(steps[1], steps[3])) / 2
        # Neighbouring samples round the level differently: their mean blends two levels.
        offset = ((rows % SAMPLES) * SAMPLES + columns % SAMPLES + 0.5) / SAMPLES**2
        level = np.floor(np.log2(np.maximum(reach, 1e-6)) + offset)
        level = np.clip(level, 0, len(texture.levels) - 1).astype(np.int8)
        return texture.sample(uv[0], uv[1], level)
