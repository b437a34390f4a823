"""Do the images of a map fit the focal lengths they came with?

With known poses every match must lie on its epipolar line. A factor on all focal lengths moves the
lines; the one at which most matches lie on theirs is the one the images fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.lens import focal_lengths, unproject, with_focal
from sfumato.core.types import Camera, Features, Pose
from sfumato.server.mapping.assemble import share_cameras
from sfumato.server.mapping.correspondences import essential_matrix

#: Wrong beyond so many standard deviations, and beyond this relative change.
CLEAR_DEVIATIONS = 4.0
CLEAR_CHANGE = 0.01
_MAX_MATCHES = 20_000
_MIN_MATCHES = 200
_GROUPS = 8  # of pairs, whose differences tell the deviation
_SCALE = 1.0  # pixels beyond which a match is doubted
_LARGEST = 20.0  # pixels beyond which it is wrong at any focal length
_WIDE = np.linspace(-0.6, 0.6, 25)  # logarithms of factors
_NEAR = np.linspace(-0.06, 0.06, 25)

Floats = NDArray[np.float64]
Matches = Mapping[tuple[int, int], NDArray[np.int64]]


@dataclass(frozen=True)
class FocalFactor:
    """The factor on all focal lengths that the images fit best, and its standard deviation.

    >>> from sfumato.server.mapping.focal import FocalFactor
    >>> FocalFactor(0.9, 0.002).is_clear, FocalFactor(1.002, 0.001).is_clear
    (True, False)
    """

    factor: float
    deviation: float

    @property
    def is_clear(self) -> bool:
        """Whether the given focal lengths are certainly not the images' own."""
        limit = max(CLEAR_DEVIATIONS * self.deviation, CLEAR_CHANGE)
        return abs(math.log(self.factor)) > limit

    def sentence(self, camera: Camera, what: str) -> str:
        """What a map-maker is told about one of the cameras."""
        given = focal_lengths(camera)[0]
        focal = given * self.factor
        return (
            f"the images fit a focal length of {focal:.4g} ± {2 * focal * self.deviation:.2g} "
            f"pixels, given were {given:.5g}; {what}"
        )


def fit_focal_factor(
    features: Sequence[Features],
    cameras: Sequence[Camera],
    poses: Sequence[Pose],
    matches: Matches,
) -> FocalFactor | None:
    """Which multiple of the focal lengths fits the matches at these poses; None: too few tell."""
    lines = _Lines.of(features, cameras, poses, matches)
    if len(lines.group) < _MIN_MATCHES or len(np.unique(lines.group)) < _GROUPS:
        return None
    wide = _WIDE[lines.cost(_WIDE).sum(axis=0).argmin()]
    near = wide + _NEAR
    groups = lines.cost(near)
    best = _lowest(near, groups.sum(axis=0))
    # Each group left out in turn: the jackknife.
    without = [_lowest(near, groups.sum(axis=0) - group) for group in groups]
    if best is None or None in without:
        return None
    known = np.array(without, dtype=np.float64)
    spread = float(((known - known.mean()) ** 2).sum())
    return FocalFactor(math.exp(best), math.sqrt(spread * (_GROUPS - 1) / _GROUPS))


@dataclass(frozen=True, eq=False)
class _Lines:
    """Matches of all pairs, each with the epipolar geometry of its pair.

    keypoints  (2, M, 2) in the first and the second image, and camera (2, M) of each
    essential  (M, 3, 3)
    group      (M,) of its pair
    """

    cameras: tuple[Camera, ...]
    keypoints: Floats
    camera: NDArray[np.int64]
    essential: Floats
    group: NDArray[np.int64]

    @staticmethod
    def of(
        features: Sequence[Features],
        cameras: Sequence[Camera],
        poses: Sequence[Pose],
        matches: Matches,
    ) -> _Lines:
        """An even share of every pair's matches, at most _MAX_MATCHES in all."""
        rng = np.random.default_rng(0)
        share = min(1.0, _MAX_MATCHES / max(sum(map(len, matches.values())), 1))
        shared, camera_of_image = share_cameras(cameras)
        keypoints, camera, essential, group = [], [], [], []
        for number, ((i, j), rows) in enumerate(matches.items()):
            geometry = essential_matrix(poses[i], poses[j])
            rows = rows[rng.random(len(rows)) < share]
            if geometry is None or not len(rows):
                continue
            pair = (features[i].keypoints[rows[:, 0]], features[j].keypoints[rows[:, 1]])
            keypoints.append(np.stack(pair))
            camera.append(np.full((len(rows), 2), (camera_of_image[i], camera_of_image[j])).T)
            essential.append(np.broadcast_to(geometry, (len(rows), 3, 3)))
            group.append(np.full(len(rows), number % _GROUPS))
        return _Lines(
            shared,
            np.concatenate([np.zeros((2, 0, 2)), *keypoints], axis=1),
            np.concatenate([np.zeros((2, 0), dtype=np.int64), *camera], axis=1),
            np.concatenate([np.zeros((0, 3, 3)), *essential]),
            np.concatenate([np.zeros(0, dtype=np.int64), *group]),
        )

    def cost(self, logarithms: Floats) -> Floats:
        """(G, S) how badly each group fits with all focal lengths multiplied by each factor."""
        return np.stack([self._cost(math.exp(value)) for value in logarithms], axis=1)

    def _cost(self, factor: float) -> Floats:
        scaled = [with_focal(camera, factor) for camera in self.cameras]
        rays = np.ones((*self.keypoints.shape[:2], 3))
        for number, camera in enumerate(scaled):
            rays[self.camera == number, :2] = unproject(
                camera, self.keypoints[self.camera == number]
            )
        focals = np.array([math.prod(focal_lengths(camera)) for camera in scaled])[self.camera]
        in_second = np.matvec(self.essential, rays[0])
        in_first = np.matvec(self.essential.transpose(0, 2, 1), rays[1])
        slope = (in_second[:, :2] ** 2).sum(axis=1) / focals[1]
        slope += (in_first[:, :2] ** 2).sum(axis=1) / focals[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = (rays[1] * in_second).sum(axis=1) ** 2 / slope  # Sampson's, in pixels²
        squares = np.minimum(np.nan_to_num(squares, nan=np.inf), _LARGEST**2)
        return np.asarray(np.bincount(self.group, np.log1p(squares / _SCALE**2), _GROUPS), float)


def fitting_cameras(
    features: Sequence[Features],
    cameras: Sequence[Camera],
    poses: Sequence[Pose],
    matches: Matches,
) -> tuple[list[Camera], list[str]]:
    """The cameras as given, or with the focal lengths that clearly fit, and what to say then."""
    fitted = fit_focal_factor(features, cameras, poses, matches)
    if fitted is None or not fitted.is_clear:
        return list(cameras), []
    scaled = [with_focal(camera, fitted.factor) for camera in cameras]
    return scaled, [fitted.sentence(cameras[0], "the map was made with that.")]


def _lowest(places: Floats, costs: Floats) -> float | None:
    """Where a parabola through the lowest cost and its neighbours is lowest; None at an end."""
    at = int(costs.argmin())
    if at in (0, len(costs) - 1):
        return None
    left, middle, right = costs[at - 1 : at + 2]
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0 else 0.0
    return float(places[at] + shift * (places[1] - places[0]))
