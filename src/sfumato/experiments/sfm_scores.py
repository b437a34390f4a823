"""From reconstructions on disk to the figures of a table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.experiments.sfm import FORMAT, Setting

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One reconstruction, judged.

    points, long_tracks        all points; those that three or more images see
    long_tracks_by_matches     the latter without keypoints that were added by position alone
    long_tracks_by_chance      estimate of those that owe their third image to chance
    errors of cameras          in the truth's unit (metres for Strecha), after the similarity that
                               fits the centers best; None with fewer than three images or no truth
    """

    scene: str
    setting: Setting
    seed: int
    images: int
    registered: int
    mean_keypoints: float
    points: int
    long_tracks: int
    long_tracks_by_matches: int
    long_tracks_by_chance: int
    mean_track_length: float
    mean_reprojection_error_px: float
    median_camera_error: float | None
    max_camera_error: float | None
    seconds: float
    reason: str | None

    @property
    def picture_epsilon(self) -> float | None:
        """ε·N of a picture, by composition; None without guarantee."""
        if self.setting.epsilon is None:
            return None
        return self.setting.epsilon * self.mean_keypoints

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"picture_epsilon": self.picture_epsilon}


def read_rows(paths: Iterable[str | Path]) -> list[Row]:
    """Judge every file; one that is not ours is refused by name."""
    rows = []
    for path in paths:
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InvalidInput(f"there is no file of predictions at {path}.") from None
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise DamagedFile(f"{path} is not a whole file of predictions: {error}.") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InvalidInput(f"{path} is not a prediction of `sfumato experiment sfm`.")
        try:
            rows.append(judge(content))
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"{path} is damaged: {error!r}.") from None
    return rows


def judge(content: dict[str, Any]) -> Row:
    tracks = np.array(content.get("tracks", [0]))
    lengths = np.arange(len(tracks))
    points = int(tracks.sum())
    errors = camera_errors(content["poses"], content["truth"])
    return Row(
        scene=content["scene"],
        setting=Setting(**content["setting"]),
        seed=content["seed"],
        images=len(content["images"]),
        registered=len(content["poses"]),
        mean_keypoints=content["mean_keypoints"],
        points=points,
        long_tracks=int(tracks[3:].sum()),
        long_tracks_by_matches=content.get("long_tracks_by_matches", 0),
        long_tracks_by_chance=content.get("long_tracks_by_chance", 0),
        mean_track_length=float((tracks * lengths).sum() / max(points, 1)),
        mean_reprojection_error_px=content.get("mean_reprojection_error_px", 0.0),
        median_camera_error=None if errors is None else float(np.median(errors)),
        max_camera_error=None if errors is None else float(errors.max()),
        seconds=content["seconds"],
        reason=content["reason"],
    )


def camera_errors(poses: dict[str, list[float]], truth: dict[str, list[float]]) -> Floats | None:
    """How far each center is from its true one, after the best similarity; None for too few."""
    names = sorted(set(poses) & set(truth))
    if len(names) < 3:
        return None
    found = np.stack([_center(poses[name]) for name in names])
    wanted = np.stack([_center(truth[name]) for name in names])
    return np.asarray(np.linalg.norm(fit_similarity(found, wanted) - wanted, axis=1))


def fit_similarity(points: Floats, targets: Floats) -> Floats:
    """points (N, 3) moved by the scale, rotation and shift that bring them nearest to targets.

    Umeyama, 1991: the rotation of the covariance's singular vectors, a mirror excluded.
    """
    middle, goal = points.mean(axis=0), targets.mean(axis=0)
    centered = points - middle
    left, size, right = np.linalg.svd((targets - goal).T @ centered)
    flip = np.array([1.0, 1.0, np.sign(np.linalg.det(left @ right)) or 1.0])
    spread = float((centered**2).sum())
    scale = float((size * flip).sum()) / spread if spread > 0 else 1.0
    return np.asarray(scale * centered @ ((left * flip) @ right).T + goal)


def _center(numbers: list[float]) -> Floats:
    """−Rᵀ·t of qw, qx, qy, qz, tx, ty, tz."""
    from scipy.spatial.transform import Rotation

    w, x, y, z, *translation = numbers
    return np.asarray(-Rotation.from_quat([x, y, z, w]).inv().apply(translation))
