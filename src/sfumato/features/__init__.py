"""Pictures in, features out: extractors, folders, and hloc's files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.features.extractors import EXTRACTORS, ExtractorSpec, extract
    from sfumato.features.folder import (
        FolderReport,
        extract_folder,
        iter_folder_features,
        list_images,
    )
    from sfumato.features.h5 import list_feature_names, read_features
    from sfumato.features.image import check_image, load_image
    from sfumato.features.writer import FeatureWriter

__all__ = [
    "EXTRACTORS",
    "ExtractorSpec",
    "FeatureWriter",
    "FolderReport",
    "check_image",
    "extract",
    "extract_folder",
    "iter_folder_features",
    "list_feature_names",
    "list_images",
    "load_image",
    "read_features",
]

_HOMES = {
    "extractors": ("EXTRACTORS", "ExtractorSpec", "extract"),
    "folder": ("FolderReport", "extract_folder", "iter_folder_features", "list_images"),
    "h5": ("list_feature_names", "read_features"),
    "image": ("check_image", "load_image"),
    "writer": ("FeatureWriter",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Each name loads its own module: who only extracts does not pay for HDF5.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
