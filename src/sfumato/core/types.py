"""The frozen types that are not releases: features, cameras, privacy events."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato.core.checks import as_number, check_choice, check_count, check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.frozen import (
    Frozen,
    check_extractor_name,
    check_image_size,
    check_keypoints,
    frozen_array,
)
from sfumato.core.geometry import is_rotation
from sfumato.core.inliers import Inliers
from sfumato.core.pose_error import PoseError

#: COLMAP's camera models that sfumato understands, and how many parameters each has.
CAMERA_MODELS = {
    "SIMPLE_PINHOLE": 3,
    "PINHOLE": 4,
    "SIMPLE_RADIAL": 4,
    "RADIAL": 5,
    "OPENCV": 8,
    "OPENCV_FISHEYE": 8,
    "FULL_OPENCV": 12,
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Features(Frozen):
    """What an extractor finds in one picture, strongest first.

    keypoints    (N, 2) float32  x, y in pixels; the centre of a pixel is a whole number
    descriptors  (N, D) uint8 or float32; binary descriptors are packed 8 bits to a byte
    scores       (N,)   float32  the detector's response
    scales       (N,)   float32  diameter in pixels
    angles       (N,)   float32  degrees, −1 where the detector gives none

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> features
    Features(16 sift keypoints, 128-D uint8, 64×64)
    >>> features.take(np.arange(3))
    Features(3 sift keypoints, 128-D uint8, 64×64)
    """

    keypoints: NDArray[np.float32]
    descriptors: NDArray[Any]
    scores: NDArray[np.float32]
    scales: NDArray[np.float32]
    angles: NDArray[np.float32]
    image_size: tuple[int, int]
    extractor: str

    def __post_init__(self) -> None:
        self._set("image_size", check_image_size(self.image_size))
        self._set("extractor", check_extractor_name(self.extractor))
        for name in ("keypoints", "scores", "scales", "angles"):
            self._set(name, frozen_array(name, getattr(self, name), np.float32))
        descriptors = np.asarray(self.descriptors)
        dtype = np.uint8 if descriptors.dtype == np.uint8 else np.float32
        self._set("descriptors", frozen_array("descriptors", descriptors, dtype))
        count = len(self.keypoints)
        check_keypoints(self.keypoints, self.image_size)
        check_shape("descriptors", self.descriptors, (count, None))
        if self.descriptors.shape[1] == 0:
            raise InvalidInput("descriptors must have at least one dimension, got 0.")
        for name in ("scores", "scales", "angles"):
            check_shape(name, getattr(self, name), (count,))

    def __len__(self) -> int:
        return len(self.keypoints)

    def __repr__(self) -> str:
        width, height = self.image_size
        return (
            f"Features({len(self)} {self.extractor} keypoints, "
            f"{self.descriptors.shape[1]}-D {self.descriptors.dtype}, {width}×{height})"
        )

    def take(self, rows: NDArray[Any]) -> Features:
        """The same picture with only these rows, in this order."""
        return replace(
            self,
            keypoints=self.keypoints[rows],
            descriptors=self.descriptors[rows],
            scores=self.scores[rows],
            scales=self.scales[rows],
            angles=self.angles[rows],
        )


@dataclass(frozen=True)
class Camera:
    """Intrinsics in COLMAP's models; the principal point counts from pixel corners.

    >>> camera = sf.Camera("SIMPLE_PINHOLE", 640, 480, (500.0, 320.0, 240.0))
    >>> camera.params
    (500.0, 320.0, 240.0)
    """

    model: str
    width: int
    height: int
    params: tuple[float, ...]

    def __post_init__(self) -> None:
        check_choice("camera model", self.model, CAMERA_MODELS)
        check_image_size((self.width, self.height))
        params = tuple(as_number("camera parameter", value) for value in self.params)
        if len(params) != CAMERA_MODELS[self.model]:
            raise InvalidInput(
                f"{self.model} has {CAMERA_MODELS[self.model]} parameters, got {len(params)}."
            )
        if not all(math.isfinite(value) for value in params):
            raise InvalidInput("camera parameters must be finite.")
        focals = params[: self.num_focals]
        if min(focals) <= 0:
            raise InvalidInput(f"focal length must be positive, got {min(focals)}.")
        object.__setattr__(self, "params", params)

    @property
    def num_focals(self) -> int:
        """Parameters that are focal lengths; the principal point follows, then the lens."""
        return 1 if self.model in ("SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL") else 2

    def as_dict(self) -> dict[str, Any]:
        """The form that PoseLib takes, and pycolmap as keywords."""
        return {
            "model": self.model,
            "width": self.width,
            "height": self.height,
            "params": list(self.params),
        }


@dataclass(frozen=True, eq=False)
class Pose(Frozen):
    """Where a camera is: a point x of the world has coordinates R·x + t in the camera.

    rotation     (3, 3) float64, R of cam_from_world
    translation  (3,)   float64, t of cam_from_world

    >>> pose = sf.Pose(np.eye(3), np.array([0.0, 0.0, 2.0]))
    >>> pose.center.tolist()
    [0.0, 0.0, -2.0]
    """

    rotation: NDArray[np.float64]
    translation: NDArray[np.float64]

    def __post_init__(self) -> None:
        self._set("rotation", frozen_array("rotation", self.rotation, np.float64))
        self._set("translation", frozen_array("translation", self.translation, np.float64))
        check_shape("rotation", self.rotation, (3, 3))
        check_shape("translation", self.translation, (3,))
        if not is_rotation(self.rotation, 1e-6):
            raise InvalidInput("rotation must be a proper rotation matrix.")

    @property
    def center(self) -> NDArray[np.float64]:
        """The position of the camera in the world."""
        return np.asarray(-self.rotation.T @ self.translation)

    @property
    def quaternion(self) -> NDArray[np.float64]:
        """(w, x, y, z) of the rotation, with w ≥ 0."""
        (a, b, c), (d, e, f), (g, h, i) = self.rotation
        # q·qᵀ is a matrix of sums of R's entries, and q its eigenvector of the largest eigenvalue.
        products = np.array(
            [
                [a + e + i, h - f, c - g, d - b],
                [h - f, a - e - i, b + d, c + g],
                [c - g, b + d, e - a - i, f + h],
                [d - b, c + g, f + h, i - a - e],
            ]
        )
        found = np.linalg.eigh(products)[1][:, -1]
        return np.asarray(found if found[0] >= 0 else -found)

    def apply(self, points_in_world: NDArray[Any]) -> NDArray[np.float64]:
        """(N, 3) points of the world, in the camera."""
        return np.asarray(points_in_world @ self.rotation.T + self.translation)

    def error_to(self, truth: Pose) -> tuple[float, float]:
        """Distance of the centers, in the world's unit, and rotation in degrees."""
        distance = float(np.linalg.norm(self.center - truth.center))
        cosine = (np.trace(self.rotation @ truth.rotation.T) - 1) / 2
        return distance, math.degrees(math.acos(min(1.0, max(-1.0, float(cosine)))))


