"""Several releases of a moving device → the pose of each, where one release says too little.

Between its frames a device knows how it moved (odometry), up to an error. Every frame's own
candidates propose poses; each is carried to all frames by the motion and judged by what all of
them see together. Evidence adds up: three frames with 15 right candidates each, where 9 fit by
chance, are believed when one of them is not. Each release is charged to the device's ledger like
any other: k frames cost k times as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_same_extractor
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import nearest_rotation
from sfumato.core.lens import focal_lengths, from_corner, project
from sfumato.core.types import Localization, Pose
from sfumato.dictionary import Dictionary
from sfumato.server.localize import LocalizeOptions, match_release
from sfumato.server.mapping.map import Map
from sfumato.server.motion import Frame, OdometryError, compose, inverse
from sfumato.server.pose import (
    Estimate,
    PoseProblem,
    estimate_pose,
    expected_by_chance,
    log10_chance,
    polish_pose,
)
from sfumato.server.retrieval import MapRegion, retrieve_map_regions

#: Hypotheses that are refined with all frames, the most promising of all.
_REFINED = 6
#: Regions of each frame that propose poses.
_REGIONS = 12
_NOWHERE = Pose(np.eye(3), np.zeros(3))
#: Of what a frame is sure of alone, the part that the carried pose explains at least.
_EXPLAINED = 0.25
#: A pose of one frame may leave the motion's by so many of its errors.
_MOST_ERRORS = 3.0


@dataclass(frozen=True, eq=False)
class _View:
    """A frame with its candidates; cam_from_rig by odometry, the middle frame is the rig.

    steps  frames between it and the middle one
    """

    problem: PoseProblem
    regions: tuple[MapRegion, ...]
    candidates: MapRegion
    from_rig: Pose
    area: float
    steps: int

    def pose(self, rig: Pose) -> Pose:
        return compose(self.from_rig, rig)


def localize_sequence(
    frames: Sequence[Frame],
    world: Map,
    *,
    dictionary: Dictionary | None = None,
    odometry: OdometryError | None = None,
    options: LocalizeOptions | None = None,
) -> tuple[Localization, ...]:
    """Where each release was taken: a pose for every frame, or for none with the reason.

    num_inliers, num_matches and log10_chance are of all frames together.

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
            "the releases of a sequence must differ, one given twice is no new evidence; leave it out."
        )
    middle = len(frames) // 2
    views = [
        _view(frame, frames[middle], abs(i - middle), world, dictionary, options)
        for i, frame in enumerate(frames)
    ]
    matches = sum(len(view.candidates.keypoint) for view in views)
    alone = [
        (view, found)
        for view in views
        for region in view.regions
        if (found := estimate_pose(region, view.problem)) is not None
    ]
    if not alone:
        reason = f"{matches} candidate matches of {len(views)} frames give no pose"
        return _without_pose(views, Estimate(_NOWHERE, 0, matches, 0.0), reason)
    proposed = [compose(inverse(view.from_rig), found.pose) for view, found in alone]
    ranked = sorted(proposed, key=lambda rig: -_promise(rig, views, odometry))
    judged = [_judge(rig, views, odometry) for rig in ranked[:_REFINED]]
    # One frame may be surer alone than all together, where the others see a bare wall.
    several = math.log10(len(views) + 1)
    judged += [
        replace(found, pose=rig, num_matches=matches, log10_chance=found.log10_chance + several)
        for rig, (_, found) in zip(proposed, alone, strict=True)
    ]
    limit = options.pose.max_log10_chance
    best = min(judged, key=lambda one: one.log10_chance)
    if best.log10_chance > limit:
        reason = (
            f"{best.num_inliers} inliers among {matches} candidates of {len(views)} frames may be "
            f"chance (10^{best.log10_chance:.1f}, 10^{limit:g} needed)"
        )
        return _without_pose(views, best, reason)
    sure = [(view, found) for view, found in alone if found.log10_chance <= limit]
    if not all(_explains(view, found, best.pose, odometry) for view, found in sure):
        reason = "the motion contradicts what the frames see; ask them one by one"
        return _without_pose(views, best, reason)
    return tuple(
        Localization(_own_pose(view, best, odometry), best.num_inliers, matches, best.log10_chance)
        for view in views
    )


def _without_pose(views: Sequence[_View], best: Estimate, reason: str) -> tuple[Localization, ...]:
    found = Localization(None, best.num_inliers, best.num_matches, best.log10_chance, reason)
    return (found,) * len(views)


def _view(
    frame: Frame,
    middle: Frame,
    steps: int,
    world: Map,
    dictionary: Dictionary | None,
    options: LocalizeOptions,
) -> _View:
    release, camera = frame.release, frame.camera or frame.release.camera
    if camera is None:
        raise InvalidInput("a pose needs the camera's intrinsics; a release carries none.")
    check_same_extractor("the map", world.extractor, "the release", release.extractor)
    candidates = match_release(release, world, dictionary, words_each=options.words_each)
    found = retrieve_map_regions(release, candidates, world, options.retrieval)
    return _View(
        PoseProblem(release.keypoints, world.points, camera, options.pose),
        found.map_regions[:_REGIONS],
        found.all_candidates,
        compose(frame.motion, inverse(middle.motion)),
        float(camera.width * camera.height),
        steps,
    )


