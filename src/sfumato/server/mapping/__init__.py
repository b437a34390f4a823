"""Maps: from images, from releases, from a COLMAP model, and how they are stored."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.server.mapping.map import Map

if TYPE_CHECKING:
    from sfumato.server.mapping.assemble import describe_map, reprojection_errors
    from sfumato.server.mapping.build import build_map, build_map_from_features
    from sfumato.server.mapping.cameras import read_cameras_json
    from sfumato.server.mapping.import_model import import_map
    from sfumato.server.mapping.releases import build_map_from_releases, read_releases
    from sfumato.server.mapping.scenes import (
        build_map_from_scenes,
        join_maps,
        moved,
        read_scene,
    )
    from sfumato.server.mapping.triangulate import TriangulationOptions

__all__ = [
    "Map",
    "TriangulationOptions",
    "build_map",
    "build_map_from_features",
    "build_map_from_releases",
    "build_map_from_scenes",
    "describe_map",
    "import_map",
    "join_maps",
    "moved",
    "read_cameras_json",
    "read_releases",
    "read_scene",
    "reprojection_errors",
]

_HOMES = {
    "assemble": ("describe_map", "reprojection_errors"),
    "build": ("build_map", "build_map_from_features"),
    "cameras": ("read_cameras_json",),
    "import_model": ("import_map",),
    "releases": ("build_map_from_releases", "read_releases"),
    "scenes": ("build_map_from_scenes", "join_maps", "moved", "read_scene"),
    "triangulate": ("TriangulationOptions",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Who only localizes in a map does not pay for building one.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
