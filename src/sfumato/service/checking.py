"""From an unpacked upload to a map that can be served: checked, filed, described."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.checks import check_finite
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.storage import load_manifest
from sfumato.server.mapping.cameras import usual_camera
from sfumato.server.mapping.filing import file_under, store_derived
from sfumato.server.mapping.map import ARRAY_NAMES, Map
from sfumato.server.shards.stored import Head, load_head, shard_map
from sfumato.service.answers import NOTICE
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.errors import ServiceError
from sfumato.service.settings import Settings
from sfumato.service.upload import not_a_map

#: The folder inside a map's with its shards; made again at any time.
SHARDS = "shards"
# A manifest is JSON that a stranger wrote: whatever reading it may raise means the same.
_BAD = (
    SfumatoError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    SyntaxError,
)


def load_upload(folder: Path) -> Map:
    """Open an unpacked map; every checksum, size and index is looked at."""
    try:
        world = Map.load(folder)
        for name in ARRAY_NAMES:
            _check_layout(name, getattr(world, name))
        check_finite("keypoints", world.keypoints)
        check_finite("descriptors", world.descriptors)
        if not world.num_images or not world.num_observations:
            raise InvalidInput("it has no image that sees a point")
        for image in range(world.num_images):
            world.pose(image)
        _ = world.up  # what it says of it is refused now, not at every query
    except _BAD as error:
        why = str(error) if isinstance(error, SfumatoError) else "its manifest is not a map's"
        why = why.replace(f"{folder}/", "").replace(str(folder), "it")
        raise not_a_map(why.rstrip(".")) from None
    return world


def _check_layout(name: str, array: np.ndarray[Any, Any]) -> None:
    """Plain C order in the machine's own byte order, of the sizes the kernels are made for."""
    sizes = {"f": (4, 8), "i": (4, 8), "u": (1,)}[array.dtype.kind]
    if name == "descriptors" and array.dtype.kind == "f":
        sizes = (4,)
    if array.dtype.itemsize not in sizes or not array.dtype.isnative:
        raise InvalidInput(f"{name} cannot be {array.dtype}")
    if not array.flags.c_contiguous:
        raise InvalidInput(f"{name} must be in C order")


def file_away(
    world: Map, dictionaries: Dictionaries, settings: Settings, *, again: bool = True
) -> None:
    """Store beside the map all that queries need, so that workers only map it into memory."""
    store_derived(world, again=again)
    for dictionary in dictionaries.of_extractor(world.extractor):
        try:
            file_under(world, dictionary, again=again)
        except OSError:  # the disk, not the map
            raise
        except SfumatoError as error:
            raise not_a_map(str(error).rstrip(".")) from None
    num_shards = min(settings.shards, world.num_images)
    if num_shards > 1 and world.num_observations >= settings.shard_observations:
        assert world.sidecars is not None
        folder = world.sidecars.folder
        head = shards_beside(folder, num_shards)
        if again or head is None or head.filed_under != world.filed_under:
            shard_map(world, folder / SHARDS, num_shards, replace=True)


def shards_beside(folder: Path, num_shards: int) -> Head | None:
    """The shards that were made of a stored map, where there are so many of them."""
    try:
        head = load_head(folder / SHARDS, verify=False) if num_shards > 1 else None
        whole = load_manifest(folder, kind="map")["checksum"]
    except SfumatoError:
        return None
    if head is None or head.of != whole or len(head.shards) != min(num_shards, head.num_images):
        return None
    return head


def describe(world: Map, folder: Path, *, accepts: list[str], created: str) -> dict[str, Any]:
    """What is kept in the row; no image name of the map-maker."""
    return {
        "created": created,
        "extractor": world.extractor,
        "num_images": world.num_images,
        "num_points": len(world.points),
        "num_observations": world.num_observations,
        "num_bytes": sum(file.stat().st_size for file in folder.iterdir() if file.is_file()),
        "up": world.up,
        "camera": usual_camera(world.cameras, world.camera_of_image).as_dict(),
        "accepts": accepts,
        "notice": NOTICE,
    }


KINDS = ("words", "plain", "subspaces")


def parse_accept(text: str) -> list[str]:
    """Kinds of release the owner allows: private words alone unless told otherwise."""
    kinds = [kind.strip() for kind in text.split(",")]
    if not kinds or any(kind not in KINDS for kind in kinds):
        raise ServiceError(
            400, "invalid", f"accept must list some of {', '.join(KINDS)}, separated by commas."
        )
    return [kind for kind in KINDS if kind in kinds]
