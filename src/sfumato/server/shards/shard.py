"""One shard of a map: the images of a region, and what they answer to a query.

A shard is a stored map of its own, with three arrays beside it: the numbers that its images and
points have in the whole map, and which images see the same points. A query is answered in two
steps, with messages of plain values and arrays:

    vote  the images whose candidate matches lie farthest above chance
    cut   some images: their observations, points and candidate matches

Descriptors that are sent as they are come before with a third, `nearest`. No query is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.storage import load_array, load_manifest
from sfumato.matching.nearest import nearest_of
from sfumato.matching.subspace import nearest as nearest_subspace
from sfumato.server.mapping.map import Map
from sfumato.server.retrieval import CandidateMatches, vote_scores

PLACE = "place"
PLACE_KIND = "place of a shard"
PLACE_ARRAYS = ("images", "points", "covisible")

Message = dict[str, Any]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shard:
    """The images of one region.

    images     (I,) their numbers in the whole map, rising; points (P,) those of the points
    covisible  (I, 8) of each image itself and those that saw most of its points, anywhere in the
               whole map; −1 for no more
    """

    world: Map
    images: Rows
    points: Rows
    covisible: Rows

    @staticmethod
    def load(folder: Path, *, verify: bool = True) -> Shard:
        """Open a stored shard; its arrays are memory-mapped."""
        world = Map.load(folder, verify=verify)
        manifest = load_manifest(folder / PLACE, kind=PLACE_KIND)
        arrays = [
            load_array(folder / PLACE, name, manifest, verify=verify) for name in PLACE_ARRAYS
        ]
        lengths = [world.num_images, len(world.points), world.num_images]
        if [len(array) for array in arrays] != lengths:
            raise DamagedFile(f"{folder / PLACE} belongs to another shard; make the shards again.")
        return Shard(world, *arrays)

    def answer(self, message: Message) -> Message:
        """The answer to one message; whoever sent it knows the map, so this trusts it."""
        steps = {"vote": self._vote, "cut": self._cut, "nearest": self._nearest}
        return steps[message["ask"]](message)

    def _candidates(self, message: Message) -> CandidateMatches:
        """Of this shard: by words, or the ones that are given."""
        weight = message["weight"]
        if "row" in message:
            keypoint, row = message["keypoint"], message["row"]
        else:
            index = self.world.known_index(message["index"])
            if index is None:
                raise Mismatch(
                    "a shard is not filed under this dictionary, though the map is; make the "
                    "shards again."
                )
            keypoint, row = index.lookup(message["words"])
        return CandidateMatches(keypoint, row, weight[keypoint])

    def _vote(self, message: Message) -> Message:
        candidates, sizes = self._candidates(message), self.world.observations_per_image
        image = self.world.image_of(candidates.row)
        scores = vote_scores(
            image, candidates.weight, sizes, message["expected"], message["observations"]
        )
        seeing = np.flatnonzero(sizes)
        best = seeing[np.argsort(-scores[seeing], kind="stable")[: message["count"]]]
        together = np.asarray(self.covisible[best])
        return {
            "image": np.asarray(self.images[best]),
            "score": scores[best],
            "covisible": together,
        }

    def _cut(self, message: Message) -> Message:
        """Images with all their observations, numbered from 0 in the order of the whole map."""
        world = self.world
        wanted: Rows = np.asarray(np.searchsorted(self.images, message["images"]))
        rows = np.concatenate(
            [np.arange(0), *(np.arange(*_span(world, int(image))) for image in wanted)]
        )
        point = np.asarray(world.point_of_feature[rows], dtype=np.int64)
        rows, point = rows[point >= 0], point[point >= 0]
        seen = np.unique(point)
        candidates = self._candidates(message)
        image = world.image_of(candidates.row)
        is_wanted = np.zeros(world.num_images, dtype=np.bool_)
        is_wanted[wanted] = True
        kept = np.flatnonzero(is_wanted[image])
        cameras = [world.camera(int(image)) for image in wanted]
        return {
            "rotations": np.asarray(world.rotations[wanted]),
            "translations": np.asarray(world.translations[wanted]),
            "cameras": [[c.model, c.width, c.height, list(c.params)] for c in cameras],
            "covisible": np.asarray(self.covisible[wanted]),
            "counts": np.asarray(world.observations_per_image[wanted]),
            "keypoints": np.asarray(world.keypoints[rows]),
            "point_of_feature": np.asarray(self.points[point]),
            "point": np.asarray(self.points[seen]),
            "place": np.asarray(world.points[seen]),
            "keypoint": candidates.keypoint[kept],
            "row": np.searchsorted(rows, candidates.row[kept]),
            "weight": candidates.weight[kept],
        }

    def _nearest(self, message: Message) -> Message:
        """Of every descriptor or subspace the nearest observation, and how far away it is."""
        rows = self.world.observations()
        descriptors = np.asarray(self.world.descriptors[rows])
        if not len(rows):
            return {"row": rows, "image": rows, "distance": np.zeros(0), "descriptor": descriptors}
        if "bases" in message:
            unit = unit_vectors(descriptors, np.float32)
            place, distance = nearest_subspace((message["offsets"], message["bases"]), unit)
            descriptors = unit
        else:
            distance, place = nearest_of(message["descriptors"], descriptors)
        row = rows[place]
        return {
            "row": row,
            "image": np.asarray(self.images[self.world.image_of(row)]),
            "distance": distance,
            "descriptor": descriptors[place],
        }


def _span(world: Map, image: int) -> tuple[int, int]:
    part = world.features_of(image)
    return part.start, part.stop
