"""The room of the gallery as rectangles: walls, pictures, a partition, things on the floor.

Metres; x and y along the floor, z up, the room spans 6 × 5 × 2.8. Geometry alone: what is
painted on a rectangle is named by its skin, "kind:argument:…", and made by gallery_paint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sfumato.datasets.rendering import Array, Quad

WIDTH, DEPTH, HEIGHT = 6.0, 5.0, 2.8
UP = np.array([0.0, 0.0, 1.0])

#: The ceiling lamps: x, y of the centre. They are panels of LAMP_SIZE and light the room.
LAMPS = ((1.7, 1.5), (4.3, 1.5), (1.7, 3.5), (4.3, 3.5))
LAMP_SIZE = (0.9, 0.3)

#: Origin (top left seen from inside) and direction to the right of each wall.
_WALLS = {
    "north": ((0.0, DEPTH), (1.0, 0.0), WIDTH),
    "east": ((WIDTH, DEPTH), (0.0, -1.0), DEPTH),
    "south": ((WIDTH, 0.0), (-1.0, 0.0), WIDTH),
    "west": ((0.0, 0.0), (0.0, 1.0), DEPTH),
}


@dataclass(frozen=True)
class Picture:
    """A framed photograph: `along` and `height` place its centre, sizes are of the frame."""

    source: str
    wall: str
    along: float
    height: float
    size: tuple[float, float]
    frame: str = "black"
    lean: float = 0.0  # degrees; a leaning picture stands on the floor, `height` is unused


#: Every photograph hangs once: a picture that occurs twice would have two true places.
PICTURES = (
    Picture("motorcycle", "north", 1.05, 1.55, (1.45, 1.02), "black"),
    Picture("china", "north", 2.85, 1.60, (1.55, 1.08), "gold"),
    Picture("cell", "north", 4.10, 1.85, (0.56, 0.64), "white"),
    Picture("text", "north", 4.10, 1.15, (0.78, 0.40), "oak"),
    Picture("retina", "north", 5.15, 1.62, (1.00, 1.00), "black"),
    Picture("rocket", "east", 1.25, 1.60, (1.55, 1.08), "black"),
    Picture("coins", "east", 2.75, 1.55, (1.05, 0.86), "oak"),
    Picture("page", "east", 3.95, 1.75, (0.90, 0.52), "black"),
    Picture("moon", "east", 3.80, 0.0, (0.80, 0.80), "white", lean=14.0),
    Picture("hubble", "south", 1.15, 1.60, (1.45, 1.28), "white"),
    Picture("camera", "south", 2.90, 1.60, (1.15, 1.15), "black"),
    Picture("horse", "south", 4.12, 1.98, (0.56, 0.50), "oak"),
    Picture("phantom", "south", 4.15, 0.0, (0.72, 0.86), "gold", lean=11.0),
    Picture("logo", "south", 5.25, 1.60, (0.86, 0.86), "white"),
    Picture("flower", "west", 1.05, 1.60, (1.35, 0.95), "gold"),
    Picture("immunohistochemistry", "west", 2.55, 1.60, (1.05, 1.05), "white"),
    Picture("colorwheel", "west", 3.62, 2.06, (0.42, 0.42), "black"),
    Picture("abstract", "west", 3.90, 0.0, (1.00, 0.74), "oak", lean=13.0),
    Picture("study 1", "north", 1.05, 0.72, (0.56, 0.44), "oak"),
    Picture("study 2", "north", 2.45, 0.72, (0.44, 0.56), "white"),
    Picture("study 12", "north", 5.30, 0.72, (0.70, 0.52), "gold"),
    Picture("study 3", "east", 0.60, 0.74, (0.56, 0.44), "oak"),
    Picture("study 4", "east", 2.60, 0.76, (0.44, 0.44), "black"),
    Picture("study 5", "south", 2.20, 0.70, (0.56, 0.44), "gold"),
    Picture("study 11", "south", 4.12, 1.40, (0.66, 0.50), "white"),
    Picture("study 6", "south", 5.15, 0.76, (0.66, 0.54), "black"),
    Picture("study 7", "west", 0.60, 0.74, (0.60, 0.50), "white"),
    Picture("study 8", "west", 2.35, 0.74, (0.60, 0.44), "gold"),
    Picture("study 10", "west", 3.62, 1.42, (0.60, 0.60), "oak"),
    Picture("study 9", "west", 4.45, 1.72, (0.62, 0.82), "white"),
)

#: Rugs: x, y of the centre, width, depth, degrees.
RUGS = ((1.55, 2.55, 1.0, 1.7, 6.0), (4.55, 2.45, 1.1, 1.8, -9.0))

#: Things on the floor: x, y of the centre, bottom, width, depth, height, degrees, skin.
BLOCKS = (
    (3.05, 2.45, 0.0, 1.70, 0.14, 2.05, 24.0, "plain"),
    (5.25, 0.75, 0.0, 0.50, 0.50, HEIGHT, 0.0, "brick"),
    (0.85, 4.25, 0.0, 0.46, 0.46, 0.95, 18.0, "gravel"),
    (0.85, 4.25, 0.95, 0.34, 0.34, 0.34, 50.0, "tiles"),
    (5.10, 4.15, 0.0, 0.80, 0.60, 0.52, -24.0, "planks"),
    (5.05, 4.20, 0.52, 0.36, 0.36, 0.42, 12.0, "mosaic"),
    (0.95, 0.95, 0.0, 0.95, 0.50, 0.45, 38.0, "grass"),
)


def is_free(x: float, y: float, margin: float) -> bool:
    """Whether someone can stand there, with so many metres to walls and things."""
    if not (margin <= x <= WIDTH - margin and margin <= y <= DEPTH - margin):
        return False
    for center_x, center_y, _, width, depth, _, degrees, _ in BLOCKS:
        cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        dx, dy = x - center_x, y - center_y
        across = max(abs(cosine * dx + sine * dy) - width / 2, 0)
        along = max(abs(-sine * dx + cosine * dy) - depth / 2, 0)
        if math.hypot(across, along) < margin:
            return False
    return True


@cache
def room() -> tuple[Quad, ...]:
    """Every rectangle of the gallery, in a fixed order: the six of the shell come first."""
    quads = _shell()
    for picture in PICTURES:
        quads += _picture(picture)
    for x, y, bottom, width, depth, height, degrees, skin in BLOCKS:
        quads += _block((x, y, bottom), (width, depth, height), degrees, skin)
    quads += _partition_pictures()
    return tuple(quads)


def _shell() -> list[Quad]:
    down = -HEIGHT * UP
    quads = [
        Quad(np.array([*origin, HEIGHT]), length * np.array([*right, 0.0]), down, f"wall:{name}")
        for name, (origin, right, length) in _WALLS.items()
    ]
    x, y = np.array([WIDTH, 0, 0]), np.array([0, DEPTH, 0])
    quads.append(Quad(y.copy(), x, -y, "floor"))
    quads.append(Quad(HEIGHT * UP, x, y, "ceiling"))
    for name, (origin, right, length) in _WALLS.items():
        along = np.array([*right, 0.0])
        out = np.cross(along, UP) * 0.015
        top = np.array([*origin, 0.09])
        quads.append(Quad(top + out, length * along, -0.09 * UP, f"skirting:{name}"))
        quads.append(Quad(top, length * along, out, f"skirting:{name}"))
    for center_x, center_y in LAMPS:
        width, depth = LAMP_SIZE
        corner = np.array([center_x - width / 2, center_y - depth / 2, HEIGHT - 0.03])
        quads.append(Quad(corner, np.array([width, 0, 0]), np.array([0, depth, 0]), "lamp"))
    for number, (center_x, center_y, width, depth, degrees) in enumerate(RUGS):
        x, y = turned(degrees)
        corner = np.array([center_x, center_y, 0.008]) - x * width / 2 + y * depth / 2
        quads.append(Quad(corner, width * x, -depth * y, f"rug:{number}"))
    return quads


def _picture(picture: Picture) -> list[Quad]:
    origin, direction, _ = _WALLS[picture.wall]
    right = np.array([*direction, 0.0])
    inward = np.cross(right, UP)  # from the wall into the room
    width, height = picture.size
    if picture.lean:
        angle = math.radians(picture.lean)
        down = math.cos(angle) * -UP + math.sin(angle) * inward
        top_left = np.array([*origin, height * math.cos(angle)]) + 0.05 * inward
    else:
        down = -UP
        top_left = np.array([*origin, picture.height + height / 2]) + 0.035 * inward
    top_left = top_left + (picture.along - width / 2) * right
    quads = _slab(top_left, width * right, height * down, 0.034, picture.source, picture.frame)
    if not picture.lean:
        corner = np.array([*origin, picture.height - height / 2 + 0.14]) + 0.004 * inward
        corner = corner + (picture.along + width / 2 + 0.06) * right
        quads.append(Quad(corner, 0.13 * right, -0.085 * UP, f"label:{picture.source}"))
    return quads


def _slab(
    corner: Array, right: Array, down: Array, thickness: float, source: str, frame: str
) -> list[Quad]:
    """The front of a picture and the four narrow sides of its frame."""
    front = Quad(corner, right, down, f"picture:{source}:{frame}")
    back = -thickness * front.normal
    skin = f"frame:{frame}"
    return [
        front,
        Quad(corner + back, right, -back, skin),
        Quad(corner + down, right, back, skin),
        Quad(corner + back, -back, down, skin),
        Quad(corner + right, back, down, skin),
    ]


def _block(
    base: tuple[float, float, float],
    size: tuple[float, float, float],
    degrees: float,
    skin: str,
) -> list[Quad]:
    """An upright box: four sides and the top."""
    x, y = turned(degrees)
    width, depth, height = size
    center = np.array(base)
    quads = []
    for number, (right, out, wide, far) in enumerate(
        ((x, -y, width, depth), (y, x, depth, width), (-x, y, width, depth), (-y, -x, depth, width))
    ):
        corner = center + out * far / 2 - right * wide / 2 + height * UP
        quads.append(Quad(corner, wide * right, -height * UP, f"block:{skin}:{number}"))
    corner = center + height * UP - x * width / 2 + y * depth / 2
    quads.append(Quad(corner, width * x, -depth * y, f"block:{skin}:4"))
    return quads


def _partition_pictures() -> list[Quad]:
    """The two photographs on the free-standing wall in the middle, one on each side."""
    x, y, _, _, depth, _, degrees, _ = BLOCKS[0]
    along, across = turned(degrees)
    quads = []
    for source, frame, side, width, height in (
        ("coffee", "oak", -1.0, 1.30, 0.92),
        ("chelsea", "black", 1.0, 1.30, 0.92),
    ):
        right, out = -side * along, side * across
        corner = np.array([x, y, 1.48 + height / 2]) + out * (depth / 2 + 0.03) - right * width / 2
        quads += _slab(corner, width * right, -height * UP, 0.029, source, frame)
    return quads


def turned(degrees: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The axes x and y, turned about z."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([cosine, sine, 0.0]), np.array([-sine, cosine, 0.0])
