"""Small worlds with known truth: points with invented descriptors, and photographs on planes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from skimage import data

from sfumato.core.lens import project
from sfumato.core.types import Camera, Features, Pose

PINHOLE = Camera("PINHOLE", 640, 480, (500.0, 520.0, 322.0, 239.0))
BENT = Camera("OPENCV", 640, 480, (500.0, 520.0, 322.0, 239.0, -0.1, 0.02, 0.001, -0.002))
SMALL = Camera("PINHOLE", 320, 240, (280.0, 280.0, 160.0, 120.0))


def look_at(center: Any, target: Any) -> Pose:
    """A camera at center, upright (y down), its axis through target."""
    forward = np.asarray(target, dtype=float) - center
    forward /= np.linalg.norm(forward)
    right = np.cross([0.0, 1.0, 0.0], forward)
    right /= np.linalg.norm(right)
    rotation = np.stack([right, np.cross(forward, right), forward])
    return Pose(rotation, -rotation @ np.asarray(center, dtype=float))


@dataclass(frozen=True)
class PointWorld:
    """Random points seen by a row of cameras.

    features, cameras and poses go by name; truth says which point each feature shows, −1 for
    clutter.
    """

    points: NDArray[np.float64]
    features: dict[str, Features]
    cameras: dict[str, Camera]
    poses: dict[str, Pose]
    truth: dict[str, NDArray[np.int64]]


def point_world(
    *,
    num_images: int = 6,
    num_points: int = 300,
    noise: float = 0.0,
    clutter: int = 0,
    camera: Camera = PINHOLE,
    seed: int = 0,
) -> PointWorld:
    """Every point has a descriptor of its own; noise is in pixels."""
    rng = np.random.default_rng(seed)
    points = rng.uniform([-2, -1.5, 4], [2, 1.5, 8], (num_points, 3))
    words = rng.integers(0, 120, (num_points, 128))
    features, poses, truth = {}, {}, {}
    for number in range(num_images):
        name = f"{number:02}.png"
        pose = look_at([1.2 * (number - (num_images - 1) / 2) / 2, 0.1 * number, 0.0], [0, 0, 6])
        pixels = project(camera, pose.apply(points)) + rng.normal(0, noise, (num_points, 2))
        inside = (pixels >= 0).all(axis=1) & (pixels <= (camera.width - 1, camera.height - 1)).all(
            axis=1
        )
        shown = rng.permutation(np.flatnonzero(inside))
        near = np.clip(words[shown] + rng.integers(-3, 4, (len(shown), 128)), 0, 255)
        other = rng.integers(0, 120, (clutter, 128))
        places = rng.uniform(0, [camera.width - 1, camera.height - 1], (clutter, 2))
        features[name] = features_at(
            np.vstack([pixels[shown], places]), np.vstack([near, other]), camera
        )
        poses[name] = pose
        truth[name] = np.concatenate([shown, np.full(clutter, -1)])
    return PointWorld(points, features, dict.fromkeys(features, camera), poses, truth)


def features_at(pixels: NDArray[Any], descriptors: NDArray[Any], camera: Camera) -> Features:
    count = len(pixels)
    return Features(
        keypoints=pixels.astype(np.float32),
        descriptors=descriptors.astype(np.uint8),
        scores=np.linspace(1, 0.1, count, dtype=np.float32),
        scales=np.full(count, 4, dtype=np.float32),
        angles=np.zeros(count, dtype=np.float32),
        image_size=(camera.width, camera.height),
        extractor="sift",
    )


def render_views(num_images: int = 7) -> tuple[dict[str, NDArray[np.uint8]], dict[str, Pose]]:
    """Three photographs at different depths, seen by a row of small cameras."""
    walls = [  # picture, its corner in the world, its two sides
        (data.coffee(), [-5.0, -3.5, 9.0], [10.0, 0, 1.5], [0, 7.0, 0]),  # type: ignore[no-untyped-call]
        (data.astronaut(), [-2.6, -1.2, 6.5], [2.4, 0, -0.8], [0, 2.4, 0.3]),  # type: ignore[no-untyped-call]
        (data.chelsea(), [0.3, -0.8, 5.0], [2.1, 0, 0.9], [0, 1.6, 0.0]),  # type: ignore[no-untyped-call]
    ]
    focal = SMALL.params[0]
    # Pixel centres at whole numbers: the principal point is half a pixel less than COLMAP's.
    inside = np.array([[focal, 0, 159.5], [0, focal, 119.5], [0, 0, 1]])
    views, poses = {}, {}
    for number in range(num_images):
        name = f"view{number}.png"
        pose = look_at([0.55 * (number - num_images / 2), 0.1 * (number % 3), 0.0], [0, 0, 6.5])
        canvas = np.zeros((240, 320, 3), dtype=np.uint8)
        for picture, corner, across, down in walls:
            height, width = picture.shape[:2]
            plane = np.stack(
                [np.array(across) / width, np.array(down) / height, np.array(corner)], axis=1
            )
            plane[:, 2] += 0.5 * (plane[:, 0] + plane[:, 1])
            to_pixels = inside @ (
                pose.rotation @ plane + np.outer(pose.translation, [0.0, 0.0, 1.0])
            )
            shown = cv2.warpPerspective(picture, to_pixels, (320, 240), flags=cv2.INTER_AREA)
            mask = cv2.warpPerspective(
                np.full((height, width), 255, np.uint8), to_pixels, (320, 240)
            )
            canvas[mask > 127] = np.asarray(shown)[mask > 127]
        views[name], poses[name] = canvas, pose
    return views, poses


def write_scene(folder: Path, *, with_poses: bool = True, num_images: int = 7) -> Path:
    """A scene folder as /images and cameras.json."""
    views, poses = render_views(num_images)
    (folder / "images").mkdir(parents=True)
    content = {}
    for name, pixels in views.items():
        Image.fromarray(pixels).save(folder / "images" / name)
        content[name] = {
            "width": 320,
            "height": 240,
            "K": [[280.0, 0, 159.5], [0, 280.0, 119.5], [0, 0, 1]],
            "R_cam_from_world": poses[name].rotation.round(7).tolist(),
            "t_cam_from_world": poses[name].translation.tolist(),
        }
    if with_poses:
        (folder / "cameras.json").write_text(json.dumps(content))
    return folder
