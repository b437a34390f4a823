"""What a map's own images tell about its errors: each is localized by what the others saw.

A pose has errors that its matches do not show, because all matches share them: poses of the map
that were measured badly, points that are shifted together, lenses and shutters that are not what
they are said to be. The map's own images have the same errors, and their poses are known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import nearest_rotation
from sfumato.core.lens import from_corner, project, projection_slopes
from sfumato.core.types import Camera, Pose
from sfumato.matching.nearest import mutual_nearest
from sfumato.server.mapping.map import Map
from sfumato.server.pose_fit import (
    covariance_of,
    focal_fit,
    pose_slopes,
    radii,
    refine_pose,
    shared_covariance,
    step_between,
)

MAX_IMAGES = 40  # asked, spread over the map; more change the answer little
_MAX_FEATURES = 600  # of each, the strongest
_LIMIT = 6.0  # pixels, as for a query
_LEFT_OUT = 2  # the image and the one most like it: a query is seldom as near to the map
_NEIGHBOURS = 8
_MIN_MATCHES = 12
_AS_ONE = 4  # images that share more than a quarter of their points, so also their errors
_MAX_BLOWN_UP = 8.0  # variance of a point in the left-out image, over that of a keypoint
_HALVINGS = 40
#: Mean of min(z²/q, 2), where z is normal and z² ≤ q nine times in ten: errors along one axis.
_MOST, _EXPECTED = 2.0, 0.36

#: Under which name a map's facts hold it.
FACT = "own_error"
_LEARNT: WeakKeyDictionary[Map, dict[int, OwnError]] = WeakKeyDictionary()

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class OwnError:
    """The error that all matches of a picture share, learnt from images of the map.

    As an angle: how far the picture of all points is bent or shifted as a whole, so that beside
    the scatter of the matches it explains how far poses of the map's images are off.

    position_deg  what explains their positions
    rotation_deg  what explains their rotations
    focal         relative deviation of the focal lengths that their pictures fit best
    num_images    how many images it was learnt from; 0: nothing is known

    >>> from sfumato.server.mapping.own_error import OwnError
    >>> OwnError.from_facts(OwnError(0.02, 0.03, 0.001, 40).as_facts())
    OwnError(position_deg=0.02, rotation_deg=0.03, focal=0.001, num_images=40)
    """

    position_deg: float = 0.0
    rotation_deg: float = 0.0
    focal: float = 0.0
    num_images: int = 0

    def covariance(self, shared: Floats) -> Floats:
        """(6, 6) what it adds to a pose's; shared: covariance per squared radian shared by all.

        Few images tell it badly: nine of ten then lie within a wider region, by Student's law.
        """
        from scipy.special import ndtri, stdtrit

        wider = stdtrit(max(self.num_images / _AS_ONE, 1.0), 0.95) / ndtri(0.95)
        sizes = wider * np.radians(np.repeat([self.rotation_deg, self.position_deg], 3))
        return np.asarray(np.outer(sizes, sizes) * shared)

    def as_facts(self) -> dict[str, float | int]:
        """For a map's facts."""
        return asdict(self)

    @staticmethod
    def from_facts(facts: Any) -> OwnError | None:
        """What a map's facts say; None where they say nothing that can be used."""
        if not isinstance(facts, Mapping):
            return None
        told = [facts.get(name) for name in OwnError().as_facts()]
        known = [v for v in told if isinstance(v, int | float) and 0 <= v < math.inf]
        if len(known) < len(told):
            return None
        return OwnError(min(known[0], 90.0), min(known[1], 90.0), known[2], int(known[3]))


def own_error_of(world: Map, image: int) -> OwnError:
    """Of the scene of an image: what the map's facts say, else learnt now and kept in memory."""
    first, last, facts = scene_of(world, image)
    told = OwnError.from_facts(facts.get(FACT))
    if told is not None:
        return told
    kept = _LEARNT.setdefault(world, {})
    if first not in kept:
        kept[first] = learn_own_error(world, range(first, last))
    return kept[first]


