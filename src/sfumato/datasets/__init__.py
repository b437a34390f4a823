"""Pictures with known truth: the built-in gallery, and readers of public datasets."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.datasets.gallery import GallerySettings, Scene, View, load_gallery, point_at
    from sfumato.datasets.gallery_map import map_scene

__all__ = ["GallerySettings", "Scene", "View", "load_gallery", "map_scene", "point_at"]

_HOMES = {
    "gallery": ("GallerySettings", "Scene", "View", "load_gallery", "point_at"),
    "gallery_map": ("map_scene",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
