"""Where the pictures of the gallery are taken from: a walk for the map, other places to ask.

The map-maker walks round the partition and takes three pictures at each of sixteen stops:
two obliquely at the walls, one across the room. Queries come from elsewhere, higher or
lower, with the camera held less straight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from sfumato.core.types import Camera, Pose
from sfumato.datasets.gallery_person import Stand, body
from sfumato.datasets.gallery_room import DEPTH, UP, WIDTH, is_free, room
from sfumato.datasets.rendering import Array, cast, project

NUM_STOPS = 16
NUM_MAPPING, NUM_QUERIES = 3 * NUM_STOPS, 20
_FOCAL = 0.72  # of the width: a wide angle, as telephones have
_SEED = 20_250


@dataclass(frozen=True)
class Shot:
    """One picture to take: where from, and who stands there."""

    name: str
    pose: Pose
    person: Stand | None


def camera_of(width: int, height: int) -> Camera:
    """The pinhole camera all pictures are taken with."""
    focal = _FOCAL * width
    return Camera("PINHOLE", width, height, (focal, focal, width / 2, height / 2))


def look(eye: Array, heading: float, pitch: float, roll: float) -> Pose:
    """The pose at `eye`, looking along heading (from x, in degrees) and pitch (up), rolled."""
    heading, pitch, roll = np.radians([heading, pitch, roll])
    level = math.cos(pitch)
    forward = np.array([level * math.cos(heading), level * math.sin(heading), math.sin(pitch)])
    right = np.cross(forward, UP)
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    x = math.cos(roll) * right + math.sin(roll) * down
    rotation = np.stack([x, np.cross(forward, x), forward])
    return Pose(rotation, -rotation @ eye)


@cache
def mapping_shots() -> tuple[Shot, ...]:
    """The walk: 3 pictures at each stop of an ellipse, nearly level, at eye height."""
    generator = np.random.default_rng(_SEED)
    shots: list[Shot] = []
    for stop in range(NUM_STOPS):
        angle = 2 * math.pi * stop / NUM_STOPS
        outward = math.degrees(angle)
        for turn in (-62.0, 62.0, 180.0 + (22.0 if stop % 2 else -22.0)):
            jitter = generator.uniform(-1, 1, 6)
            # Across the room the camera steps back, to see more of it.
            reach = 1.0 if abs(turn) < 90 else 1.22
            x = WIDTH / 2 + 1.75 * reach * math.cos(angle) + 0.12 * jitter[0]
            y = DEPTH / 2 + 1.30 * reach * math.sin(angle) + 0.12 * jitter[1]
            eye = np.array([x, y, 1.60 + 0.06 * jitter[2]])
            pose = look(eye, outward + turn + 4 * jitter[3], -5 + 2 * jitter[4], jitter[5])
            shots.append(Shot(f"mapping/{len(shots):02d}", pose, None))
    return tuple(shots)


@cache
def query_shots() -> tuple[Shot, ...]:
    """Other places, drawn until the view is open; two of five have the visitor in them."""
    generator = np.random.default_rng(_SEED + 1)
    shots: list[Shot] = []
    while len(shots) < NUM_QUERIES:
        draw = generator.uniform(0, 1, 6)
        eye = np.array([0.5 + 5 * draw[0], 0.5 + 4 * draw[1], 1.25 + 0.65 * draw[2]])
        # High cameras look down and low ones up, at what hangs on the walls.
        pitch = 8 * (2 * draw[4] - 1) - 14 * (eye[2] - 1.5)
        pose = look(eye, 360 * draw[3], pitch, 7 * (2 * draw[5] - 1))
        stand = None
        if len(shots) % 5 in (1, 3):
            distance, aside = generator.uniform(1.35, 1.75), generator.uniform(-0.5, 0.5)
            stand = _in_front(pose, distance, aside, generator.uniform(-14, 14))
        open_view = is_free(eye[0], eye[1], 0.45) and _median_depth(pose) > 2.0
        if open_view and (stand is None or _is_well_placed(stand, pose)):
            shots.append(Shot(f"query/{len(shots):02d}", pose, stand))
    return tuple(shots)


def _in_front(pose: Pose, distance: float, aside: float, turn: float) -> Stand:
    """A spot ahead of the camera and `aside` to its right, where she nearly faces it."""
    forward, right = pose.rotation[2, :2], pose.rotation[0, :2]
    spot = pose.center[:2] + distance * forward / np.linalg.norm(forward) + aside * right
    towards = pose.center[:2] - spot
    heading = math.degrees(math.atan2(towards[1], towards[0]))
    return Stand(float(spot[0]), float(spot[1]), heading + turn)


def _median_depth(pose: Pose) -> float:
    camera = camera_of(16, 12)
    inverse_depth = cast(room(), camera, pose, _centres(camera))[2]
    return float(np.median(1 / inverse_depth))


def _is_well_placed(stand: Stand, pose: Pose) -> bool:
    """Whether she has room to stand, and nothing hides her face and chest."""
    if not is_free(stand.x, stand.y, 0.40):
        return False
    points = body(stand).at(np.array([0.4, 0.1, 0.7, 0.4]), np.array([0.1, 0.3, 0.3, 0.45]))
    camera = camera_of(640, 480)
    keypoints = project(points, camera, pose)
    inside = (keypoints > 20).all() and (keypoints < (620, 600)).all()
    if not inside or keypoints[0, 1] > 215:  # her face in the upper half, her body below
        return False
    inverse_depth = cast(room(), camera, pose, keypoints)[2]
    return bool((1 / inverse_depth > pose.apply(points)[:, 2]).all())


def _centres(camera: Camera) -> Array:
    y, x = np.mgrid[: camera.height, : camera.width]
    return np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float64)