def scene_of(world: Map, image: int) -> tuple[int, int, Mapping[str, Any]]:
    """The first image of a scene, the one behind its last, and what is known about it."""
    first = 0
    scenes = world.facts.get("scenes")
    for facts in scenes if isinstance(scenes, list) else []:
        count = facts.get("images") if isinstance(facts, Mapping) else None
        if not isinstance(count, int) or count < 1:
            break
        if image < first + count <= world.num_images:
            return first, first + count, facts
        first += count
    return 0, world.num_images, {} if scenes else world.facts


def learn_own_error(world: Map, images: Sequence[int] | None = None) -> OwnError:
    """Localize images of the map by points that others saw, and compare with their poses."""
    asked = np.arange(world.num_images) if images is None else np.asarray(images)
    if len(asked) > MAX_IMAGES:
        asked = asked[np.linspace(0, len(asked) - 1, MAX_IMAGES).round().astype(int)]
    known = [found for found in (_left_out(world, image) for image in asked.tolist()) if found]
    if not known:
        return OwnError()
    steps, scatter, shared = (np.array(part) for part in zip(*known, strict=True))
    rotation, position, focal = (
        math.sqrt(_missing(steps[:, part], scatter[:, part, part], shared[:, part, part]))
        for part in (slice(3), slice(3, 6), slice(6, 7))
    )
    return OwnError(math.degrees(position), math.degrees(rotation), focal, len(known))


def _missing(steps: Floats, scatter: Floats, shared: Floats) -> float:
    """How much of `shared`, added to the scatter, explains the lengths of the steps.

    Lengths over the stated radius have a known mean square. An image counts by how much of its
    error would be shared: one with weak matches tells little. No image counts beyond a limit, as
    a single wrong pose must not decide.
    """
    squares = (steps * steps).sum(axis=1)

    def excess(much: float) -> float:
        both = scatter + much * shared
        ratio = squares / np.maximum(radii(np.linalg.eigvalsh(both)) ** 2, 1e-300)
        weight = much * np.trace(shared, axis1=1, axis2=2) / np.trace(both, axis1=1, axis2=2)
        return float((weight * (np.minimum(ratio, _MOST) - _EXPECTED)).sum())

    low, high = 1e-14, math.radians(45) ** 2
    if excess(low) <= 0:
        return 0.0
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def _left_out(world: Map, image: int) -> tuple[Floats, Floats, Floats] | None:
    """How far an image's pose by the others' points is off, and what explains it.

    Seven numbers each: a step to the image's own pose, and the logarithm of the focal length.
    """
    nearest = world.covisible(image, _LEFT_OUT + _NEIGHBOURS)
    left_out = nearest[: min(_LEFT_OUT, max(len(nearest) - 2, 1))]
    rows, point = _matches(world, image, nearest[len(left_out) :])
    sharp, places = _places_without(world, image, left_out, point)
    camera, own = world.camera(image), world.pose(image)
    keypoints = np.asarray(world.keypoints[rows[sharp]], dtype=np.float64)
    start = _found(camera, keypoints, places)
    if start is None:
        return None
    pose, used = refine_pose(camera, start, keypoints, places, _LIMIT)
    if np.count_nonzero(used) < _MIN_MATCHES:
        return None
    keypoints, places = keypoints[used], places[used]
    pixels = project(camera, pose.apply(places))
    slopes = pose_slopes(camera, pose, places)
    fit = focal_fit(camera, slopes, pixels, keypoints, _LIMIT)
    scatter, shared = np.zeros((7, 7)), np.eye(7)
    scatter[:6, :6] = covariance_of(slopes, pixels - keypoints, keypoints, limit=_LIMIT)
    scatter[6, 6] = fit.variance
    shared[:6, :6] = shared_covariance(slopes, camera)
    return np.append(step_between(pose, own), fit.log_change), scatter, shared


