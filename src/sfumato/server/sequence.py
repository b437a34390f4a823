"""Several releases of a moving device → the pose of each, where one release says too little.

Between its frames a device knows how it moved (odometry), up to an error. Every frame's own
candidates propose poses; each is carried to all frames by the motion and judged by what all of
them see together. Evidence adds up: three frames with 15 right candidates each, where 9 fit by
chance, are believed when one of them is not. Where words do not suffice, the positions of all
keypoints are judged as well (`guided_sequence.py`). Each release is charged to the device's ledger
like any other: k frames cost k times as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.core.checks import check_same_extractor
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import nearest_rotation
from sfumato.core.lens import focal_lengths, from_corner
from sfumato.core.releases import KeypointRelease
from sfumato.core.types import Localization, Pose
from sfumato.dictionary import Dictionary
from sfumato.server.accuracy import own_error, pose_spread, stated_error
from sfumato.server.excerpt import MapExcerpt, MapInParts
from sfumato.server.fusion import SpreadPose, fuse_poses
from sfumato.server.guided import improve_pose
from sfumato.server.guided_sequence import search_frames
from sfumato.server.localize import LocalizeOptions, match_release, problem_of, regions_of
from sfumato.server.mapping.map import Map
from sfumato.server.motion import Frame, OdometryError, compose, inverse
from sfumato.server.pose import Estimate, estimate_pose, log10_chance, polish_pose
from sfumato.server.view import EXPLAINED, View, promise

#: Hypotheses that are refined with all frames, the most promising of all.
_REFINED = 6
#: Regions of each frame that propose poses.
_REGIONS = 12
_CONTRADICTS = "the motion contradicts what the frames see; ask them one by one"
_NOWHERE = Pose(np.eye(3), np.zeros(3))
#: A pose of one frame may leave the motion's by so many of its errors.
_MOST_ERRORS = 3.0


def localize_sequence(
    frames: Sequence[Frame],
    world: Map | MapInParts,
    *,
    dictionary: Dictionary | None = None,
    odometry: OdometryError | None = None,
    options: LocalizeOptions | None = None,
) -> tuple[Localization, ...]:
    """Where each release was taken: a pose for every frame, or for none with the reason.

    num_inliers, num_matches and log10_chance are of all frames together. A map may lie in several
    places, as for `localize`.

    >>> from sfumato.datasets import GallerySettings, load_gallery, map_scene
    >>> from sfumato.server.motion import Frame
    >>> from sfumato.server.sequence import localize_sequence
    >>> room = load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=2))
    >>> words = sf.Dictionary.load("bsds-16k")
    >>> pipeline = sf.Pipeline(sf.SubsetMechanism(12, 2, words))
    >>> frames = [
    ...     Frame(sf.protect(query.image, pipeline, camera=query.camera), query.pose)
    ...     for query in room.queries
    ... ]
    >>> [one.localized for one in localize_sequence(frames, map_scene(room), dictionary=words)]
    [True, True]
    """
    options, odometry = options or LocalizeOptions(), odometry or OdometryError()
    if not frames:
        raise InvalidInput("a sequence needs at least one release, got none.")
    if len({frame.release.to_bytes() for frame in frames}) < len(frames):
        raise InvalidInput(
            "the releases of a sequence must differ: one given twice is no new evidence; give it "
            "once."
        )
    parts = _look_up([frame.release for frame in frames], world, dictionary, options)
    middle = len(frames) // 2
    views = [
        _view(frame, frames[middle], abs(i - middle), part, odometry, options)
        for i, (frame, part) in enumerate(zip(frames, parts, strict=True))
    ]
    answers = _search(views, parts[0].world, options)
    return tuple(part.told(one) for part, one in zip(parts, answers, strict=True))


def _look_up(
    releases: Sequence[KeypointRelease],
    world: Map | MapInParts,
    dictionary: Dictionary | None,
    options: LocalizeOptions,
) -> tuple[MapExcerpt, ...]:
    """Of each release its candidates, and the map or the part of it in which to seek a pose."""
    for release in releases:
        check_same_extractor("the map", world.extractor, "the release", release.extractor)
    if not isinstance(world, Map):
        return world.excerpts(releases, options.retrieval, options.words_each, None)
    each = options.words_each
    return tuple(
        MapExcerpt(world, match_release(release, world, dictionary, words_each=each))
        for release in releases
    )


def _search(views: list[View], world: Map, options: LocalizeOptions) -> tuple[Localization, ...]:
    """The poses that all frames together speak for, or why there are none."""
    matches = sum(len(view.candidates.keypoint) for view in views)
    alone = [
        (view, found)
        for view in views
        for region in view.retrieval.map_regions[:_REGIONS]
        if (found := estimate_pose(region, view.problem)) is not None
    ]
    best = _best_by_words(views, alone, matches)
    limit = options.pose.max_log10_chance
    if best.log10_chance <= limit:
        sure = [(view, found) for view, found in alone if found.log10_chance <= limit]
        if not all(_explains(view, found, best.pose) for view, found in sure):
            return _without_pose(views, best, _CONTRADICTS)
        return _told(views, [_own_pose(view, best) for view in views], world, best)
    guided = search_frames(views)
    if guided is not None and guided.log10_chance <= options.pose.guided_log10_chance:
        best = Estimate(_NOWHERE, guided.num_inliers, guided.num_matches, guided.log10_chance)
        if guided.is_contradicted:
            return _without_pose(views, best, _CONTRADICTS)
        return _told(views, guided.estimates, world, best)
    if not alone:
        reason = f"{matches} candidate matches of {len(views)} frames give no pose"
        return _without_pose(views, best, reason)
    reason = (
        f"{best.num_inliers} inliers among {matches} candidates of {len(views)} frames may be "
        f"chance (10^{best.log10_chance:.1f}, 10^{limit:g} needed)"
    )
    return _without_pose(views, best, reason)


def _best_by_words(
    views: Sequence[View], alone: Sequence[tuple[View, Estimate]], matches: int
) -> Estimate:
    """The pose of the rig that the candidates of all frames speak for most."""
    if not alone:
        return Estimate(_NOWHERE, 0, matches, 0.0)
    proposed = [compose(inverse(view.from_rig), found.pose) for view, found in alone]
    ranked = sorted(proposed, key=lambda rig: -promise(rig, views))
    judged = [_judge(rig, views) for rig in ranked[:_REFINED]]
    # One frame may be surer alone than all together, where the others see a bare wall.
    several = math.log10(len(views) + 1)
    judged += [
        replace(found, pose=rig, num_matches=matches, log10_chance=found.log10_chance + several)
        for rig, (_, found) in zip(proposed, alone, strict=True)
    ]
    return min(judged, key=lambda one: one.log10_chance)


def _without_pose(views: Sequence[View], best: Estimate, reason: str) -> tuple[Localization, ...]:
    found = Localization(None, best.num_inliers, best.num_matches, best.log10_chance, reason)
    return (found,) * len(views)


def _told(
    views: Sequence[View], own: Sequence[Estimate | None], world: Map, best: Estimate
) -> tuple[Localization, ...]:
    """The pose of every frame by what all know, with its expected error."""
    evidence = (best.num_inliers, best.num_matches, best.log10_chance)
    known = [
        None if one is None else SpreadPose(one.pose, *pose_spread(one, view.problem))
        for view, one in zip(views, own, strict=True)
    ]
    first = next((one for one in own if one is not None), None)
    if first is None:  # no frame has enough matches of its own
        return tuple(Localization(view.pose(best.pose), *evidence) for view in views)
    shared = own_error(first, world)
    fused = fuse_poses(known, [view.from_rig for view in views], views[0].odometry)
    return tuple(
        Localization(
            one.pose, *evidence, error=stated_error(one.scatter + shared.covariance(one.shared))
        )
        for one in fused
    )


def _view(
    frame: Frame,
    middle: Frame,
    steps: int,
    part: MapExcerpt,
    odometry: OdometryError,
    options: LocalizeOptions,
) -> View:
    release, camera = frame.release, frame.camera or frame.release.camera
    if camera is None:
        raise InvalidInput("a pose needs the camera's intrinsics; a release carries none.")
    return View(
        problem_of(release, part.world, camera, None, options),
        regions_of(release, part, options),
        compose(frame.motion, inverse(middle.motion)),
        odometry,
        steps,
    )


def _judge(rig: Pose, views: Sequence[View]) -> Estimate:
    """Refine a pose of the rig with all frames, and weigh what fits it."""
    for tolerance in (2.0, 1.0, 1.0):
        rig = _refined(rig, views, tolerance) or rig
    count, expected = 0, 0.0
    for view in views:
        seen, by_chance = view.weigh(rig)
        count, expected = count + seen, expected + by_chance
    sizes = [len(view.candidates.keypoint) for view in views]
    # Every frame's candidates proposed poses: as many could have been tried as by all of them.
    chance = log10_chance(count, expected, max(sizes)) + math.log10(len(views))
    return Estimate(rig, count, sum(sizes), chance)


def _refined(rig: Pose, views: Sequence[View], tolerance: float) -> Pose | None:
    import poselib

    pixels, points, places, cameras = [], [], [], []
    limits = []
    for view in views:
        fits, limit, _ = view.fits(rig, tolerance)
        keypoints, world_points = view.problem.matches(view.candidates)
        pixels.append(from_corner(keypoints[fits]))
        points.append(world_points[fits])
        places.append(_poselib(view.from_rig))
        cameras.append(view.problem.camera.as_dict())
        limits.append(limit)
    if sum(map(len, pixels)) < 4:
        return None
    loss = {"loss_type": "CAUCHY", "loss_scale": float(np.mean(limits)) / 3}
    found, _ = poselib.refine_generalized_absolute_pose(
        pixels, points, _poselib(rig), places, cameras, loss
    )
    if not (np.isfinite(found.R).all() and np.isfinite(found.t).all()):
        return None
    return Pose(nearest_rotation(found.R), np.asarray(found.t, dtype=np.float64))


def _own_pose(view: View, best: Estimate) -> Estimate | None:
    """The frame's pose by its own candidates, where they are enough and odometry allows it."""
    count, expected = view.weigh(best.pose)
    # The place is known by now: nothing was tried, so chance is that of this one pose.
    chance = log10_chance(count, expected, 1)
    if chance > view.problem.options.max_log10_chance:
        return None
    start = replace(best, pose=view.pose(best.pose), num_inliers=0, log10_chance=chance)
    own = polish_pose(start, view.candidates, view.problem)
    if chance > view.problem.options.sure_log10_chance:
        own = improve_pose(own, view.retrieval, view.problem)
    return own if own.num_inliers and _agrees(view, own.pose, best.pose) else None


def _explains(view: View, alone: Estimate, rig: Pose) -> bool:
    """Whether the carried pose explains what a frame is sure of alone.

    A frame may be sure of the place and not of the angle, so poses are not compared.
    """
    count, expected = view.weigh(rig)
    return count - expected >= EXPLAINED * alone.num_inliers


def _agrees(view: View, own: Pose, rig: Pose) -> bool:
    """Whether a frame's own pose is the carried one, up to the errors of both."""
    carried = view.pose(rig)
    distance, degrees = own.error_to(carried)
    _, depth = view.errors(carried)
    limit = view.limit(depth)
    middle = float(np.median(depth[depth > 0])) if (depth > 0).any() else 0.0
    slack = limit / max(focal_lengths(view.problem.camera))
    way = view.odometry.share * float(np.linalg.norm(view.from_rig.center))
    is_near = distance <= _MOST_ERRORS * (way + slack * middle)
    return is_near and degrees <= _MOST_ERRORS * math.degrees(slack)


def _poselib(pose: Pose) -> Any:
    import poselib

    made = poselib.CameraPose()
    made.R, made.t = pose.rotation, pose.translation
    return made
