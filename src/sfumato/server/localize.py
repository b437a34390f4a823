"""Release → Localization, on one page."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_finite, check_same_extractor, check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.core.gravity import Gravity
from sfumato.core.lens import check_possible
from sfumato.core.releases import KeypointRelease, PlainRelease, SubspaceRelease, WordRelease
from sfumato.core.types import Camera, Localization
from sfumato.dictionary import Dictionary
from sfumato.matching.nearest import mutual_nearest
from sfumato.matching.subspace import mutual_nearest as mutual_nearest_subspaces
from sfumato.server.excerpt import MapExcerpt, MapInParts
from sfumato.server.guided import improve_pose, search_pose
from sfumato.server.mapping.map import Map
from sfumato.server.pose import (
    PoseOptions,
    PoseProblem,
    covers_picture,
    estimate_pose,
    polish_pose,
    tell_pose,
)
from sfumato.server.retrieval import (
    CandidateMatches,
    Retrieval,
    RetrievalOptions,
    retrieve_map_regions,
)
from sfumato.server.upright import WorldGravity, gravity_in


@dataclass(frozen=True)
class LocalizeOptions:
    """All that can be tuned.

    words_each  words an observation of the map is filed under; 2 finds somewhat more at ε ≥ 7,
                in two to three times the time
    """

    words_each: int = 1
    retrieval: RetrievalOptions = field(default_factory=RetrievalOptions)
    pose: PoseOptions = field(default_factory=PoseOptions)


def localize(
    release: KeypointRelease,
    world: Map | MapInParts,
    *,
    camera: Camera | None = None,
    dictionary: Dictionary | None = None,
    shortlist: NDArray[np.int64] | None = None,
    gravity: Gravity | WorldGravity | None = None,
    image_scores: NDArray[np.float64] | None = None,
    options: LocalizeOptions | None = None,
) -> Localization:
    """Where was this release taken? A pose, or the reason why none is given.

    `camera` stands in where the release carries none. `dictionary` is needed once, to file a
    map under its words. `shortlist` names images of the map and replaces retrieval. `gravity`
    helps where a device has an IMU, and the map knows which way is up. `image_scores`, one for
    each image, are added to the words' votes (`GlobalIndex.scores`). A map may lie in several
    places (`server/shards/`); the answer is the same, and says so where one of them did not answer.

    >>> from sfumato.datasets import GallerySettings, load_gallery, map_scene
    >>> room = load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=2))
    >>> world = map_scene(room)
    >>> query, words = room.queries[1], sf.Dictionary.load("bsds-16k")
    >>> release = sf.protect(
    ...     query.image, sf.Pipeline(sf.SubsetMechanism(12, 2, words)), camera=query.camera
    ... )
    >>> sf.localize(release, world, dictionary=words).localized
    True
    """
    options = options or LocalizeOptions()
    camera = camera or release.camera
    if camera is None:
        raise InvalidInput("a pose needs the camera's intrinsics; the release carries none.")
    check_possible(camera)
    known = None if gravity is None else gravity_in(world, gravity)
    check_same_extractor("the map", world.extractor, "the release", release.extractor)
    if isinstance(world, Map):
        candidates = match_release(release, world, dictionary, words_each=options.words_each)
        retrieval = retrieve_map_regions(
            release,
            candidates,
            world,
            options.retrieval,
            shortlist=shortlist,
            image_scores=_checked_scores(image_scores, world, shortlist),
        )
        return best_pose(retrieval, problem_of(release, world, camera, known, options))
    if image_scores is not None:
        raise InvalidInput("image_scores need a whole map, this one is in parts; leave them out.")
    (part,) = world.excerpts([release], options.retrieval, options.words_each, shortlist)
    problem = problem_of(release, part.world, camera, known, options)
    return part.told(best_pose(regions_of(release, part, options), problem))


def _checked_scores(
    scores: NDArray[np.float64] | None, world: Map, shortlist: NDArray[np.int64] | None
) -> NDArray[np.float64] | None:
    if scores is None:
        return None
    if shortlist is not None:
        raise InvalidInput("a shortlist replaces the ranking of images; leave out image_scores.")
    values = np.asarray(scores, dtype=np.float64)
    check_shape("image_scores", values, (world.num_images,))
    check_finite("image_scores", values)
    return values


def regions_of(release: KeypointRelease, part: MapExcerpt, options: LocalizeOptions) -> Retrieval:
    """The regions of the map in which to seek a pose."""
    return retrieve_map_regions(
        release,
        part.candidates,
        part.world,
        options.retrieval,
        shortlist=part.shortlist,
        voted=part.voted,
    )


def problem_of(
    release: KeypointRelease,
    world: Map,
    camera: Camera,
    gravity: WorldGravity | None,
    options: LocalizeOptions,
) -> PoseProblem:
    """What a pose must explain."""
    words = release if isinstance(release, WordRelease) else None
    return PoseProblem(release.keypoints, world.points, camera, options.pose, gravity, world, words)


def match_release(
    release: KeypointRelease,
    world: Map,
    dictionary: Dictionary | None = None,
    *,
    words_each: int = 1,
) -> CandidateMatches:
    """Every pair of a keypoint and a feature of the map that may belong together."""
    if isinstance(release, WordRelease):
        index = world.word_index_of(release, dictionary, words_each=words_each)
        keypoint, row = index.lookup(release.words)
        filed = index.counts(release.words).sum(axis=1)
        return CandidateMatches(keypoint, row, 1 / np.maximum(filed, 1)[keypoint])
    rows = world.observations()
    descriptors = np.asarray(world.descriptors[rows])
    if isinstance(release, PlainRelease):
        keypoint, nearest = mutual_nearest(release.descriptors, descriptors)
    elif isinstance(release, SubspaceRelease):
        keypoint, nearest = mutual_nearest_subspaces(release, unit_vectors(descriptors, np.float32))
    else:
        raise InvalidInput(
            f"a release of {release.kind} cannot be localized; send words, subspaces or raw "
            "descriptors."
        )
    return CandidateMatches(keypoint, rows[nearest], np.ones(len(keypoint)))


def best_pose(retrieval: Retrieval, problem: PoseProblem) -> Localization:
    """Solve region after region until one is sure; answer only if chance cannot explain it.

    A single region can be sure of a pose that is a little off, when all it sees is one poster.
    So unless its inliers lie all over the picture several are solved, each is refined with all
    candidates, and the most inliers win.
    """
    options = problem.options
    by_positions = problem.words is not None and options.use_positions
    estimates, believed = [], []
    sure = False
    for tried, region in enumerate(retrieval.map_regions):
        if tried >= options.min_regions and (sure or by_positions):
            break  # where words were sent, the guided search looks at the rest
        estimate = estimate_pose(region, problem)
        if estimate is None:
            continue
        estimates.append(estimate)
        sure |= estimate.log10_chance <= options.sure_log10_chance
        if estimate.log10_chance <= options.max_log10_chance:
            believed.append(polish_pose(estimate, retrieval.all_candidates, problem))
            if sure and covers_picture(believed[-1], problem):
                break
    guided = search_pose(retrieval, problem) if by_positions and not believed else None
    if guided is not None:
        estimates.append(guided)
        if guided.log10_chance <= options.guided_log10_chance:
            believed.append(guided)
    # A sensor's sign is easily wrong: its axes, or up for down.
    doubt = "" if problem.gravity is None else "; gravity was given: does it point down?"
    if not estimates:
        count = len(retrieval.all_candidates.keypoint)
        reason = f"{count} candidate matches give no pose{doubt}"
        return Localization(None, 0, count, 0.0, reason)
    if believed:
        best = max(believed, key=lambda estimate: estimate.num_inliers)
        if by_positions and best is not guided and best.log10_chance > options.sure_log10_chance:
            best = improve_pose(best, retrieval, problem)
        return tell_pose(best, retrieval.all_candidates, problem)
    best = min(estimates, key=lambda estimate: estimate.log10_chance)
    needed = options.guided_log10_chance if best is guided else options.max_log10_chance
    reason = (
        f"{best.num_inliers} inliers among {best.num_matches} candidates may be chance "
        f"(10^{best.log10_chance:.1f}, 10^{needed:g} needed){doubt}"
    )
    return Localization(None, best.num_inliers, best.num_matches, best.log10_chance, reason)
