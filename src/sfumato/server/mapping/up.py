"""Which way is up in a map, where whoever made it knows: a fact of the map, or of its scenes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.errors import InvalidInput
from sfumato.core.gravity import Direction, unit_direction

if TYPE_CHECKING:
    from sfumato.server.mapping.map import Map

FACT = "up"
_SAME = 0.01  # of unit vectors: half a degree


def with_up(world: Map, up: Iterable[Any]) -> Map:
    """The same map, which now knows which way is up in its world.

    >>> from sfumato.datasets import GallerySettings, load_gallery, map_scene
    >>> from sfumato.server.mapping.up import with_up
    >>> room = load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=2))
    >>> with_up(map_scene(room), (0, -2, 0)).up
    (0.0, -1.0, 0.0)
    """
    return replace(world, facts={**world.facts, FACT: list(unit_direction("up", up))})


def up_of(facts: Mapping[str, Any]) -> Direction | None:
    """Up by a map's facts; None where it is not known, or scenes of one map do not agree."""
    if FACT in facts:
        if not isinstance(facts[FACT], list | tuple):
            raise InvalidInput("up of a map must be three numbers x, y, z; set it again.")
        return unit_direction("up of a map", facts[FACT])
    every = [up_of(scene) for scene in facts.get("scenes", ())]
    known = [one for one in every if one is not None]
    if not known or len(known) < len(every):
        return None
    return known[0] if np.abs(np.subtract(known, known[0])).max() < _SAME else None