def _matches(world: Map, image: int, others: Rows) -> tuple[Rows, Rows]:
    """Features of an image and the points they match in others.

    By descriptors, as a query would. What the map has joined already is no fair sample: it was
    joined because it fits the image's pose.
    """
    part = world.features_of(image)
    part = slice(part.start, min(part.stop, part.start + _MAX_FEATURES))
    parts = [world.features_of(int(other)) for other in others]
    seen = np.concatenate([np.zeros(0, np.int64), *(np.arange(o.start, o.stop) for o in parts)])
    seen = seen[np.asarray(world.point_of_feature[seen]) >= 0]
    found, nearest = mutual_nearest(
        np.asarray(world.descriptors[part]), np.asarray(world.descriptors[seen])
    )
    point = np.asarray(world.point_of_feature[seen[nearest]], dtype=np.int64)
    return part.start + found, point


def _found(camera: Camera, keypoints: Floats, points: Floats) -> Pose | None:
    """A first pose from matches of which many may be wrong."""
    import poselib

    if len(keypoints) < _MIN_MATCHES:
        return None
    options = {"max_reproj_error": _LIMIT, "max_iterations": 2_000, "min_iterations": 100}
    pose, told = poselib.estimate_absolute_pose(
        from_corner(keypoints), points, camera.as_dict(), options, {}
    )
    # As many as are needed for a fit could be chance; a good image has a hundred.
    if told["num_inliers"] < max(_MIN_MATCHES, 0.1 * len(keypoints)):
        return None
    return Pose(nearest_rotation(pose.R), pose.t)


def _places_without(world: Map, image: int, left_out: Rows, point: Rows) -> tuple[Rows, Floats]:
    """Which points images that are not left out fix, and where they would place them."""
    owner, seen = world.rows_of_points.lookup(point[:, None])
    places = np.asarray(world.points[point], dtype=np.float64)
    errors, slopes = _errors_and_slopes(world, seen, places[owner])
    other = ~np.isin(world.image_of(seen), left_out)
    owner, errors, slopes = owner[other], errors[other], slopes[other]
    normal, pull = np.zeros((len(point), 3, 3)), np.zeros((len(point), 3))
    np.add.at(normal, owner, slopes.transpose(0, 2, 1) @ slopes)
    np.add.at(pull, owner, np.einsum("nij,ni->nj", slopes, errors))
    others = np.bincount(owner, minlength=len(point))
    values = np.linalg.eigvalsh(normal)
    fixed = np.flatnonzero((others >= 2) & (values[:, 0] > 1e-9 * values[:, 2]))
    inverse = np.linalg.inv(normal[fixed])
    pose = world.pose(image)
    inside = pose.apply(places[fixed])
    here = projection_slopes(world.camera(image), inside) @ pose.rotation
    blown_up = np.einsum("nij,njk,nik->n", here, inverse, here)
    sharp = (blown_up < _MAX_BLOWN_UP) & (inside[:, 2] > 0)
    fixed, inverse = fixed[sharp], inverse[sharp]
    return fixed, places[fixed] - np.matvec(inverse, pull[fixed])


def _errors_and_slopes(world: Map, rows: Rows, places: Floats) -> tuple[Floats, Floats]:
    """(N, 2) errors of observations in pixels, and (N, 2, 3) how they move with their points."""
    image = world.image_of(rows)
    rotations = np.asarray(world.rotations[image])
    inside = np.matvec(rotations, places) + np.asarray(world.translations[image])
    errors, slopes = np.zeros((len(rows), 2)), np.zeros((len(rows), 2, 3))
    camera_of_row = np.asarray(world.camera_of_image[image])
    for number in np.unique(camera_of_row):
        part, camera = camera_of_row == number, world.cameras[number]
        errors[part] = project(camera, inside[part]) - world.keypoints[rows[part]]
        slopes[part] = projection_slopes(camera, inside[part])
    return errors, slopes @ rotations
