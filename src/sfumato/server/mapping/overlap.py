"""Worlds of one map that get in each other's way: two in one space, or one place twice."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.releases import PlainRelease
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map

_MIN_IMAGES = 2  # of a group that is looked at
_MIN_SHARED = 0.1  # of the smaller group's space
_ASKED = 5  # images of a scene that are looked for in another
_MAX_FEATURES = 600  # of each, the strongest


def overlapping_groups(world: Map) -> list[str]:
    """Say which groups of images share no point and yet stand in one space.

    Groups that were placed together share points with each other, or with images in between. Two
    that do not were never compared, or are different places whose coordinates mean nothing to
    each other: nobody has registered them.
    """
    groups = image_groups(world)
    told = []
    for a, b in combinations([group for group in groups if len(group) >= _MIN_IMAGES], 2):
        if _shared_space(_space(world, a), _space(world, b)) > _MIN_SHARED:
            told.append(
                f"{len(a)} images (one is {world.image_names[a[0]]}) and {len(b)} others (one is "
                f"{world.image_names[b[0]]}) share no point and yet lie in one space; if they are "
                "different places, give each a folder of its own, or answers will mix them up."
            )
    return told


def image_groups(world: Map) -> list[NDArray[np.int64]]:
    """Images that see common points, directly or through others; the largest group first."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows = world.observations()
    image, point = world.image_of(rows), np.asarray(world.point_of_feature[rows], dtype=np.int64)
    size = world.num_images + len(world.points)
    links = coo_array(
        (np.ones(len(rows), dtype=np.int8), (image, point + world.num_images)), shape=(size, size)
    )
    label = connected_components(links, directed=False)[1][: world.num_images]
    groups = [np.flatnonzero(label == number) for number in np.unique(label)]
    return sorted(groups, key=lambda group: (-len(group), int(group[0])))


def _space(world: Map, images: NDArray[np.int64]) -> NDArray[np.float64]:
    """(2, 3) the box around most of the points that images see, and around the images."""
    rows = world.observations()
    rows = rows[np.isin(world.image_of(rows), images)]
    points = np.asarray(world.points)[np.unique(np.asarray(world.point_of_feature)[rows])]
    centers = np.stack([world.pose(int(image)).center for image in images])
    if not len(points):
        return np.stack([centers.min(axis=0), centers.max(axis=0)])
    low, high = np.quantile(points, (0.05, 0.95), axis=0)
    return np.stack([np.minimum(low, centers.min(axis=0)), np.maximum(high, centers.max(axis=0))])


def _shared_space(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The volume that two boxes share, over the smaller one's."""
    sides = np.minimum(a[1], b[1]) - np.maximum(a[0], b[0])
    if (sides <= 0).any():
        return 0.0
    smaller = min(float(np.prod(box[1] - box[0])) for box in (a, b))
    return float(np.prod(sides)) / smaller if smaller > 0 else 0.0


def places_held_twice(parts: Mapping[str, Map]) -> list[str]:
    """Say which scenes show what another shows too, although nobody has registered them.

    Some images of each scene are localized in the others.
    """
    told: dict[frozenset[str], str] = {}
    for first, second in permutations(parts, 2):
        if frozenset((first, second)) in told:
            continue
        most = np.argsort(-parts[second].observations_per_image, kind="stable")[:_ASKED]
        found = sum(_is_found(parts[second], int(image), parts[first]) for image in most)
        if found >= min(2, len(most)):
            told[frozenset((first, second))] = (
                f"{found} of {len(most)} images of {second} that were looked for in {first} are "
                "found there: the map holds that place twice, in two worlds that are not "
                "registered, and an answer may be in either; put the pictures into one folder."
            )
    return list(told.values())


def _is_found(source: Map, image: int, world: Map) -> bool:
    part = source.features_of(image)
    part = slice(part.start, min(part.stop, part.start + _MAX_FEATURES))
    camera = source.camera(image)
    release = PlainRelease(
        keypoints=np.asarray(source.keypoints[part]),
        descriptors=np.asarray(source.descriptors[part]),
        image_size=(camera.width, camera.height),
        extractor=source.extractor,
        camera=camera,
    )
    return localize(release, world).localized
