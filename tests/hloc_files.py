"""Folders as hloc leaves them: what its extract_features, reconstruction and pipelines write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sfumato.core.types import Features
from sfumato.datasets import GallerySettings, load_gallery
from sfumato.features import Extractor, extract
from sfumato.server.mapping import Map, build_map
from sfumato.server.mapping.model_write import camera_words, write_model

SMALL = GallerySettings(320, 240, num_mapping=8, num_queries=3)


def write_hloc_features(
    path: Path, features: dict[str, Features], *, as_half: bool = True, by_dog: bool = False
) -> None:
    """One group per picture as hloc's extract_features writes it, with as_half as it does.

    by_dog  with the scales (σ) and orientations that its SIFT adds
    """
    with h5py.File(path, "a", libver="latest") as file:
        for name, item in features.items():
            arrays: dict[str, Any] = {
                "keypoints": item.keypoints,
                "scores": item.scores,
                "descriptors": _floats(item).T,
            }
            if by_dog:
                arrays |= {"scales": item.scales / 2, "oris": item.angles}
            arrays["image_size"] = np.array(item.image_size)
            group = file.create_group(name)
            for key, values in arrays.items():
                half = as_half and values.dtype == np.float32
                group.create_dataset(key, data=values.astype(np.float16) if half else values)
            group["keypoints"].attrs["uncertainty"] = 1.0


def _floats(item: Features) -> Any:
    """SIFT's whole numbers as hloc's "sift" has them: of unit length; floats as they are."""
    if item.descriptors.dtype != np.uint8:
        return item.descriptors
    values = item.descriptors.astype(np.float32)
    return values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1)


def room() -> Any:
    return load_gallery(settings=SMALL)


def make_hloc_folder(
    folder: Path, extractor: str | Extractor, *, as_half: bool = True, ask_map: bool = False
) -> Map:
    """datasets and outputs of a pipeline: features of map and queries, a sparse
    model, pairs, and a list of queries with intrinsics. The map it was made from is returned.

    ask_map  the queries are pictures of the map: found again even by a network of random weights
    """
    scene = room()
    folder.mkdir(parents=True)
    world = build_map(
        [(f"db/{view.name}", view.image) for view in scene.mapping],
        extractor=extractor,
        cameras={f"db/{view.name}": view.camera for view in scene.mapping},
        poses={f"db/{view.name}": view.pose for view in scene.mapping},
    )
    asked = _most_seen(world, scene.mapping)[:3] if ask_map else scene.queries
    mapping = {f"db/{view.name}": extract(view.image, extractor) for view in scene.mapping}
    queries = {f"query/{view.name}": extract(view.image, extractor) for view in asked}
    write_hloc_features(folder / "feats.h5", mapping | queries, as_half=as_half)
    (folder / "sfm").mkdir()
    write_model(world, folder / "sfm")
    lines = [f"query/{view.name} {camera_words(view.camera)}\n" for view in asked]
    (folder / "queries_with_intrinsics.txt").write_text("".join(lines))
    pairs = [f"{query} {name}\n" for query in queries for name in world.image_names]
    (folder / "pairs.txt").write_text("".join(pairs))
    return world


def _most_seen(world: Map, views: Any) -> list[Any]:
    """The pictures of a map that see most of its points, those first."""
    seen = np.asarray(world.point_of_feature) >= 0
    by_name = {f"db/{view.name}": view for view in views}
    counts = {
        name: int(seen[world.features_of(i)].sum()) for i, name in enumerate(world.image_names)
    }
    return [by_name[name] for name in sorted(counts, key=lambda name: -counts[name])]
