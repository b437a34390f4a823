"""Poses of devices that know which way is down: two matches fix what else takes three."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.geometry import cross_matrix, unit_vectors
from sfumato.core.gravity import Direction, Gravity
from sfumato.core.lens import unproject
from sfumato.core.types import Camera

_DOWN = np.array([0.0, 1.0, 0.0])  # the solver's gravity: along +y, as in an upright camera


_DEVIATIONS = 3.0  # of gravity's error, which a pose may be off


@dataclass(frozen=True)
class WorldGravity:
    """The direction of gravity in the camera (from an IMU) and in the world (of the map).

    error_deg  its standard deviation, in degrees; phones at rest are off by one to three

    >>> from sfumato.server.upright import WorldGravity
    >>> gravity = WorldGravity(in_camera=(0, 1, 0), in_world=(0, 0, -1), error_deg=1.5)
    >>> gravity.allows(np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), slack_deg=1.0)
    True
    """

    in_camera: tuple[float, float, float]
    in_world: tuple[float, float, float]
    error_deg: float = 2.0

    def __post_init__(self) -> None:
        if not 0 <= self.error_deg <= 45:
            raise InvalidInput(
                f"the error of gravity is an angle from 0 to 45 degrees, got {self.error_deg}."
            )
        for name in ("in_camera", "in_world"):
            vector = np.asarray(getattr(self, name), dtype=np.float64)
            if vector.shape != (3,) or not np.isfinite(vector).all() or not vector.any():
                raise InvalidInput(f"gravity {name} must be three finite numbers, not all zero.")

    def directions(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Unit vectors in the camera and in the world."""
        inside, world = np.asarray(self.in_camera), np.asarray(self.in_world)
        return inside / np.linalg.norm(inside), world / np.linalg.norm(world)

    def least_cosine(self, slack_deg: float) -> float:
        """Between gravity as measured and as a right pose has it, itself off by slack_deg."""
        return math.cos(math.radians(_DEVIATIONS * self.error_deg + slack_deg))

    def allows(self, rotation: NDArray[np.float64], slack_deg: float) -> bool:
        """Whether cam_from_world has gravity where it was measured, up to the errors of both."""
        inside, world = self.directions()
        return float(inside @ rotation @ world) >= self.least_cosine(slack_deg)


class MayKnowUp(Protocol):
    """A map, in one place or in several."""

    @property
    def up(self) -> Direction | None: ...


def gravity_in(world: MayKnowUp, gravity: Gravity | WorldGravity | None) -> WorldGravity | None:
    """What a device has measured, in a map that knows which way is up."""
    if gravity is None or isinstance(gravity, WorldGravity):
        return gravity
    up = world.up
    if up is None:
        raise Mismatch(
            "gravity needs a map that knows which way is up, and this one does not; build or "
            "import it with --up X,Y,Z, or ask without gravity."
        )
    return WorldGravity(gravity.in_camera, (-up[0], -up[1], -up[2]), gravity.error_deg)


def upright_ransac(
    keypoints: NDArray[np.float64],
    world_points: NDArray[np.float64],
    camera: Camera,
    gravity: WorldGravity,
    *,
    max_error: float,
    max_iterations: int,
) -> Any:
    """The two-point pose with most inliers; matches come with the most promising first.

    Pairs are drawn from a pool that grows from the front, as PROSAC does. Returns PoseLib's
    pose, or None.
    """
    import poselib

    flat = unproject(camera, keypoints)
    reached = np.isfinite(flat).all(axis=1)
    flat, world_points = flat[reached], world_points[reached]
    if len(flat) < 2:
        return None
    rays = np.column_stack([flat, np.ones(len(flat))])
    to_upright = rotation_between(np.asarray(gravity.in_camera), _DOWN)
    world_upright = rotation_between(np.asarray(gravity.in_world), _DOWN)
    upright_rays = unit_vectors(rays @ to_upright.T)
    upright_points = world_points @ world_upright.T
    limit = max_error / camera.params[0]  # in the normalised plane, by the focal length
    generator = np.random.default_rng(0)
    best, most = None, 2
    for iteration in range(max_iterations):
        pool = min(len(rays), 10 + iteration // 2)
        pair = generator.choice(pool, 2, replace=False)
        for solution in poselib.up2p(upright_rays[pair], upright_points[pair]):
            inside = (upright_points @ solution.R.T + solution.t) @ to_upright
            depth = np.where(inside[:, 2] > 1e-9, inside[:, 2], np.inf)
            error = np.abs(inside[:, :2] / depth[:, None] - flat).max(axis=1)
            count = int(np.count_nonzero((error < limit) & np.isfinite(depth)))
            if count > most:
                best, most = solution, count
    if best is None:
        return None
    pose = poselib.CameraPose()
    pose.R = to_upright.T @ best.R @ world_upright
    pose.t = to_upright.T @ best.t
    return pose


def rotation_between(source: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[Any]:
    """The smallest rotation that turns one direction into another."""
    a, b = source / np.linalg.norm(source), target / np.linalg.norm(target)
    axis, cosine = np.cross(a, b), float(a @ b)
    if cosine < -1 + 1e-9:  # opposite: half a turn about any axis across
        across = np.cross(a, [1.0, 0.0, 0.0] if abs(a[0]) < 0.9 else [0.0, 0.0, 1.0])
        across /= np.linalg.norm(across)
        return np.asarray(2 * np.outer(across, across) - np.eye(3))
    skew = cross_matrix(axis)
    return np.asarray(np.eye(3) + skew + skew @ skew / (1 + cosine))
