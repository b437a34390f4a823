"""A map as if some of its images had never been taken: for asking those images about the rest.

Points that fewer than two of the other images see disappear. Points that a left-out image saw
are placed again from the other images alone. The poses of the other images stay: where they were
reconstructed, the left-out ones helped a little.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.lens import focal_lengths, unproject
from sfumato.dictionary import Dictionary
from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server.mapping.filing import fingerprints_of, word_indices
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.triangulate import TriangulationOptions, Views, fit_points


class HeldOut:
    """Makes maps without some of their images; what they share is computed once.

    dictionaries  that the maps shall be filed under, with all their levels

    >>> from sfumato.datasets import GallerySettings, load_gallery, map_scene
    >>> from sfumato.server.mapping.held_out import HeldOut
    >>> room = load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=2))
    >>> world = map_scene(room)
    >>> less = HeldOut(world).without([0, 1])
    >>> less.num_images, int(less.observations_per_image[0]), len(less.points) < len(world.points)
    (8, 0, True)
    """

    def __init__(
        self,
        world: Map,
        dictionaries: Iterable[Dictionary] = (),
        options: TriangulationOptions | None = None,
    ) -> None:
        self.world = world
        self._indices: dict[str, InvertedIndex] = {}
        for dictionary in dictionaries:
            self._indices |= _filed(world, dictionary)
        self._options = options or TriangulationOptions()
        self._seen = np.asarray(world.point_of_feature, dtype=np.int64)
        rows = world.observations()
        order = np.argsort(self._seen[rows], kind="stable")
        self._rows = rows[order]  # in order of their point
        self._views = _views(world)

    def without(self, images: Iterable[int]) -> Map:
        """The map without these images. They keep their numbers and poses, and see nothing."""
        out = np.zeros(self.world.num_images, dtype=np.bool_)
        out[list(images)] = True
        gone = out[self._views.image_of[self._rows]]
        points = np.array(self.world.points, dtype=np.float64)
        touched = np.zeros(len(points), dtype=np.bool_)
        touched[self._seen[self._rows[gone]]] = True
        left = self._rows[~gone]
        again = touched[self._seen[left]]
        rows = left[again]
        numbers, owner = np.unique(self._seen[rows], return_inverse=True)
        placed, rows, owner = fit_points(
            self._views, points[numbers], rows, owner.astype(np.int64), self._options
        )
        points[numbers] = placed
        seen = np.full(len(self._seen), -1, dtype=np.int64)
        seen[left[~again]] = self._seen[left[~again]]
        seen[rows] = numbers[owner]
        kept, compact = np.unique(seen, return_inverse=True)
        first = int(np.searchsorted(kept, 0))  # kept may begin with the −1 of those that see none
        return replace(
            self.world,
            points=points[kept[first:]],
            point_of_feature=(compact - first).astype(np.int32),
            sidecars=None,
            _indices={name: _only(index, seen >= 0) for name, index in self._indices.items()},
        )


def _filed(world: Map, dictionary: Dictionary) -> dict[str, InvertedIndex]:
    """The indices of a dictionary's levels, as they lie beside the map, or made now."""
    names = fingerprints_of(dictionary).values()
    if world.sidecars is not None:
        stored = {name: index for name in names if (index := world.sidecars.word_index(name))}
        if len(stored) == len(names):
            return stored
    return word_indices(world, dictionary)


def _views(world: Map) -> Views:
    rays = np.zeros((len(world.keypoints), 2))
    for image in range(world.num_images):
        rows = world.features_of(image)
        if rows.stop > rows.start:
            rays[rows] = unproject(world.camera(image), np.asarray(world.keypoints[rows]))
    cameras = [world.camera(image) for image in range(world.num_images)]
    return Views(
        rays=rays,
        image_of=world.image_of(np.arange(len(world.keypoints))),
        rotations=np.asarray(world.rotations, dtype=np.float64),
        translations=np.asarray(world.translations, dtype=np.float64),
        focals=np.array([focal_lengths(camera) for camera in cameras]),
    )


def _only(index: InvertedIndex, wanted: NDArray[np.bool_]) -> InvertedIndex:
    """An index of the rows that are wanted, in the same order."""
    inside = wanted[index.rows]
    before = np.concatenate([[0], np.cumsum(inside)])
    return InvertedIndex(before[index.starts].astype(np.int64), index.rows[inside])
