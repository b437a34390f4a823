"""A map that grows: other photographs beside the scenes, as images that no query shows.

Photographs of a set cannot be triangulated. So descriptors and positions are the photographs'
own, and depths are borrowed: each photograph takes those of an image of the scenes, keypoint by
keypoint from the point that lies nearest in the picture. Every keypoint is a point of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sfumato.core.types import Camera, Features
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.scenes import join_maps

_FOCAL = 1.2  # of the longer side, as of an ordinary camera
_APART = 1000.0  # between one photograph and the next, in the world's unit


def grown_map(world: Map, photographs: Iterable[Features], times: float) -> Map:
    """The map with photographs beside it, until it has `times` its observations.

    Photographs are taken in their order. Where they do not suffice they come again mirrored,
    positions only: their descriptors are then repeated, so that part is simulated.
    """
    wanted = round((times - 1) * world.num_observations)
    chosen: list[Features] = []
    for features in _endless(photographs):
        if wanted <= 0:
            break
        chosen.append(_first(features, wanted))
        wanted -= len(chosen[-1])
    if not chosen:
        return world
    return join_maps({"scenes": world, "photographs": map_of_photographs(chosen, world)})


def _endless(photographs: Iterable[Features]) -> Iterator[Features]:
    kept = [features for features in photographs if len(features)]
    while kept:
        yield from kept
        kept = [replace(one, keypoints=_mirrored(one)) for one in kept]


def _mirrored(features: Features) -> NDArray[np.float32]:
    return np.asarray((features.image_size[0] - 1, 0) + features.keypoints * (-1, 1), np.float32)


def _first(features: Features, count: int) -> Features:
    return features if len(features) <= count else features.take(np.arange(count))


def map_of_photographs(photographs: list[Features], world: Map) -> Map:
    """A map in which every photograph is an image and every keypoint a point seen once."""
    depths = [_Depths(world, image) for image in range(world.num_images)]
    depths = [one for one in depths if len(one.depth)]
    points, translations, rotations, cameras = [], [], [], []
    for number, features in enumerate(photographs):
        borrowed = depths[number % len(depths)]
        width, height = features.image_size
        focal = _FOCAL * max(width, height)
        camera = Camera("PINHOLE", width, height, (focal, focal, width / 2, height / 2))
        middle = np.array([width, height]) / 2 - 0.5
        keypoints = features.keypoints.astype(np.float64)
        rays = np.column_stack([(keypoints - middle) / focal, np.ones(len(keypoints))])
        inside = rays * borrowed.at(keypoints / (width, height))[:, None]
        center = np.array([number * _APART, 0.0, 0.0])
        points.append(inside @ borrowed.rotation + center)
        rotations.append(borrowed.rotation)
        translations.append(-borrowed.rotation @ center)
        cameras.append(camera)
    counts = [len(features) for features in photographs]
    return Map(
        points=np.concatenate(points),
        rotations=np.array(rotations),
        translations=np.array(translations),
        camera_of_image=np.arange(len(photographs), dtype=np.int32),
        feature_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        keypoints=np.concatenate([one.keypoints for one in photographs]),
        descriptors=np.concatenate([one.descriptors for one in photographs]),
        point_of_feature=np.arange(sum(counts), dtype=np.int32),
        image_names=tuple(f"{number}.jpg" for number in range(len(photographs))),
        cameras=tuple(cameras),
        extractor=world.extractor,
    )


class _Depths:
    """How far the points of an image lie, by their place in the picture."""

    def __init__(self, world: Map, image: int) -> None:
        rows = np.arange(world.features_of(image).start, world.features_of(image).stop)
        rows = rows[np.asarray(world.point_of_feature[rows]) >= 0]
        camera, pose = world.camera(image), world.pose(image)
        seen = pose.apply(np.asarray(world.points[world.point_of_feature[rows]]))
        ahead = seen[:, 2] > 0
        self.rotation, self.depth = pose.rotation, seen[ahead, 2]
        place = np.asarray(world.keypoints[rows[ahead]]) / (camera.width, camera.height)
        self._tree = cKDTree(place) if len(place) else None

    def at(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._tree is None:
            return np.ones(len(place))
        return np.asarray(self.depth[self._tree.query(place)[1]])
