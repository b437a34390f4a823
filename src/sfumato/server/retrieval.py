"""Which part of the map a release looks at, from the release alone.

No global descriptor is needed. Candidate matches vote for the images they were found in; in the
images with more votes than chance explains, candidates are counted that have neighbours moving
with them (`matching/support.py`). The images that stand out, with those that see the same
points, are the regions of the map where a pose is sought. Where a device sent a global descriptor
too (`server/global_retrieval.py`), its scores are added to both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sfumato.core.releases import KeypointRelease
from sfumato.matching.support import (
    SupportOptions,
    count_supporters,
    positions,
    support_radius,
)
from sfumato.server.mapping.map import Map

_NULL_SEED = 1


@dataclass(frozen=True)
class RetrievalOptions:
    """How widely and how deeply to look.

    max_images    images whose candidates are examined for neighbours; None: 48, a third of a larger
                  map up to 96, because votes say less where more images share them
    num_regions   regions handed on to pose estimation
    region_size   images of one region: a seed and those that share most points with it
    """

    max_images: int | None = None
    num_regions: int = 30
    region_size: int = 3
    support: SupportOptions = field(default_factory=SupportOptions)

    def num_searched(self, num_images: int) -> int:
        """Of so many images that see something."""
        return min(max(num_images // 3, 48), 96) if self.max_images is None else self.max_images


@dataclass(frozen=True, eq=False)
class CandidateMatches:
    """Keypoints of the query and features of the map that may show the same point.

    keypoint  (n,) row of the query
    row       (n,) feature row of the map
    weight    (n,) higher where a match is less likely to be chance (rare words)
    """

    keypoint: NDArray[np.int64]
    row: NDArray[np.int64]
    weight: NDArray[np.float64]

    def without(self, rows: slice) -> CandidateMatches:
        """The same without these features of the map, to ask an image about itself."""
        kept = (self.row < rows.start) | (self.row >= rows.stop)
        return CandidateMatches(self.keypoint[kept], self.row[kept], self.weight[kept])


@dataclass(frozen=True, eq=False)
class MapRegion:
    """Candidate matches in one part of the map, the most promising first.

    images    (k,) the seed first
    keypoint  (n,) row of the query, and point (n,) of the map: each pair once
    support   (n,) neighbours that move with it, over all images of the region
    rarity    (n,) higher where the match is less likely to be chance (rare words)
    """

    images: NDArray[np.int64]
    keypoint: NDArray[np.int64]
    point: NDArray[np.int64]
    support: NDArray[np.float64]
    rarity: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Regions of the map to seek a pose in, and the candidates of all images, to refine it with."""

    map_regions: Sequence[MapRegion]
    all_candidates: MapRegion


def retrieve_map_regions(
    release: KeypointRelease,
    candidates: CandidateMatches,
    world: Map,
    options: RetrievalOptions,
    *,
    shortlist: NDArray[np.int64] | None = None,
    voted: NDArray[np.int64] | None = None,
    image_scores: NDArray[np.float64] | None = None,
) -> Retrieval:
    """The most promising regions, best first; `shortlist` replaces the vote where it is given.

    `voted` is what the vote said, where it was held elsewhere. `image_scores` of a global
    descriptor count as the votes and the support do: in standard deviations above chance.
    """
    by_image = _ByImage(release, candidates, world, options.support)
    given = shortlist is not None
    if shortlist is None:
        shortlist = voted
    if shortlist is None:
        shortlist = _most_voted(release, candidates, by_image.image, world, options, image_scores)
    by_image.sort_out(shortlist)
    scores = np.array([by_image.score(int(image)) for image in shortlist])
    if image_scores is not None:
        scores = scores + image_scores[shortlist]
    together: list[NDArray[np.int64]] = []
    covered: set[int] = set()
    for rank in np.argsort(-scores, kind="stable"):
        seed = int(shortlist[rank])
        if len(together) == options.num_regions:
            break
        if seed in covered:
            continue
        images = world.covisible(seed, options.region_size)
        if given:  # who names the images to search must not be answered from others
            images = images[np.isin(images, shortlist)]
        covered.update(images.tolist())
        together.append(images)
    by_image.sort_out(np.array(sorted(covered), dtype=np.int64))
    map_regions = _Regions(by_image, together)
    return Retrieval(map_regions, by_image.region(np.asarray(shortlist)))