def _errors(view: _View, pose: Pose) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far each candidate is from where the pose puts it, in pixels (NaN behind), and depth."""
    keypoints, points = view.problem.matches(view.candidates)
    inside = pose.apply(points)
    away = project(view.problem.camera, inside) - keypoints
    return np.hypot(away[:, 0], away[:, 1]), inside[:, 2]


def _limit(view: _View, depth: NDArray[np.float64], odometry: OdometryError) -> float:
    """Pixels that a right candidate may be off: its own error, and what the motion adds."""
    seen = depth[depth > 0]
    middle = float(np.median(seen)) if len(seen) else math.inf
    way = float(np.linalg.norm(view.from_rig.center))
    angle = math.radians(odometry.degrees) * math.sqrt(view.steps) + odometry.share * way / middle
    return view.problem.options.max_error + max(focal_lengths(view.problem.camera)) * angle


def _fits(
    view: _View, rig: Pose, odometry: OdometryError, tolerance: float = 1.0
) -> tuple[NDArray[np.int64], float, int]:
    """Candidates that fit, within how many pixels, and how many could: those in the picture."""
    errors, depth = _errors(view, view.pose(rig))
    limit = tolerance * _limit(view, depth, odometry)
    return np.flatnonzero(errors <= limit), limit, int(np.count_nonzero(np.isfinite(errors)))


def _count(view: _View, fits: NDArray[np.int64]) -> int:
    """Each keypoint and each point of the map counted once, whichever are fewer."""
    region = view.candidates
    return min(len(np.unique(region.keypoint[fits])), len(np.unique(region.point[fits])))


def _promise(rig: Pose, views: Sequence[_View], odometry: OdometryError) -> float:
    """How far the candidates that fit in all frames exceed an even spread of wrong ones."""
    count = expected = 0.0
    for view in views:
        fits, limit, could = _fits(view, rig, odometry)
        count += _count(view, fits)
        expected += could * math.pi * limit**2 / view.area
    return (count - expected) / math.sqrt(expected + 1)


def _weigh(view: _View, rig: Pose, odometry: OdometryError) -> tuple[int, float]:
    """How many candidates of a frame fit, and how many would by chance."""
    fits, limit, _ = _fits(view, rig, odometry)
    _, points = view.problem.matches(view.candidates)
    projected = project(view.problem.camera, view.pose(rig).apply(points))
    return _count(view, fits), expected_by_chance(projected, view.problem.keypoints, limit)


def _judge(rig: Pose, views: Sequence[_View], odometry: OdometryError) -> Estimate:
    """Refine a pose of the rig with all frames, and weigh what fits it."""
    for tolerance in (2.0, 1.0, 1.0):
        rig = _refined(rig, views, odometry, tolerance) or rig
    count, expected = 0, 0.0
    for view in views:
        seen, by_chance = _weigh(view, rig, odometry)
        count, expected = count + seen, expected + by_chance
    sizes = [len(view.candidates.keypoint) for view in views]
    # Every frame's candidates proposed poses: as many could have been tried as by all of them.
    chance = log10_chance(count, expected, max(sizes)) + math.log10(len(views))
    return Estimate(rig, count, sum(sizes), chance)


def _refined(
    rig: Pose, views: Sequence[_View], odometry: OdometryError, tolerance: float
) -> Pose | None:
    import poselib

    pixels, points, places, cameras = [], [], [], []
    limits = []
    for view in views:
        fits, limit, _ = _fits(view, rig, odometry, tolerance)
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


def _own_pose(view: _View, best: Estimate, odometry: OdometryError) -> Pose:
    """The frame's pose by its own candidates, where they are enough and odometry allows it."""
    carried = view.pose(best.pose)
    count, expected = _weigh(view, best.pose, odometry)
    # The place is known by now: nothing was tried, so chance is that of this one pose.
    if log10_chance(count, expected, 1) > view.problem.options.max_log10_chance:
        return carried
    start = replace(best, pose=carried, num_inliers=0)
    own = polish_pose(start, view.candidates, view.problem).pose
    return own if _agrees(view, own, best.pose, odometry) else carried


def _explains(view: _View, alone: Estimate, rig: Pose, odometry: OdometryError) -> bool:
    """Whether the carried pose explains what a frame is sure of alone.

    A frame may be sure of the place and not of the angle, so poses are not compared.
    """
    count, expected = _weigh(view, rig, odometry)
    return count - expected >= _EXPLAINED * alone.num_inliers


def _agrees(view: _View, own: Pose, rig: Pose, odometry: OdometryError) -> bool:
    """Whether a frame's own pose is the carried one, up to the errors of both."""
    carried = view.pose(rig)
    distance, degrees = own.error_to(carried)
    _, depth = _errors(view, carried)
    limit = _limit(view, depth, odometry)
    middle = float(np.median(depth[depth > 0])) if (depth > 0).any() else 0.0
    slack = limit / max(focal_lengths(view.problem.camera))
    way = odometry.share * float(np.linalg.norm(view.from_rig.center))
    is_near = distance <= _MOST_ERRORS * (way + slack * middle)
    return is_near and degrees <= _MOST_ERRORS * math.degrees(slack)


def _poselib(pose: Pose) -> Any:
    import poselib

    made = poselib.CameraPose()
    made.R, made.t = pose.rotation, pose.translation
    return made
