"""Which images of a map are left out together, and how far the rest of the map then is.

A query is not a neighbour of an image of the map as video frames are. So an image is asked about
with a whole stretch of neighbouring views left out, or with all views left out that are nearer
than a query would be.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.types import Pose
from sfumato.server.mapping.map import Map

#: Of the map's images, in one stretch; but from 2 to so many: a tenth of a town is a district.
SHARE, MOST = 0.1, 10
#: An image that sees fewer points is not asked about.
MIN_POINTS = 20


@dataclass(frozen=True)
class ViewChange:
    """How a view differs from the nearest one of a map.

    turn_deg      between the directions of both cameras and around them
    distance      between their places, in the map's unit
    parallax_deg  the same as an angle, seen from what the map's view looks at
    """

    turn_deg: float
    distance: float
    parallax_deg: float

    @property
    def degrees(self) -> float:
        """Turn and parallax together."""
        return float(np.hypot(self.turn_deg, self.parallax_deg))


class Surroundings:
    """A map's views: which are neighbours, and how far a pose is from the nearest.

    >>> from sfumato.datasets import GallerySettings, load_gallery, map_scene
    >>> from sfumato.privacy.stretches import Surroundings
    >>> room = load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=2))
    >>> around = Surroundings(map_scene(room))
    >>> sorted(around.stretch_of.tolist())
    [0, 0, 1, 1, 2, 2, 3, 3]
    """

    def __init__(self, world: Map) -> None:
        self.world = world
        rotations, translations = np.asarray(world.rotations), np.asarray(world.translations)
        self._rotations = rotations
        self._centers = -np.einsum("nji,nj->ni", rotations, translations)
        self._depths = np.array([self._depth(image) for image in range(world.num_images)])

    def _depth(self, image: int) -> float:
        seen = np.asarray(self.world.point_of_feature[self.world.features_of(image)])
        points = np.asarray(self.world.points[seen[seen >= 0]])
        pose = self.world.pose(image)
        depths = points @ pose.rotation[2] + pose.translation[2]
        return float(np.median(depths)) if len(depths) else float("nan")

    @cached_property
    def usable(self) -> NDArray[np.int64]:
        """Images that see enough to be asked about."""
        found = np.flatnonzero(self.world.observations_per_image >= MIN_POINTS)
        if len(found) < 3:
            raise InvalidInput(
                f"a plan needs a map with at least 3 images that see {MIN_POINTS} points each, "
                f"this one has {len(found)}; take more pictures that overlap."
            )
        return found

    @cached_property
    def stretch_of(self) -> NDArray[np.int64]:
        """(I,) the number of each image's stretch; −1 for images that see too little.

        Images are put in a row, each followed by the one that looks most like it, and the row is
        cut into pieces.
        """
        first = self._row_from(int(self.usable[0]))
        row = self._row_from(first[-1])  # from an end: a row begun in the middle leaves half behind
        length = min(max(round(SHARE * len(row)), 2), MOST)
        count = len(row) // length if len(row) > 3 else len(row)  # of three, two must stay
        stretch = np.full(self.world.num_images, -1, dtype=np.int64)
        stretch[row] = np.arange(len(row)) * count // len(row)
        return stretch

    def _row_from(self, start: int) -> list[int]:
        waiting = np.zeros(self.world.num_images, dtype=np.bool_)
        waiting[self.usable] = True
        row = [start]
        waiting[start] = False
        while waiting.any():
            turn, _, parallax = self._changes(self.world.pose(row[-1]))
            change = np.where(waiting, np.hypot(turn, parallax), np.inf)
            row.append(int(np.argmin(change)))
            waiting[row[-1]] = False
        return row

    def spread(self, count: int) -> list[int]:
        """So many images to ask about: one of each stretch in turn, spread over its length."""
        left = {
            number: list(np.flatnonzero(self.stretch_of == number))
            for number in range(int(self.stretch_of.max()) + 1)
        }
        found: list[int] = []
        while len(found) < min(count, len(self.usable)):
            for images in left.values():
                if images:  # the middle of a stretch first, then its ends
                    found.append(int(images.pop(len(images) // 2)))
        return found[:count]

    def left_out(self, image: int, degrees: float | None = None) -> NDArray[np.int64]:
        """The images to leave out to ask about this one: its stretch, or all that are nearer.

        degrees  the nearest view that stays differs by about so much
        """
        if degrees is None:
            return np.flatnonzero(self.stretch_of == self.stretch_of[image])
        turn, _, parallax = self._changes(self.world.pose(image))
        change = np.hypot(turn, parallax)
        change[image] = -1.0
        order = np.argsort(change, kind="stable")
        nearest = 1 + int(np.nanargmin(np.abs(change[order[1:]] - degrees)))
        return np.sort(order[:nearest])

    def nearest(self, pose: Pose, without: NDArray[np.int64] | None = None) -> ViewChange:
        """How a pose differs from the nearest view of the map that sees something."""
        turn, distance, parallax = self._changes(pose)
        change = np.hypot(turn, parallax)
        if without is not None:
            change[without] = np.nan
        best = int(np.nanargmin(change))
        return ViewChange(float(turn[best]), float(distance[best]), float(parallax[best]))

    def _changes(self, pose: Pose) -> tuple[NDArray[np.float64], ...]:
        cosine = (np.einsum("nij,ij->n", self._rotations, pose.rotation) - 1) / 2
        distance = np.linalg.norm(self._centers - pose.center, axis=1)
        turn = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
        return turn, distance, np.degrees(np.arctan2(distance, self._depths))
