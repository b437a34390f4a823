"""Points and cameras as PLY files, for any viewer of point clouds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.core.types import Pose

Colour = tuple[int, int, int]
GRAY, RED, BLUE = (110, 110, 110), (200, 60, 40), (40, 90, 200)
_VERTEX = np.dtype([("xyz", "<f8", 3), ("rgb", "u1", 3)])
_EDGE = np.dtype([("ends", "<i4", 2)])
#: A pyramid: the centre and the corners of the picture one unit before it, and its eight edges.
_CORNERS = np.array([[0, 0, 0], [-0.6, -0.45, 1], [0.6, -0.45, 1], [0.6, 0.45, 1], [-0.6, 0.45, 1]])
_EDGES = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [2, 3], [3, 4], [4, 1]])


def points_ply(points: NDArray[np.float64], colour: Colour = GRAY) -> bytes:
    """Points (P, 3) as vertices of one colour, in double precision."""
    return _ply(np.asarray(points, dtype=np.float64), np.tile(colour, (len(points), 1)))


def cameras_ply(groups: Sequence[tuple[Sequence[Pose], Colour]], size: float) -> bytes:
    """A small pyramid for each camera, `size` long, the groups in their colours."""
    places, colours, edges = [np.empty((0, 3))], [np.empty((0, 3))], [np.empty((0, 2))]
    count = 0
    for poses, colour in groups:
        for pose in poses:
            places.append(size * _CORNERS @ pose.rotation + pose.center)
            colours.append(np.tile(colour, (len(_CORNERS), 1)))
            edges.append(_EDGES + count)
            count += len(_CORNERS)
    return _ply(np.concatenate(places), np.concatenate(colours), np.concatenate(edges))


def typical_size(points: NDArray[np.float64], centers: NDArray[np.float64]) -> float:
    """How long a pyramid should be: a fiftieth of the middle half of the scene."""
    every = np.concatenate([points, centers])
    low, high = np.quantile(every, [0.25, 0.75], axis=0) if len(every) else (0.0, 0.0)
    return float(np.max(high - low)) / 25 or 1.0


def _ply(
    places: NDArray[np.float64],
    colours: NDArray[np.float64],
    edges: NDArray[np.float64] | None = None,
) -> bytes:
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(places)}"]
    head += [f"property double {axis}" for axis in "xyz"]
    head += [f"property uchar {name}" for name in ("red", "green", "blue")]
    vertices = np.empty(len(places), dtype=_VERTEX)
    vertices["xyz"], vertices["rgb"] = places, colours
    body = vertices.tobytes()
    if edges is not None:
        head += [f"element edge {len(edges)}", "property int vertex1", "property int vertex2"]
        lines = np.empty(len(edges), dtype=_EDGE)
        lines["ends"] = edges
        body += lines.tobytes()
    return ("\n".join([*head, "end_header"]) + "\n").encode() + body