def _most_voted(
    release: KeypointRelease,
    candidates: CandidateMatches,
    image: NDArray[np.int64],
    world: Map,
    options: RetrievalOptions,
    image_scores: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """Images whose weighted votes lie farthest above what their number of features explains.

    An image that sees no point of the map has nothing to say, wherever it stands.
    """
    sizes = world.observations_per_image
    seeing = np.flatnonzero(sizes)
    count = options.num_searched(len(seeing))
    if len(seeing) <= count:
        return seeing
    weight_of = np.zeros(len(release))
    weight_of[candidates.keypoint] = candidates.weight
    expected = expected_votes(np.bincount(candidates.keypoint, minlength=len(release)), weight_of)
    scores = vote_scores(image, candidates.weight, sizes, expected, int(sizes.sum()))
    if image_scores is not None:
        scores = scores + image_scores
    return seeing[np.argsort(-scores[seeing], kind="stable")[:count]]


def expected_votes(count: NDArray[np.int64], weight: NDArray[np.float64]) -> tuple[float, float]:
    """All votes of a map and all their squares, from how many candidates each keypoint has.

    Not from what each image got: whoever has a part of the images can then tell it as well.
    """
    return float((count * weight).sum()), float((count * weight * weight).sum())


def vote_scores(
    image: NDArray[np.int64],
    weight: NDArray[np.float64],
    sizes: NDArray[np.int64],
    expected: tuple[float, float],
    num_observations: int,
) -> NDArray[np.float64]:
    """How far the votes of each image lie above chance, in standard deviations.

    sizes  observations of each image, of num_observations in the whole map
    """
    votes = np.bincount(image, weights=weight, minlength=len(sizes))
    by_chance, squares = (every * sizes / max(num_observations, 1) for every in expected)
    return np.asarray((votes - by_chance) / np.sqrt(np.maximum(squares, 1e-12)))


class _ByImage:
    """Candidate matches grouped by the image of the map they were found in."""

    def __init__(
        self,
        release: KeypointRelease,
        candidates: CandidateMatches,
        world: Map,
        options: SupportOptions,
    ) -> None:
        self._keypoints, self._world, self._options = release.keypoints, world, options
        self._position = positions(release.keypoints)
        self._area = float(release.image_size[0] * release.image_size[1])
        self._candidates = candidates
        self.image = world.image_of(candidates.row)
        self._part_of: dict[int, NDArray[np.int64]] = {}
        self._support_of: dict[int, NDArray[np.int64]] = {}

    def sort_out(self, images: NDArray[np.int64]) -> None:
        """Sort out the candidates of these images; the others, by far the most, stay unsorted."""
        images = np.setdiff1d(images, np.array([*self._part_of], dtype=np.int64))
        wanted = np.zeros(self._world.num_images, dtype=np.bool_)
        wanted[images] = True
        rows = np.flatnonzero(wanted[self.image])
        rows = rows[np.argsort(self.image[rows], kind="stable")]
        start = np.searchsorted(self.image[rows], images)
        stop = np.searchsorted(self.image[rows], images, side="right")
        for image, first, last in zip(images.tolist(), start, stop, strict=True):
            self._part_of[image] = rows[first:last]

    def _supporters(self, image: int, *, shuffled: bool = False) -> NDArray[np.int64]:
        part = self._part_of[image]
        keypoint = self._candidates.keypoint[part]
        query = self._keypoints[keypoint]
        reference = np.asarray(self._world.keypoints[self._candidates.row[part]])
        if shuffled:  # the same positions with other partners: what chance makes of them
            reference = np.random.default_rng(_NULL_SEED).permutation(reference)
        camera = self._world.camera(image)
        radius = support_radius(
            len(query), self._area, float(camera.width * camera.height), self._options
        )
        position = self._position[keypoint]
        return count_supporters(query, reference, position, radius, self._options)

    def support(self, image: int) -> NDArray[np.int64]:
        if image not in self._support_of:
            self._support_of[image] = self._supporters(image)
        return self._support_of[image]

    def score(self, image: int) -> float:
        supporters = int(self.support(image).sum())
        by_chance = int(self._supporters(image, shuffled=True).sum())
        return (supporters - by_chance) / float(np.sqrt(by_chance + 1))

    def region(self, images: NDArray[np.int64]) -> MapRegion:
        if not len(images):
            nothing = np.zeros(0, dtype=np.int64)
            return MapRegion(nothing, nothing, nothing, np.zeros(0), np.zeros(0))
        parts = np.concatenate([self._part_of[int(image)] for image in images])
        keypoint = self._candidates.keypoint[parts]
        rows = self._candidates.row[parts]
        point = np.asarray(self._world.point_of_feature[rows], dtype=np.int64)
        support = np.concatenate([self.support(int(image)) for image in images])
        weight = self._candidates.weight[parts]
        return MapRegion(images, *_merged(keypoint, point, support, weight))


class _Regions(Sequence[MapRegion]):
    """Regions made when they are asked for: most queries need the first few of thirty."""

    def __init__(self, by_image: _ByImage, together: list[NDArray[np.int64]]) -> None:
        self._by_image, self._together = by_image, together
        self._made: dict[int, MapRegion] = {}

    def __len__(self) -> int:
        return len(self._together)

    @overload
    def __getitem__(self, index: int) -> MapRegion: ...
    @overload
    def __getitem__(self, index: slice) -> list[MapRegion]: ...
    def __getitem__(self, index: int | slice) -> MapRegion | list[MapRegion]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        number = range(len(self))[index]
        if number not in self._made:
            self._made[number] = self._by_image.region(self._together[number])
        return self._made[number]


def _merged(
    keypoint: NDArray[np.int64],
    point: NDArray[np.int64],
    support: NDArray[Any],
    weight: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Each pair once, its support added up over images; most support first, then rarity."""
    span = np.int64(point.max() + 1) if len(point) else np.int64(1)
    pairs, index = np.unique(keypoint * span + point, return_inverse=True)
    total = np.bincount(index, weights=support, minlength=len(pairs))
    rarity = np.bincount(index, weights=weight, minlength=len(pairs)).astype(np.float64)
    order = np.lexsort((-rarity, -total))
    keypoint, point = np.divmod(pairs[order], span)
    return (
        keypoint,
        point,
        total[order].astype(np.float64),
        rarity[order],
    )