@dataclass(frozen=True)
class Localization:
    """A pose, or the reason why there is none.

    num_inliers    keypoints that agree with the pose, each counted once
    num_matches    candidate matches they were found among
    log10_chance   log10 of the expected number of poses at least this good by pure chance; a
                   pose is given only where this is far below 0
    error          how far the pose is expected to be off; None where that is not known
    warning        what cannot be trusted, in one sentence
    camera         the pose was computed with this one, where the given one clearly does not fit
    searched       share of the map's images that were looked at; below 1 no pose is no verdict
    inliers        which keypoints agree, and with what; None where that is not told

    >>> sf.Localization(None, 9, 200, -1.5, "9 inliers, 12 needed").localized
    False
    """

    pose: Pose | None
    num_inliers: int
    num_matches: int
    log10_chance: float
    reason: str | None = None
    error: PoseError | None = None
    warning: str | None = None
    camera: Camera | None = None
    searched: float = 1.0
    inliers: Inliers | None = field(default=None, compare=False, repr=False)

    @property
    def localized(self) -> bool:
        return self.pose is not None


#: Sent in the clear with every keypoint release, whatever the mechanism.
NOT_PROTECTED = (
    "the positions of the keypoints",
    "their number",
    "the size of the picture and the camera",
    "the pose a server computes from them",
)


@dataclass(frozen=True)
class PrivacyEvent:
    """What one release spends. The ledger sees this, never data or mechanisms.

    epsilon       the loss per unit; None where there is no guarantee (given as ∞ it is none either)
    num_units     how many units one picture holds; they compose to num_units·ε
    unit          what one unit is, in words
    not_protected what lies outside the guarantee, in words
    num_values    from how many values an answer is drawn; None where only ε is known
    subset_size   how many of them one answer holds

    >>> event = sf.PrivacyEvent("subset", 8.0, 100, "one descriptor", sf.NOT_PROTECTED)
    >>> event.picture_epsilon
    800.0
    """

    mechanism: str
    epsilon: float | None
    num_units: int
    unit: str
    not_protected: tuple[str, ...]
    num_values: int | None = None
    subset_size: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_units", check_count("num_units", self.num_units, low=0))
        if self.epsilon is not None and not as_number("epsilon", self.epsilon) > 0:
            raise InvalidInput(f"epsilon must be above 0, got {self.epsilon!r}.")
        if self.epsilon == math.inf:
            object.__setattr__(self, "epsilon", None)
        answer = PrivateAnswer(self.epsilon or 1.0, self.num_values, self.subset_size)
        object.__setattr__(self, "num_values", answer.num_values)
        object.__setattr__(self, "subset_size", answer.subset_size)
        if not isinstance(self.not_protected, tuple | list):
            raise InvalidInput(
                "not_protected must be a tuple of texts, the same as sf.NOT_PROTECTED or more; got "
                f"{type(self.not_protected).__name__}."
            )
        object.__setattr__(self, "not_protected", tuple(map(str, self.not_protected)))

    @property
    def composition(self) -> Composition | None:
        """What all units of the picture promise together; None where no guarantee exists."""
        if self.epsilon is None:
            return None
        answer = PrivateAnswer(self.epsilon, self.num_values, self.subset_size)
        return Composition({answer: self.num_units})

    @property
    def is_private(self) -> bool:
        return self.epsilon is not None

    @property
    def picture_epsilon(self) -> float | None:
        """The loss of the whole picture by sequential composition."""
        return None if self.epsilon is None else self.epsilon * self.num_units
