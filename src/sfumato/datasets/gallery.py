"""The built-in scene: a room hung with photographs, with exact cameras, poses and points.

It is rendered, not photographed, so that every pose and every 3-D point is known, and it
is made from what pip has installed already, so that tests and the demo need no download.
A visitor who is not in the map stands in some queries: what a release should not give away.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count, check_shape
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.frozen import Frozen
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import load_array, load_manifest, save_arrays
from sfumato.core.threads import FEW_THREADS
from sfumato.core.types import Camera, Pose
from sfumato.datasets.gallery_light import expose, lit_textures
from sfumato.datasets.gallery_person import body, coverage, figure_layers
from sfumato.datasets.gallery_room import room
from sfumato.datasets.gallery_views import (
    NUM_MAPPING,
    NUM_QUERIES,
    Shot,
    camera_of,
    mapping_shots,
    query_shots,
)
from sfumato.datasets.rendering import Array, Texture, cast, render
from sfumato.execution.threads import Threads

#: Raise it when paint, light or rendering change: caches of other versions are not read.
VERSION = 1
KIND = "gallery"


@dataclass(frozen=True, eq=False)
class View(Frozen):
    """One picture and where it was taken.

    image       (H, W, 3) uint8 RGB, read-only
    pose        cam_from_world, exact; metres
    person_box  left, top, right, bottom of the visitor in pixels, the last two exclusive;
                None where nobody stands
    """

    name: str
    image: NDArray[np.uint8]
    camera: Camera
    pose: Pose
    person_box: tuple[int, int, int, int] | None


@dataclass(frozen=True, eq=False)
class Scene(Frozen):
    """Pictures to build a map from, and pictures to be localized in it."""

    name: str
    mapping: tuple[View, ...]
    queries: tuple[View, ...]


@dataclass(frozen=True)
class GallerySettings:
    """How large the pictures are, and how many of the walk and of the queries are made."""

    width: int = 640
    height: int = 480
    num_mapping: int = NUM_MAPPING
    num_queries: int = NUM_QUERIES

    def __post_init__(self) -> None:
        check_count("width", self.width, low=16, high=4096)
        check_count("height", self.height, low=16, high=4096)
        check_count("num_mapping", self.num_mapping, low=0, high=NUM_MAPPING)
        check_count("num_queries", self.num_queries, low=0, high=NUM_QUERIES)


def load_gallery(
    cache: Path | None = None,
    settings: GallerySettings | None = None,
    progress: Progress = silent,
) -> Scene:
    """The gallery, the same bytes on every call; rendered once, then read from `cache`.

    `cache` defaults to sfumato's folder in $XDG_CACHE_HOME or ~/.cache. A cache that is
    damaged is rendered again, one that cannot be written is done without.
    """
    settings = settings or GallerySettings()
    folder = Path(cache or _default_cache()) / f"gallery-v{VERSION}-{_digest(settings)}"
    shots = mapping_shots()[: settings.num_mapping] + query_shots()[: settings.num_queries]
    try:
        images, boxes = _load(folder, settings, shots)
    except (SfumatoError, OSError):
        images, boxes = _render_all(shots, settings, progress)
        _save(folder, images, boxes, shots)
    camera = camera_of(settings.width, settings.height)
    views = tuple(
        View(shot.name, image, camera, shot.pose, None if box[0] < 0 else _box(box))
        for shot, image, box in zip(shots, images, boxes, strict=True)
    )
    return Scene("gallery", views[: settings.num_mapping], views[settings.num_mapping :])


def point_at(view: View, keypoints: NDArray[Any]) -> Array:
    """(N, 3) points of the world that (N, 2) keypoints of a gallery view show.

    Exact, by casting rays into the room. NaN where the visitor stands in between.
    """
    keypoints = np.asarray(keypoints, dtype=np.float64)
    check_shape("keypoints", keypoints, (None, 2))
    hit, texture_uv, nearest = cast(room(), view.camera, view.pose, keypoints)
    points = np.full((len(hit), 3), np.nan)
    for number in np.unique(hit[hit >= 0]):
        rows = hit == number
        points[rows] = room()[number].at(texture_uv[rows, 0], texture_uv[rows, 1])
    stand = _shot_of(view).person
    if stand is not None:
        hit, texture_uv, depth = cast([body(stand)], view.camera, view.pose, keypoints)
        rows = np.flatnonzero((hit == 0) & (depth > nearest))
        # Half covered or less, a pixel at her outline still shows the room.
        points[rows[coverage(texture_uv[rows, 0], texture_uv[rows, 1]) > 0.5]] = np.nan
    return points


def _shot_of(view: View) -> Shot:
    for shot in mapping_shots() + query_shots():
        if shot.name == view.name and shot.pose == view.pose:
            return shot
    raise InvalidInput(f"view must be one of the gallery's, got {view.name!r}.")


def _render_all(
    shots: tuple[Shot, ...], settings: GallerySettings, progress: Progress
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    camera = camera_of(settings.width, settings.height)
    images = np.empty((len(shots), settings.height, settings.width, 3), dtype=np.uint8)
    boxes = np.full((len(shots), 4), -1, dtype=np.int32)
    progress("rendering the gallery", 0, len(shots))
    textures = lit_textures() if shots else []
    taken = Threads().map(_take, shots, camera, textures, threads=FEW_THREADS)
    for number, (image, box) in enumerate(taken):
        images[number], boxes[number] = image, box
        progress("rendering the gallery", number + 1, len(shots))
    images.flags.writeable = False
    return images, boxes


def _take(
    camera: Camera, textures: list[Texture], shot: Shot
) -> tuple[NDArray[np.uint8], tuple[int, int, int, int]]:
    layers = figure_layers(shot.person) if shot.person else ()
    linear, covered = render(room(), textures, camera, shot.pose, layers)
    # Seeded by name: a picture does not depend on which others are taken.
    seed = int.from_bytes(hashlib.sha256(shot.name.encode()).digest()[:8], "big")
    rows, columns = np.nonzero(covered > 0.02)
    box = (-1, -1, -1, -1)
    if rows.size:
        left, top = int(columns.min()), int(rows.min())
        box = (left, top, int(columns.max()) + 1, int(rows.max()) + 1)
    return expose(linear, np.random.default_rng(seed)), box


def _load(
    folder: Path, settings: GallerySettings, shots: tuple[Shot, ...]
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    manifest = load_manifest(folder, kind=KIND)
    images, boxes, poses = (load_array(folder, n, manifest) for n in ("images", "boxes", "poses"))
    check_shape("images", images, (len(shots), settings.height, settings.width, 3))
    if not np.array_equal(poses, _poses(shots)):
        raise InvalidInput("the cached pictures were taken from elsewhere.")
    return images, boxes


def _save(folder: Path, images: NDArray[Any], boxes: NDArray[Any], shots: tuple[Shot, ...]) -> None:
    arrays = {"images": images, "boxes": boxes, "poses": _poses(shots)}
    manifest = {"kind": KIND, "version": VERSION, "names": [shot.name for shot in shots]}
    try:
        save_arrays(folder, arrays, manifest, replace=True)
    except OSError:
        # A full disk, a read-only home, another process that was faster: the pictures are here.
        return


def _poses(shots: tuple[Shot, ...]) -> Array:
    return np.array([[*shot.pose.rotation.ravel(), *shot.pose.translation] for shot in shots])


def _box(box: NDArray[np.int32]) -> tuple[int, int, int, int]:
    left, top, right, bottom = (int(side) for side in box)
    return left, top, right, bottom


def _digest(settings: GallerySettings) -> str:
    """What tells caches apart: the settings, and where everything stands and hangs."""
    digest = hashlib.sha256(repr(sorted(asdict(settings).items())).encode())
    for quad in room():
        digest.update(quad.skin.encode())
        digest.update(np.stack([quad.corner, quad.right, quad.down]).astype("<f4").tobytes())
    return digest.hexdigest()[:8]


def _default_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sfumato"
