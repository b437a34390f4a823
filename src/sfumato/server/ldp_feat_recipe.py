"""The recipe of LDP-FEAT, its gaps filled by what fits its numbers, to stand beside ours.

Every keypoint matches every point of the map filed under any word it sent; plain RANSAC decides;
the pose with most inliers is returned if it has twelve. The paper takes the 20 reference images
to match from a raw global descriptor, which leaks outside its guarantee. Here the shortlist is
all images, those with most votes of the words themselves, or a given one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_choice, check_count, check_same_extractor
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import nearest_rotation
from sfumato.core.lens import from_corner
from sfumato.core.releases import WordRelease
from sfumato.core.types import Camera, Localization, Pose
from sfumato.dictionary import Dictionary
from sfumato.matching.nearest import mutual_nearest
from sfumato.server.mapping.map import Map

MATCHING = ("vocabulary", "nearest")
MIN_INLIERS = 12
#: The paper allows 10⁷; with 10⁴ it loses a fifth of its poses [ldp-feat, Table 3].
MAX_ITERATIONS = 20_000
MAX_ERROR = 6.0  # pixels, as our own pose estimation has

_Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def paper_localize(
    release: WordRelease,
    world: Map,
    *,
    dictionary: Dictionary | None = None,
    camera: Camera | None = None,
    top_images: int | None = None,
    shortlist: NDArray[np.int64] | None = None,
    matching: str = "vocabulary",
    max_iterations: int = MAX_ITERATIONS,
    max_error: float = MAX_ERROR,
) -> Localization:
    """Where was this release taken, by the published recipe?  [ldp-feat, §6.2]

    top_images  match only the images with most votes; shortlist names the images instead
    matching    "vocabulary", or "nearest": mutual nearest neighbours between the vectors of the
                words sent and the map's descriptors (the ablation of Table 3)

    No test says whether chance explains the pose: log10_chance is 0.
    """
    camera = camera or release.camera
    if camera is None:
        raise InvalidInput("a pose needs the camera's intrinsics; the release carries none.")
    check_choice("matching", matching, MATCHING)
    check_count("max_iterations", max_iterations, low=1)
    if top_images is not None:
        check_count("top_images", top_images, low=1)
    check_same_extractor("the map", world.extractor, "the release", release.extractor)
    keypoint, row = world.word_index_of(release, dictionary).lookup(release.words)
    if shortlist is None and top_images is not None:
        shortlist = most_voted(row, world, top_images)
    if matching == "nearest":
        keypoint, row = _match_nearest(release, world, dictionary, shortlist)
    elif shortlist is not None:
        inside = np.isin(world.image_of(row), shortlist)
        keypoint, row = keypoint[inside], row[inside]
    keypoint, point = _each_once(keypoint, np.asarray(world.point_of_feature)[row])
    image_points = from_corner(release.keypoints[keypoint])
    world_points = np.asarray(world.points, dtype=np.float64)[point]
    return _ransac(image_points, world_points, camera, max_iterations, max_error)


def most_voted(row: NDArray[np.int64], world: Map, count: int) -> NDArray[np.int64]:
    """The images with most candidate matches: a shortlist from the words alone."""
    votes = np.bincount(world.image_of(row), minlength=world.num_images)
    return np.argsort(-votes, kind="stable")[:count]


def _match_nearest(
    release: WordRelease,
    world: Map,
    dictionary: Dictionary | None,
    shortlist: NDArray[np.int64] | None,
) -> _Pairs:
    """Mutual nearest neighbours; a word is one vector, however many keypoints sent it."""
    if dictionary is None:
        raise InvalidInput("nearest matching compares word vectors; give the dictionary.")
    if dictionary.num_words != release.num_words:
        dictionary = dictionary.at(release.num_words)
    rows = world.observations()
    if shortlist is not None:
        rows = rows[np.isin(world.image_of(rows), shortlist)]
    sent = np.unique(release.words)
    word, nearest = mutual_nearest(dictionary.words[sent], np.asarray(world.descriptors[rows]))
    row_of_word = np.full(dictionary.num_words, -1, dtype=np.int64)
    row_of_word[sent[word]] = rows[nearest]
    found = row_of_word[release.words.astype(np.int64)]
    keypoint, _ = np.nonzero(found >= 0)
    return keypoint, found[found >= 0]


def _each_once(keypoint: NDArray[np.int64], point: NDArray[Any]) -> _Pairs:
    """Pairs of a keypoint and a point, each once although several images saw the point."""
    span = np.int64(point.max() + 1) if len(point) else np.int64(1)
    pairs = np.unique(keypoint.astype(np.int64) * span + point)
    return pairs // span, pairs % span


def _ransac(
    image_points: NDArray[np.float64],
    world_points: NDArray[np.float64],
    camera: Camera,
    max_iterations: int,
    max_error: float,
) -> Localization:
    import poselib

    count = len(image_points)
    if count < MIN_INLIERS:
        return Localization(None, 0, count, 0.0, f"{count} candidate matches give no pose")
    found, facts = poselib.estimate_absolute_pose(
        image_points,
        world_points,
        camera.as_dict(),
        {
            "max_reproj_error": max_error,
            "max_iterations": max_iterations,
            "min_iterations": min(1000, max_iterations),
            "progressive_sampling": False,
        },
        {},
    )
    inliers = int(facts["num_inliers"])
    rotation, translation = np.asarray(found.R), np.asarray(found.t)
    if inliers < MIN_INLIERS or not np.isfinite([*rotation.ravel(), *translation]).all():
        reason = f"{inliers} inliers, {MIN_INLIERS} needed"
        return Localization(None, inliers, count, 0.0, reason)
    return Localization(Pose(nearest_rotation(rotation), translation), inliers, count, 0.0)
