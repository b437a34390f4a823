"""What shards have cut out for one query, put together as one small map.

Images, points and rows get new numbers in the order of the old ones. Whatever sorts or compares
them comes to the same result, so a pose is bit for bit what the whole map would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.types import Camera
from sfumato.server.mapping.assemble import share_cameras
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.own_error import FACT
from sfumato.server.retrieval import CandidateMatches
from sfumato.server.shards.shard import Message
from sfumato.server.shards.stored import Head

Rows = NDArray[np.int64]

_NONE = np.zeros(0, dtype=np.int64)
#: What is known where no shard answers.
_EMPTY: Message = {
    "rotations": np.zeros((0, 3, 3)),
    "translations": np.zeros((0, 3)),
    "cameras": [],
    "covisible": np.zeros((0, 1), dtype=np.int64),
    "counts": _NONE,
    "keypoints": np.zeros((0, 2), dtype=np.float32),
    "point_of_feature": _NONE,
    "point": _NONE,
    "place": np.zeros((0, 3)),
    "keypoint": _NONE,
    "row": _NONE,
    "weight": np.zeros(0),
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MapCut(Map):
    """Some images of a map, with what only the whole map knows.

    together  (I, 8) of each image those that saw most of its points, where they are here; −1
    whole     observations of the whole map
    """

    together: Rows
    whole: int

    @property
    def num_observations(self) -> int:
        return self.whole

    def covisible(self, image: int, count: int) -> Rows:
        found = self.together[image, :count]
        return np.asarray(found[found >= 0])


def join_cuts(
    cuts: Sequence[tuple[Rows, Message]], head: Head
) -> tuple[MapCut, Rows, CandidateMatches]:
    """The map of all cuts, the numbers of its images in the whole one, and the candidates.

    cuts  of each shard the images that were asked for, rising, and its answer
    """
    cuts = cuts or [(_NONE, _EMPTY)]
    images = np.concatenate([own for own, _ in cuts])
    order = np.argsort(images)
    images = images[order]
    counts = _joined(cuts, "counts")
    # Rows of the shards' answers one after the other, and where each comes to lie.
    first = np.cumsum(counts) - counts
    rows = np.concatenate([_NONE, *(np.arange(first[i], first[i] + counts[i]) for i in order)])
    new_row = np.empty(len(rows), dtype=np.int64)
    new_row[rows] = np.arange(len(rows))
    offsets = np.cumsum([0, *(len(cut["keypoints"]) for _, cut in cuts)])
    point, where = np.unique(_joined(cuts, "point"), return_index=True)
    cameras = [Camera(m, w, h, tuple(p)) for _, cut in cuts for m, w, h, p in cut["cameras"]]
    shared, camera_of_image = share_cameras([cameras[i] for i in order])
    seen = np.searchsorted(point, _joined(cuts, "point_of_feature")[rows])
    world = MapCut(
        points=_joined(cuts, "place")[where],
        rotations=_joined(cuts, "rotations")[order],
        translations=_joined(cuts, "translations")[order],
        camera_of_image=np.array(camera_of_image, dtype=np.int32),
        feature_start=np.concatenate([[0], np.cumsum(counts[order])]).astype(np.int64),
        keypoints=_joined(cuts, "keypoints")[rows],
        descriptors=np.zeros((len(rows), 0), dtype=np.uint8),
        point_of_feature=seen.astype(np.int32),
        image_names=("",) * len(images),
        cameras=shared,
        extractor=head.extractor,
        facts=_facts(images, head),
        together=new_numbers(_joined(cuts, "covisible")[order], images),
        whole=head.num_observations,
    )
    row = np.concatenate(
        [cut["row"] + offset for (_, cut), offset in zip(cuts, offsets, strict=False)]
    )
    candidates = CandidateMatches(_joined(cuts, "keypoint"), new_row[row], _joined(cuts, "weight"))
    return world, images, candidates


def new_numbers(images: Rows, known: Rows) -> Rows:
    """The places of images among those known, which rise; −1 for others."""
    place = np.searchsorted(known, images)
    inside = np.append(known, -1)[place] == images
    return np.where(inside & (images >= 0), place, -1)


def _facts(images: Rows, head: Head) -> dict[str, Any]:
    """The scenes of these images with their own errors, as a joined map has them."""
    scenes = []
    for first, last, facts in head.scenes:
        count = int(np.count_nonzero((images >= first) & (images < last)))
        if count:
            scenes.append({"images": count, FACT: facts})
    return {"scenes": scenes}


def _joined(cuts: Sequence[tuple[Rows, Message]], name: str) -> NDArray[Any]:
    return np.concatenate([cut[name] for _, cut in cuts])
