"""Light for the gallery: lamps with falloff and shadows, and the sensor that receives it.

Irradiance at a point with normal n, from samples s of the lamps with normal −z:

    E = ambient(p, n) + Σ_s power · max(n·l, 0) · max(l_z, 0) / r²,   l = (s − p) / r

where a sample counts if nothing stands between. Surfaces are Lambertian, so the light does
not depend on the camera and every texture is multiplied once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.datasets.gallery_paint import paint
from sfumato.datasets.gallery_room import DEPTH, HEIGHT, LAMP_SIZE, LAMPS, WIDTH, room
from sfumato.datasets.rendering import Array, Image, Quad, Texture

_CELL = 0.07  # metres between the points where light is computed
_POWER = np.array([1.0, 0.95, 0.86]) * 1.12  # warm white, per sample of a lamp
_AMBIENT = np.array([0.96, 0.98, 1.0]) * 0.52
_NUM_SHELL = 6  # walls, floor and ceiling see each other: they cast no shadow


def lit_textures() -> list[Texture]:
    """A texture for each rectangle of the room, with its light."""
    import cv2

    quads = room()
    points, normals, shapes = [], [], []
    for quad in quads:
        columns, rows = (max(2, round(side / _CELL)) for side in quad.size)
        v, u = np.meshgrid((np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns)
        points.append(quad.at(u.T.ravel(), v.T.ravel()))
        normals.append(np.broadcast_to(quad.normal, points[-1].shape))
        shapes.append((rows, columns, 3))
    light = irradiance(np.concatenate(points), np.concatenate(normals))
    textures, start = [], 0
    for quad, shape in zip(quads, shapes, strict=True):
        stop = start + shape[0] * shape[1]
        albedo = paint(quad)
        if quad.skin == "lamp":
            albedo = albedo * np.float32(4)  # brighter than the sensor can hold
        else:
            size = (albedo.shape[1], albedo.shape[0])
            shade = light[start:stop].reshape(shape).astype(np.float32)
            albedo = albedo * cv2.resize(shade, size, interpolation=cv2.INTER_LINEAR)
        textures.append(Texture.of(albedo))
        start = stop
    return textures


def irradiance(points: Array, normals: NDArray[np.float64]) -> Array:
    """(N, 3) light arriving at (N, 3) points."""
    # The floor throws light back at the ceiling, which no lamp reaches.
    bounced = 1 + 0.6 * (-normals[:, 2]).clip(0)
    total = _AMBIENT * (_openness(points) * bounced)[:, None]
    blockers = [quad for quad in room()[_NUM_SHELL:] if quad.skin != "lamp"]
    for lamp in _lamp_samples():
        towards = lamp - points
        square = (towards**2).sum(axis=1)
        facing = (towards * normals).sum(axis=1).clip(0) * towards[:, 2].clip(0) / square**2
        rows = np.flatnonzero(facing > 1e-4)
        lit = _unblocked(lamp, points[rows], blockers)
        total[rows] += _POWER * (facing[rows] * lit)[:, None]
    return np.asarray(total)


def _lamp_samples() -> list[Array]:
    """Two points on each lamp: enough for shadows with soft edges."""
    shift = LAMP_SIZE[0] / 4
    return [np.array([x + dx, y, HEIGHT - 0.035]) for x, y in LAMPS for dx in (-shift, shift)]


def _unblocked(lamp: Array, points: Array, blockers: Sequence[Quad]) -> NDArray[np.bool_]:
    """Which points the lamp sees: a rectangle hides what lies behind it."""
    rays = (points - lamp).astype(np.float32)
    free = np.ones(len(points), dtype=np.bool_)
    for quad in blockers:
        if quad.normal @ (lamp - quad.corner) <= 1e-6:
            continue  # seen from behind; its box has another side in front
        plane = np.linalg.inv(np.stack([quad.right, quad.down, quad.corner - lamp], axis=1))
        u, v, w = plane.astype(np.float32) @ rays.T
        # w is 1 on the rectangle itself and more than 1 behind it.
        free &= ~((w > 1.002) & (u >= 0) & (u <= w) & (v >= 0) & (v <= w))
    return free


def _openness(points: Array) -> Image:
    """How much of the room's ambient light reaches a point: less in corners."""
    x, y, z = points.T
    openness = np.ones(len(points))
    for distance in (x, WIDTH - x, y, DEPTH - y, z, HEIGHT - z):
        # A surface is at distance 0 from itself; that one is the same everywhere.
        openness *= 1 - 0.38 * np.exp(-distance.clip(0) / 0.35)
    return np.asarray(openness / 0.62)


def expose(linear: Image, generator: np.random.Generator) -> NDArray[np.uint8]:
    """What the sensor makes of the light: exposure, lens, noise, sRGB, 8 bits."""
    import cv2

    gain = 2 ** generator.uniform(-0.2, 0.2) * (1 + generator.uniform(-0.03, 0.03, 3))
    height, width = linear.shape[:2]
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    vignette = 1 - 0.09 * (x**2 + y**2)
    light = (linear * (gain * vignette[:, :, None])).astype(np.float32)
    light = cv2.GaussianBlur(np.minimum(light, 1.5), (0, 0), generator.uniform(0.35, 0.55))
    # Photons arrive by chance, so the variance grows with the light; a little is always there.
    spread = np.sqrt(np.float32(1e-6) + np.float32(1.5e-4) * light)
    light = np.clip(light + spread * generator.standard_normal(light.shape, dtype=np.float32), 0, 1)
    curve = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.asarray(np.rint(255 * curve), dtype=np.uint8)
