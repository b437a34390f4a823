"""Through the lens and back: COLMAP's camera models, with pixel centres at whole numbers.

COLMAP counts from the corner of a pixel, so its (0.5, 0.5) is our (0, 0). The half pixel is
added and taken away here and nowhere else: use `project`, `unproject` and `from_corner`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.types import Camera

#: Where COLMAP's pixels lie, seen from ours.
HALF_PIXEL = 0.5

_NEWTON_STEPS = 25
_STEP = 1e-6


#: Focal lengths of real cameras, over the longer side of the picture: 157° to about 1° wide.
_SHORTEST, _LONGEST = 0.1, 50.0
_LARGEST_RATIO = 2.0  # of the two focal lengths
_LARGEST_DISTORTION = 1e3


def check_possible(camera: Camera, name: str = "the camera") -> None:
    """Refuse intrinsics that no camera has; a pose computed with them would only look right.

    >>> from sfumato.core.lens import check_possible
    >>> check_possible(sf.Camera("SIMPLE_PINHOLE", 640, 480, (500.0, 320.0, 240.0)))
    """
    longest, (fx, fy) = max(camera.width, camera.height), focal_lengths(camera)
    if not _SHORTEST * longest <= min(fx, fy) <= max(fx, fy) <= _LONGEST * longest:
        raise InvalidInput(
            f"the focal length of {name} must be {_SHORTEST:g} to {_LONGEST:g} times the longer "
            f"side of the picture, {longest} pixels, got {fx if fx == fy else (fx, fy)}; check "
            "that it is in pixels of this picture."
        )
    if max(fx, fy) > _LARGEST_RATIO * min(fx, fy):
        raise InvalidInput(
            f"the two focal lengths of {name} must be alike, got {fx:g} and {fy:g}; check the "
            "order of the parameters."
        )
    x, y = _center(camera)
    if not (0 <= x <= camera.width and 0 <= y <= camera.height):
        raise InvalidInput(
            f"the principal point of {name} must lie in the picture of {camera.width}×"
            f"{camera.height} pixels, got ({x:g}, {y:g}); check the order of the parameters and "
            "the picture's size."
        )
    if any(abs(value) > _LARGEST_DISTORTION for value in _lens(camera)):
        raise InvalidInput(
            f"the distortion of {name} must be below {_LARGEST_DISTORTION:g}; check the order of "
            "the parameters."
        )


def from_corner(keypoints: NDArray[Any]) -> NDArray[np.float64]:
    """Keypoints counted from the corner of the first pixel, as COLMAP and PoseLib count."""
    return np.asarray(keypoints, dtype=np.float64) + HALF_PIXEL


def focal_lengths(camera: Camera) -> tuple[float, float]:
    """Focal lengths in x and y, in pixels."""
    return camera.params[0], camera.params[camera.num_focals - 1]


def principal_point(camera: Camera) -> NDArray[np.float64]:
    """Where the camera's axis meets the picture, counted as keypoints are."""
    return _center(camera) - HALF_PIXEL


def with_focal(camera: Camera, factor: float) -> Camera:
    """The same camera with its focal lengths multiplied."""
    focals = [factor * value for value in camera.params[: camera.num_focals]]
    return replace(camera, params=(*focals, *camera.params[camera.num_focals :]))


def project(camera: Camera, points_in_camera: NDArray[Any]) -> NDArray[np.float64]:
    """(N, 3) points in the camera to (N, 2) pixels; NaN for points not in front of it."""
    with np.errstate(all="ignore"):
        flat = points_in_camera[:, :2] / points_in_camera[:, 2:]
        pixels = np.asarray(_distort(camera, flat) * focal_lengths(camera), dtype=np.float64)
    pixels += _center(camera)
    pixels -= HALF_PIXEL
    pixels[~(points_in_camera[:, 2] > 0)] = np.nan
    return pixels


def projection_slopes(camera: Camera, points_in_camera: NDArray[Any]) -> NDArray[np.float64]:
    """(N, 2, 3) how `project` moves, in pixels, with each coordinate of the (N, 3) points."""
    depth = points_in_camera[:, 2:, None]
    flat = points_in_camera[:, :2] / depth[:, 0]
    slopes = np.zeros((len(flat), 2, 3))
    slopes[:, :, :2] = np.eye(2) / depth
    slopes[:, :, 2] = -flat / depth[:, 0]
    if not _is_pinhole(camera):
        bent = np.stack([_slope(camera, flat, axis) for axis in (0, 1)], axis=2)
        slopes = bent @ slopes
    return np.asarray(slopes * np.array(focal_lengths(camera))[:, None])


