"""Aachen Day-Night, v1.0 and v1.1: the map and the queries in its folder.

    images_upright/                                  pictures of the map and queries
    queries/*_time_queries_with_intrinsics.txt       name MODEL width height parameters
    3D-models/[…/]{cameras,images,points3D}.bin      the reference model (v1.0: converted to COLMAP)
    features.h5                                      optional: hloc's, of all pictures

Where features.h5 belongs to the model, points are taken from it. Otherwise features are
extracted and points triangulated from the model's poses, as the paper does. True poses of the
queries are secret: the benchmark's server compares them.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Camera
from sfumato.datasets.layouts.common import rows_of
from sfumato.datasets.layouts.hloc import listed_camera
from sfumato.datasets.scenes import Problem, Query
from sfumato.features.extractors import Extractor, extractor_name
from sfumato.features.folder import extract_folder
from sfumato.features.h5 import read_features
from sfumato.server.mapping import Map, build_map_from_features, import_map
from sfumato.server.mapping.model_files import ColmapModel, read_model

COVISIBLE = 20  # images each image is compared with
_LISTS = "*_time_queries_with_intrinsics.txt"


def is_aachen(folder: str | Path) -> bool:
    return (Path(folder) / "images_upright").is_dir()


def open_aachen(
    folder: str | Path,
    work: str | Path,
    *,
    extractor: str | Extractor = "sift",
    progress: Progress = silent,
) -> Problem:
    """The map and the queries of an Aachen folder; `work` keeps features and map."""
    root, stored = Path(folder), Path(work) / "map"
    name_of = extractor_name(extractor)
    cameras = read_query_lists(root / "queries")
    model_folder = find_model(root / "3D-models")
    features = root / "features.h5"
    if not features.is_file():
        features = Path(work) / "features.h5"
        features.parent.mkdir(parents=True, exist_ok=True)
        extract_folder(root / "images_upright", features, extractor=extractor, progress=progress)
    if not stored.exists():
        build_reference(model_folder, features, name_of, progress=progress).save(stored)
    queries = []
    for name, camera in cameras.items():
        query = read_features(features, name, extractor=name_of)
        if query.image_size != (camera.width, camera.height):
            raise Mismatch(
                f"{name} has {query.image_size[0]}×{query.image_size[1]} pixels in the features "
                f"and {camera.width}×{camera.height} in the list of queries."
            )
        queries.append(Query(name, "aachen", query, camera, None))
    return Problem("Aachen Day-Night", Map.load(stored), tuple(queries), ("aachen",))


def read_query_lists(folder: Path) -> dict[str, Camera]:
    """Intrinsics of all queries, by name, from the lists of day and night."""
    cameras: dict[str, Camera] = {}
    for path in sorted(folder.glob(_LISTS)):
        for line, words in rows_of(path, "list of queries"):
            cameras[words[0]] = listed_camera(words, path, line)
    if not cameras:
        raise InvalidInput(f"there is no list of queries {_LISTS} in {folder}.")
    return cameras


def find_model(folder: Path) -> Path:
    """The COLMAP model in a folder or directly below it."""
    below = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    for candidate in (folder, *below):
        if any((candidate / f"images{kind}").is_file() for kind in (".bin", ".txt")):
            return candidate
    raise InvalidInput(
        f"there is no COLMAP model in {folder}; v1.0 comes as NVM, which hloc's colmap_from_nvm "
        "converts."
    )


def build_reference(
    model_folder: Path, features: Path, extractor: str, *, progress: Progress = silent
) -> Map:
    """The model's own points where the features are those it was made from, else new ones."""
    try:
        return import_map(model_folder, features, extractor=extractor, progress=progress)
    except Mismatch:
        model = read_model(model_folder)
    return build_map_from_features(
        {
            image.name: read_features(features, image.name, extractor=extractor)
            for image in model.images
        },
        cameras={image.name: model.cameras[image.camera_id] for image in model.images},
        poses={image.name: image.pose for image in model.images},
        pairs=covisible_pairs(model, COVISIBLE),
        progress=progress,
    )


def covisible_pairs(model: ColmapModel, count: int) -> list[tuple[str, str]]:
    """For each image the `count` that share most of its points."""
    seen_by: dict[int, list[int]] = {}
    for row, image in enumerate(model.images):
        for point in np.unique(image.point_ids[image.point_ids >= 0]).tolist():
            seen_by.setdefault(point, []).append(row)
    shared: list[Counter[int]] = [Counter() for _ in model.images]
    for rows in seen_by.values():
        for a, b in combinations(rows, 2):
            shared[a][b] += 1
            shared[b][a] += 1
    pairs = {
        (min(a, b), max(a, b)) for a, most in enumerate(shared) for b, _ in most.most_common(count)
    }
    return [(model.images[a].name, model.images[b].name) for a, b in sorted(pairs)]
