"""Release → Localization, on one page."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.releases import KeypointRelease, PlainRelease, SubspaceRelease, WordRelease
from sfumato.core.types import Camera, Localization
from sfumato.dictionary import Dictionary
from sfumato.matching.nearest import mutual_nearest, unit_length
from sfumato.matching.subspace import mutual_nearest as mutual_nearest_subspaces
from sfumato.server.mapping.map import Map
from sfumato.server.pose import Estimate, PoseOptions, Question, estimate_pose, polish_pose
from sfumato.server.retrieval import Candidates, Retrieval, RetrievalOptions, retrieve_places
from sfumato.server.upright import Gravity


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
    world: Map,
    *,
    camera: Camera | None = None,
    dictionary: Dictionary | None = None,
    shortlist: NDArray[np.int64] | None = None,
    gravity: Gravity | None = None,
    options: LocalizeOptions | None = None,
) -> Localization:
    """Where was this release taken? A pose, or the reason why none is given.

    `camera` stands in where the release carries none. `dictionary` is needed once, to file a
    map under its words. `shortlist` names images of the map and replaces retrieval. `gravity`
    helps where a device has an IMU: two matches then fix a pose.
    """
    options = options or LocalizeOptions()
    camera = camera or release.camera
    if camera is None:
        raise InvalidInput("a pose needs the camera's intrinsics; the release carries none.")
    if release.extractor != world.extractor:
        raise Mismatch(
            f"the map holds {world.extractor!r} features, the release {release.extractor!r}; "
            "extract with the map's extractor."
        )
    candidates = match_release(release, world, dictionary, words_each=options.words_each)
    found = retrieve_places(release, candidates, world, options.retrieval, shortlist=shortlist)
    return best_pose(
        found, Question(release.keypoints, world.points, camera, options.pose, gravity)
    )


def match_release(
    release: KeypointRelease,
    world: Map,
    dictionary: Dictionary | None = None,
    *,
    words_each: int = 1,
) -> Candidates:
    """Every pair of a keypoint and a feature of the map that may belong together."""
    if isinstance(release, WordRelease):
        index = world.word_index_of(release, dictionary, words_each=words_each)
        keypoint, row = index.lookup(release.words)
        filed = index.counts(release.words).sum(axis=1)
        return Candidates(keypoint, row, 1 / np.maximum(filed, 1)[keypoint])
    rows = world.observations()
    descriptors = np.asarray(world.descriptors[rows])
    if isinstance(release, PlainRelease):
        keypoint, nearest = mutual_nearest(release.descriptors, descriptors)
    elif isinstance(release, SubspaceRelease):
        keypoint, nearest = mutual_nearest_subspaces(release, unit_length(descriptors))
    else:
        raise InvalidInput(
            f"a release of {release.kind} cannot be localized; send words, subspaces or raw "
            "descriptors."
        )
    return Candidates(keypoint, rows[nearest], np.ones(len(keypoint)))


def best_pose(retrieval: Retrieval, question: Question) -> Localization:
    """Solve place after place until one is sure; answer only if chance cannot explain it.

    A single place can be sure of a pose that is a little off, when all it sees is one poster.
    So several are solved, each is refined with everything, and the most inliers win.
    """
    options = question.options
    found: list[Estimate] = []
    sure = False
    for tried, place in enumerate(retrieval.places):
        if sure and tried >= options.min_places:
            break
        estimate = estimate_pose(place, question)
        if estimate is not None:
            found.append(estimate)
            sure |= estimate.log10_chance <= options.sure_log10_chance
    if not found:
        most = len(retrieval.everything.keypoint)
        return Localization(None, 0, most, 0.0, f"{most} candidate matches give no pose")
    believed = [one for one in found if one.log10_chance <= options.max_log10_chance]
    if believed:
        polished = [polish_pose(one, retrieval.everything, question) for one in believed]
        best = max(polished, key=lambda one: one.num_inliers)
        return Localization(best.pose, best.num_inliers, best.num_matches, best.log10_chance)
    best = min(found, key=lambda one: one.log10_chance)
    reason = (
        f"{best.num_inliers} inliers among {best.num_matches} candidates may be chance "
        f"(10^{best.log10_chance:.1f}, 10^{options.max_log10_chance:g} needed)"
    )
    return Localization(None, best.num_inliers, best.num_matches, best.log10_chance, reason)