def unproject(camera: Camera, pixels: NDArray[Any]) -> NDArray[np.float64]:
    """(N, 2) pixels to the (N, 2) points x/z, y/z that the lens maps there.

    Distortion is undone by Newton's method from the distorted point. A pixel that no ray
    reaches (a lens model folds back on itself far from the centre) comes out as NaN.
    """
    target = (from_corner(pixels) - _center(camera)) / focal_lengths(camera)
    if _is_pinhole(camera):
        return np.asarray(target)
    flat = target.copy()
    with np.errstate(all="ignore"):
        for _ in range(_NEWTON_STEPS):
            missed = _distort(camera, flat) - target
            if not (np.abs(missed) > 1e-12).any():
                break
            (a, c), (b, d) = (_slope(camera, flat, axis).T for axis in (0, 1))
            scale = a * d - b * c
            flat[:, 0] -= (d * missed[:, 0] - b * missed[:, 1]) / scale
            flat[:, 1] -= (a * missed[:, 1] - c * missed[:, 0]) / scale
        (a, c), (b, d) = (_slope(camera, flat, axis).T for axis in (0, 1))
        found = np.abs(_distort(camera, flat) - target).max(axis=1, initial=0) < 1e-6
        # Beyond the fold the lens turns inside out, or the other side comes round.
        found &= (a * d - b * c > 0) & ((flat * target).sum(axis=1) >= 0)
    flat[~found] = np.nan
    return flat


def _slope(camera: Camera, flat: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    step = np.zeros(2)
    step[axis] = _STEP
    return (_distort(camera, flat + step) - _distort(camera, flat - step)) / (2 * _STEP)


def _center(camera: Camera) -> NDArray[np.float64]:
    return np.array(camera.params[camera.num_focals :][:2])


def _lens(camera: Camera) -> tuple[float, ...]:
    """The parameters behind focal lengths and principal point."""
    return camera.params[camera.num_focals + 2 :]


def _is_pinhole(camera: Camera) -> bool:
    return camera.model != "OPENCV_FISHEYE" and not any(_lens(camera))


def _distort(camera: Camera, flat: NDArray[np.float64]) -> NDArray[np.float64]:
    lens = _lens(camera)
    if _is_pinhole(camera):
        return flat
    if camera.model == "OPENCV_FISHEYE":
        return _fisheye(flat, lens)
    u, v = flat[:, 0], flat[:, 1]
    r2 = u * u + v * v
    if camera.model in ("SIMPLE_RADIAL", "RADIAL"):
        k1, k2 = (*lens, 0.0)[:2]
        return np.asarray(flat * (1 + r2 * (k1 + r2 * k2))[:, None])
    if camera.model not in ("OPENCV", "FULL_OPENCV"):
        raise InvalidInput(f"no lens is defined for the camera model {camera.model!r}.")
    k1, k2, p1, p2, k3, k4, k5, k6 = (*lens, 0.0, 0.0, 0.0, 0.0)[:8]
    radial = (1 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1 + r2 * (k4 + r2 * (k5 + r2 * k6)))
    return np.stack(
        [
            u * radial + 2 * p1 * u * v + p2 * (r2 + 2 * u * u),
            v * radial + 2 * p2 * u * v + p1 * (r2 + 2 * v * v),
        ],
        axis=1,
    )


def _fisheye(flat: NDArray[np.float64], lens: tuple[float, ...]) -> NDArray[np.float64]:
    """Equidistant: the angle from the axis, bent by a polynomial, is the radius."""
    radius = np.maximum(np.hypot(flat[:, 0], flat[:, 1]), 1e-12)
    angle = np.arctan(radius)
    t2 = angle * angle
    k1, k2, k3, k4 = lens
    bent = angle * (1 + t2 * (k1 + t2 * (k2 + t2 * (k3 + t2 * k4))))
    return np.asarray(flat * (bent / radius)[:, None])
