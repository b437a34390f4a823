"""The map of a scene whose poses are known: the map-maker's part."""

from __future__ import annotations

import math
from itertools import combinations

from sfumato.core.progress import Progress, silent
from sfumato.datasets.gallery import Scene
from sfumato.server.mapping.build import build_map
from sfumato.server.mapping.map import Map

#: Between two mapping views that are still compared.
MAX_TURN_DEG = 60.0


def map_scene(
    scene: Scene, *, max_turn_deg: float = MAX_TURN_DEG, progress: Progress = silent
) -> Map:
    """Points from the mapping views; the queries of the scene stay out of it."""
    limit = math.cos(math.radians(max_turn_deg))
    facing = [
        (a.name, b.name)
        for a, b in combinations(scene.mapping, 2)
        if float(a.pose.rotation[2] @ b.pose.rotation[2]) > limit
    ]
    return build_map(
        [(view.name, view.image) for view in scene.mapping],
        cameras={view.name: view.camera for view in scene.mapping},
        poses={view.name: view.pose for view in scene.mapping},
        pairs=facing,
        progress=progress,
    )
