"""The visitor who stands in some queries and is not in the map: the private content.

A flat figure, 1.70 m tall, cut out by hand of scikit-image's photograph of the astronaut
Eileen Collins (NASA, public domain); hips, legs and boots are drawn below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato.datasets.gallery_light import irradiance
from sfumato.datasets.gallery_paint import generator_for, photograph, to_linear
from sfumato.datasets.gallery_room import UP, turned
from sfumato.datasets.rendering import Array, Image, Layer, Quad, Texture

_WIDTH, _HEIGHT = 512, 1205  # pixels of the figure; the photograph is its upper 512 rows
_TALL = 1.70  # metres
_METRES = _TALL / _HEIGHT
_SPINE = 205  # the column above the feet

# Outlines in pixels of the photograph, clockwise from the crown.
_UPPER = """
    228,16 255,21 274,31 288,48 297,70 299,90 294,110 284,123 275,131 265,137 261,150 257,164
    256,173 270,181 285,196 296,213 303,232 318,243 331,253 341,267 347,286 353,306 358,326
    362,346 376,345 396,344 420,348 444,359 464,374 479,393 489,413 495,440 499,457 506,471
    509,490 508,513 498,534 472,551 436,559 400,559 360,552 330,540 70,545 50,532 32,513 27,480
    27,450 26,425 24,400 24,375 26,350 30,326 38,303 47,283 58,263 70,246 87,233 107,219 119,208
    116,203 116,191 124,186 132,169 147,156 166,149 184,149 184,133 176,122 165,110 158,95 155,75
    160,59 174,46 192,36 206,23
"""
_LOWER = """
    66,500 330,500 327,600 324,700 317,850 310,1000 306,1130 330,1168 332,1198 226,1198 222,1120
    216,960 208,800 196,690 188,800 182,960 176,1120 172,1198 66,1198 68,1168 92,1130 86,1000
    78,850 68,700 64,600
"""


@dataclass(frozen=True)
class Stand:
    """Where the visitor stands, and the direction she looks in, in degrees from x."""

    x: float
    y: float
    heading: float


def body(stand: Stand) -> Quad:
    """The upright rectangle that holds the figure."""
    right = turned(stand.heading)[1]  # who faces her sees her left hand on the right
    corner = np.array([stand.x, stand.y, _TALL]) - _SPINE * _METRES * right
    return Quad(corner, _WIDTH * _METRES * right, -_TALL * UP, "person")


def figure_layers(stand: Stand) -> tuple[Layer, Layer]:
    """Her shadow on the floor, then herself, in the light of that place."""
    import cv2

    quad = body(stand)
    heights = np.linspace(_TALL, 0.05, 12)
    points = np.stack([np.full(12, stand.x), np.full(12, stand.y), heights], axis=1)
    light = irradiance(points, np.broadcast_to(quad.normal + 0.35 * UP, points.shape))
    shade = cv2.resize(light.astype(np.float32)[:, None], (1, _HEIGHT))
    figure = _figure().copy()
    figure[:, :, :3] *= shade.reshape(-1, 1, 3)
    return Layer(*_shadow(stand), solid=False), Layer(quad, Texture.of(figure), solid=True)


def coverage(u: Array, v: Array) -> NDArray[np.float32]:
    """How much of the figure is at (N,) texture coordinates of its rectangle, 0…1."""
    columns = np.clip((u * _WIDTH).astype(int), 0, _WIDTH - 1)
    rows = np.clip((v * _HEIGHT).astype(int), 0, _HEIGHT - 1)
    return np.asarray(_alpha()[rows, columns])


def _polygon(text: str) -> NDArray[np.int32]:
    return np.array([point.split(",") for point in text.split()], dtype=np.int32)


@cache
def _alpha() -> NDArray[np.float32]:
    import cv2

    mask = np.zeros((_HEIGHT, _WIDTH), dtype=np.uint8)
    for outline in (_UPPER, _LOWER):
        cv2.fillPoly(mask, [_polygon(outline)], 255)
    soft = cv2.GaussianBlur(mask.astype(np.float32) / np.float32(255), (0, 0), 2.0)
    # The blur spreads both ways; keep its inner half, so that no background comes along.
    return np.asarray(np.clip(2 * soft - np.float32(0.9), 0, 1), dtype=np.float32)


@cache
def _figure() -> Image:
    """(h, w, 4) linear colours, multiplied by alpha."""
    import cv2

    photo = photograph("astronaut")
    pixels = np.concatenate([photo, photo[::-1], photo])[:_HEIGHT]
    legs = np.zeros((_HEIGHT, _WIDTH), dtype=np.uint8)
    cv2.fillPoly(legs, [_polygon(_LOWER)], 1)
    legs[:512] = 0
    rows, columns = np.nonzero(legs)
    # Each leg is a cylinder of cloth: bright in the middle, folds across.
    across = (columns - 64) % 133 / 133
    coarse = generator_for("folds").standard_normal((_HEIGHT // 30 + 2, 36), dtype=np.float32)
    folds = cv2.resize(coarse, (_WIDTH, _HEIGHT), interpolation=cv2.INTER_CUBIC)
    shade = (0.45 + 0.5 * np.sin(np.pi * across)) * (1 + 0.05 * folds[rows, columns])
    cloth = photo[395:445, 60:130].mean(axis=(0, 1))
    pixels[rows, columns] = cloth * shade[:, None]
    pixels[1110:][legs[1110:] > 0] *= 0.12  # boots
    pixels[512:538][legs[512:538] > 0] *= 0.22  # belt
    alpha = _alpha()[:, :, None]
    return np.concatenate([to_linear(np.clip(pixels, 0, 1)) * alpha, alpha], axis=2)


def _shadow(stand: Stand) -> tuple[Quad, Texture]:
    forward, left = turned(stand.heading)
    wide, deep = 1.0, 0.7
    corner = np.array([stand.x, stand.y, 0.004]) - wide / 2 * left - deep / 2 * forward
    # Seen from above, `down` is towards the viewer she faces.
    quad = Quad(corner, wide * left, deep * forward, "shadow")
    y, x = np.mgrid[-1:1:48j, -1:1:64j]
    alpha = 0.6 * np.exp(-4.5 * (x**2 + y**2)) * np.clip(3 * (1 - x**2) * (1 - y**2), 0, 1)
    black = np.zeros((*alpha.shape, 3))
    return quad, Texture.of(np.concatenate([black, alpha[:, :, None]], axis=2).astype(np.float32))
