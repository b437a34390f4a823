"""Arrays that follow from a map, stored beside it so that processes share them in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sfumato.core.errors import SfumatoError
from sfumato.core.storage import load_array, load_manifest, save_arrays

KIND = "derived arrays of a map"
FOLDER = "derived"
NAMES = ("image_of_feature", "observations_per_image", "point_starts", "point_rows")


def save_derived(map_folder: Path, map_checksum: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store them, or raise OSError."""
    manifest = {"kind": KIND, "map": map_checksum}
    save_arrays(map_folder / FOLDER, arrays, manifest, replace=True, make_parents=False)


def load_derived(map_folder: Path, map_checksum: str, *, verify: bool) -> dict[str, NDArray[Any]]:
    """The stored arrays, or none: absent, damaged and foreign ones are computed anew."""
    folder = map_folder / FOLDER
    try:
        manifest = load_manifest(folder, kind=KIND)
        if manifest.get("map") != map_checksum:
            return {}
        return {name: load_array(folder, name, manifest, verify=verify) for name in NAMES}
    except (SfumatoError, OSError):
        return {}
