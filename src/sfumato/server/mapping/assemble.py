"""A sparse model, however it was made, and the features it refers to: together a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.lens import project
from sfumato.core.releases import KeypointRelease
from sfumato.core.types import Camera, Features, Pose
from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.overlap import overlapping_groups
from sfumato.server.mapping.own_error import FACT, learn_own_error


@dataclass(frozen=True)
class SparseModel:
    """Images with poses, points, and who saw what; what COLMAP calls a reconstruction.

    poses            one per image
    points           (P, 3) float64
    point_of_feature one array (N,) per image: the point of each keypoint, or −1
    """

    image_names: tuple[str, ...]
    cameras: tuple[Camera, ...]
    camera_of_image: tuple[int, ...]
    poses: tuple[Pose, ...]
    points: NDArray[np.float64]
    point_of_feature: tuple[NDArray[np.int32], ...]


def assemble_map(model: SparseModel, features: Sequence[Features], facts: Mapping[str, Any]) -> Map:
    """The map of a model and the features of its images, in the model's order.

    A point that fewer than two images see is dropped: nothing confirms it.
    """
    if not model.image_names:
        raise InvalidInput("a map needs at least two images that see the same points, got none.")
    image_of = np.repeat(np.arange(len(features)), [len(item) for item in features])
    seen = np.concatenate([np.empty(0, dtype=np.int32), *model.point_of_feature])
    seen, points = _confirmed(np.asarray(seen), image_of, model.points)
    if not len(points):
        raise InvalidInput(
            f"no point was seen by two of the {len(features)} images; pictures of a map must "
            "overlap, and show more than blank surfaces."
        )
    descriptors = np.concatenate([item.descriptors for item in features])
    model = replace(model, points=points)
    return map_of_model(model, features, seen, descriptors, facts)


def map_of_model(
    model: SparseModel,
    images: Sequence[Features | KeypointRelease],
    seen: NDArray[np.int32],
    descriptors: NDArray[Any],
    facts: Mapping[str, Any],
    indices: dict[str, InvertedIndex] | None = None,
) -> Map:
    """The map of a model whose images have these keypoints; `seen` is (F,) the point of each."""
    world = Map(
        points=model.points,
        rotations=np.stack([pose.rotation for pose in model.poses]),
        translations=np.stack([pose.translation for pose in model.poses]),
        camera_of_image=np.array(model.camera_of_image, dtype=np.int32),
        feature_start=np.cumsum([0, *(len(item) for item in images)]).astype(np.int64),
        keypoints=np.concatenate([item.keypoints for item in images]),
        descriptors=descriptors,
        point_of_feature=seen,
        image_names=model.image_names,
        cameras=model.cameras,
        extractor=images[0].extractor,
        facts=dict(facts),
        _indices=indices or {},
    )
    return replace(world, facts={**facts, FACT: learn_own_error(world).as_facts()})


def _confirmed(
    seen: NDArray[np.int32], image_of: NDArray[Any], points: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Leave out points that one image or none sees, and number the others anew."""
    rows = np.flatnonzero(seen >= 0)
    pairs = np.unique(np.stack([seen[rows], image_of[rows]], axis=1), axis=0)
    keep = np.bincount(pairs[:, 0], minlength=len(points)) >= 2
    number = np.full(len(points) + 1, -1, dtype=np.int32)  # the last entry is what −1 finds
    number[:-1][keep] = np.arange(np.count_nonzero(keep))
    return number[seen], points[keep]


def share_cameras(cameras: Sequence[Camera]) -> tuple[tuple[Camera, ...], tuple[int, ...]]:
    """Different cameras once each, and the index of every image's."""
    index: dict[Camera, int] = {}
    of_image = tuple(index.setdefault(camera, len(index)) for camera in cameras)
    return tuple(index), of_image


def reprojection_errors(world: Map) -> NDArray[np.float64]:
    """Of every observation, in pixels of the picture as it was taken; ∞ behind a camera."""
    errors = []
    for image in range(world.num_images):
        rows = world.features_of(image)
        seen = np.asarray(world.point_of_feature[rows])
        inside = np.flatnonzero(seen >= 0)
        points = world.pose(image).apply(np.asarray(world.points)[seen[inside]])
        away = project(world.camera(image), points) - world.keypoints[rows][inside]
        distance = np.hypot(away[:, 0], away[:, 1])
        errors.append(np.where(np.isnan(distance), np.inf, distance))
    return np.concatenate([np.empty(0), *errors])


def map_warnings(world: Map) -> list[str]:
    """What cannot be trusted in a map: found while it was made, or scenes in one space."""
    parts = world.facts.get("scenes", [])
    facts = [world.facts, *(part for part in parts if isinstance(part, Mapping))]
    made = [str(text) for part in facts for text in part.get("warnings", [])]
    return [*made, *overlapping_groups(world)]


def describe_map(world: Map) -> dict[str, Any]:
    """The figures a map is judged by."""
    errors = reprojection_errors(world)
    points, observations = len(world.points), world.num_observations
    return {
        "images": world.num_images,
        "cameras": len(world.cameras),
        "features": len(world.keypoints),
        "points": points,
        "observations": observations,
        "mean_track_length": observations / points if points else 0.0,
        "mean_reprojection_error_px": float(errors.mean()) if len(errors) else 0.0,
        "extractor": world.extractor,
        "up": world.up,
        "warnings": map_warnings(world),
    }
