"""A map from a COLMAP model and the features file it was made from, as hloc leaves them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.lens import from_corner
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Features
from sfumato.features.extractors import check_kind
from sfumato.features.h5 import list_feature_names, read_features
from sfumato.server.mapping.assemble import SparseModel, assemble_map
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.model_files import ColmapModel, ModelImage, read_model

#: Half-precision files round positions by up to a pixel; another picture's are further off.
_MAX_SHIFT = 1.0


def import_map(
    model: str | Path,
    features: str | Path,
    *,
    extractor: str | None = None,
    progress: Progress = silent,
) -> Map:
    """The map of a COLMAP model; keypoint k of an image is row k of its features.

    extractor must be given where the file does not say it (hloc's do not): any name, but that of
    a shipped extractor only where the descriptors are of its kind. Positions are taken
    from the features file, where pixel centres are whole numbers; COLMAP's, half a pixel
    further, must agree with them. Points, poses and cameras are taken as they are.
    """
    source = read_model(model)
    if len(source.images) < 2:
        raise InvalidInput(
            "a map needs at least two images that see the same points, "
            f"the model {model} has {len(source.images)}."
        )
    names = list_feature_names(features)
    missing = sorted({image.name for image in source.images} - set(names))
    if missing:
        raise Mismatch(
            f"{features} has no features for {len(missing)} of the model's {len(source.images)} "
            f"images, the first is {missing[0]}; give the file the model was made from."
        )
    found: list[Features] = []
    for done, image in enumerate(source.images, start=1):
        item = read_features(features, image.name, extractor=extractor)
        check_kind(item.extractor, item.descriptors)
        _check_same(image, item, source, features)
        found.append(item)
        progress("reading features", done, len(source.images))
    facts = {
        "method": "COLMAP model",
        "not_in_model": sorted(set(names) - {image.name for image in source.images}),
    }
    return assemble_map(_sparse(source), found, facts)


def _check_same(image: ModelImage, item: Features, model: ColmapModel, path: str | Path) -> None:
    """The features are those the model was made from: as many, at the same places."""
    if len(image.xy) != len(item):
        raise Mismatch(
            f"{image.name} has {len(image.xy)} keypoints in the model and {len(item)} in {path}; "
            "give the file the model was made from."
        )
    camera = model.cameras[image.camera_id]
    if (camera.width, camera.height) != item.image_size:
        raise Mismatch(
            f"{image.name} has {camera.width}×{camera.height} pixels in the model and "
            f"{item.image_size[0]}×{item.image_size[1]} in {path}; "
            "give the file the model was made from."
        )
    shift = np.abs(image.xy - from_corner(item.keypoints)).max(initial=0)
    if not shift <= _MAX_SHIFT:
        raise Mismatch(
            f"keypoints of {image.name} lie up to {shift:.1f} pixels apart in the model and in "
            f"{path}; give the file the model was made from."
        )


def _sparse(model: ColmapModel) -> SparseModel:
    numbers = sorted({image.camera_id for image in model.images})
    seen = []
    for image in model.images:
        rows = np.searchsorted(model.point_ids, image.point_ids)
        seen.append(np.where(image.point_ids < 0, -1, rows).astype(np.int32))
    return SparseModel(
        image_names=tuple(image.name for image in model.images),
        cameras=tuple(model.cameras[number] for number in numbers),
        camera_of_image=tuple(numbers.index(image.camera_id) for image in model.images),
        poses=tuple(image.pose for image in model.images),
        points=model.points,
        point_of_feature=tuple(seen),
    )
