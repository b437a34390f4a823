"""Keypoints count from pixel centres, cameras from pixel corners: half a pixel lies between.

A pixel more or less hides in a loose tolerance. Here nothing is noisy, and the pictures are made by
a projection written out in this file, so that the truth does not share a mistake with the code.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from server.mapping.worlds import features_at, look_at
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Camera, Features, Pose
from sfumato.device.mechanisms import Plain
from sfumato.server.localize import localize
from sfumato.server.mapping import build_map_from_features, read_cameras_json
from sfumato.server.mapping.assemble import SparseModel
from sfumato.server.mapping.colmap import adjust
from sfumato.server.mapping.two_view import PairOptions, View, relative_pose
from sfumato.server.pose import PoseOptions, PoseProblem, estimate_pose, expected_by_chance
from sfumato.server.retrieval import MapRegion
from sfumato.server.upright import WorldGravity

CAMERA = Camera("PINHOLE", 640, 480, (500.0, 520.0, 300.0, 260.0))
POINTS = np.random.default_rng(3).uniform([-2, -1.5, 4], [2, 1.5, 8], (300, 3))
DESCRIPTORS = np.random.default_rng(4).integers(0, 256, (300, 128), dtype=np.uint8)
POSES = [look_at([0.6 * (i - 2.5), 0.1 * i, 0.0], [0, 0, 6]) for i in range(6)]
QUERY = look_at([0.3, -0.2, 0.4], [0.1, 0.05, 6])


def pixels_from_centres(pose: Pose, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """x = f·X/Z + c counts from the corner of the first pixel; its centre lies at ½."""
    inside = points @ pose.rotation.T + pose.translation
    x = 500.0 * inside[:, 0] / inside[:, 2] + 300.0 - 0.5
    y = 520.0 * inside[:, 1] / inside[:, 2] + 260.0 - 0.5
    return np.stack([x, y], axis=1)


def look(pose: Pose) -> tuple[Features, NDArray[np.int64]]:
    """What a camera sees without noise, and which point each feature shows."""
    pixels = pixels_from_centres(pose, POINTS)
    rows = np.flatnonzero((pixels >= 0).all(axis=1) & (pixels <= (639, 479)).all(axis=1))
    return features_at(pixels[rows], DESCRIPTORS[rows], CAMERA), rows


def exact_problem(gravity: WorldGravity | None = None) -> tuple[MapRegion, PoseProblem]:
    features, rows = look(QUERY)
    count = np.arange(len(rows))
    region = MapRegion(np.array([0]), count, rows, np.ones(len(rows)), np.ones(len(rows)))
    return region, PoseProblem(features.keypoints, POINTS, CAMERA, PoseOptions(), gravity)


@pytest.mark.parametrize("upright", [False, True])
def test_exact_matches_give_the_exact_pose(upright: bool) -> None:
    down = (0.0, 1.0, 0.0)
    gravity = WorldGravity(tuple(QUERY.rotation @ down), down, error_deg=0) if upright else None
    estimate = estimate_pose(*exact_problem(gravity))
    assert estimate is not None
    distance, degrees = estimate.pose.error_to(QUERY)
    assert distance < 1e-4  # a pixel too much makes it .003
    assert degrees < 1e-3  # a pixel too much makes it .1


def test_chance_is_counted_where_the_keypoints_are() -> None:
    region, problem = exact_problem()
    shown = pixels_from_centres(QUERY, POINTS[region.point])
    expected = expected_by_chance(shown, problem.keypoints, 0.01)
    assert expected == pytest.approx(1.0)  # every point meets its own keypoint and no other


def test_localization_is_exact_up_to_the_grid_of_the_wire_format() -> None:
    features = {f"{i}.png": look(pose)[0] for i, pose in enumerate(POSES)}
    poses = dict(zip(features, POSES, strict=True))
    world = build_map_from_features(features, cameras=CAMERA, poses=poses)
    release = Plain().release(look(QUERY)[0], rng=SeededRandom(0), camera=CAMERA)
    result = localize(release, world)
    assert result.pose is not None, result.reason
    distance, degrees = result.pose.error_to(QUERY)
    assert distance < 2e-3  # positions are rounded to an eighth of a pixel
    assert degrees < 0.02


def test_known_poses_give_the_exact_points() -> None:
    looks = [look(pose) for pose in POSES]
    features = {f"{i}.png": seen for i, (seen, _) in enumerate(looks)}
    poses = dict(zip(features, POSES, strict=True))
    world = build_map_from_features(features, cameras=CAMERA, poses=poses)
    truth = np.concatenate([rows for _, rows in looks])
    rows = world.observations()
    assert len(rows) > 1000
    away = world.points[world.point_of_feature[rows]] - POINTS[truth[rows]]
    assert np.abs(away).max() < 1e-3


def test_a_reconstruction_has_the_exact_shape() -> None:
    features = {f"{i}.png": look(pose)[0] for i, pose in enumerate(POSES)}
    world = build_map_from_features(features, cameras=CAMERA)
    assert world.num_images == len(POSES)
    turned = [world.pose(i).rotation @ world.pose(0).rotation.T for i in range(len(POSES))]
    for i, pose in enumerate(POSES):
        expected = pose.rotation @ POSES[0].rotation.T
        assert np.abs(turned[i] - expected).max() < 2e-5


def test_adjusting_true_poses_moves_nothing() -> None:
    looks = [look(pose) for pose in POSES]
    model = SparseModel(
        points=POINTS,
        point_of_feature=tuple(rows.astype(np.int32) for _, rows in looks),
        image_names=tuple(f"{i}.png" for i in range(len(POSES))),
        poses=tuple(POSES),
        cameras=(CAMERA,),
        camera_of_image=(0,) * len(POSES),
    )
    adjusted = adjust(model, [seen.keypoints for seen, _ in looks], refine_cameras=False)
    for before, after in zip(POSES, adjusted.poses, strict=True):
        distance, degrees = after.error_to(before)
        assert distance < 1e-4
        assert degrees < 1e-3


def test_two_exact_views_give_the_exact_motion() -> None:
    (first, first_rows), (second, second_rows) = look(POSES[0]), look(POSES[5])
    _, a, b = np.intersect1d(first_rows, second_rows, return_indices=True)
    views = (View(first.keypoints, CAMERA), View(second.keypoints, CAMERA))
    found = relative_pose(*views, np.stack([a, b], axis=1), PairOptions())
    assert found is not None
    rotation = POSES[5].rotation @ POSES[0].rotation.T
    motion = POSES[5].translation - rotation @ POSES[0].translation
    assert np.abs(found[0].rotation - rotation).max() < 1e-4
    assert np.abs(found[0].translation - motion / np.linalg.norm(motion)).max() < 1e-3


def test_a_cameras_file_counts_from_pixel_centres(tmp_path: Path) -> None:
    matrix = [[500.0, 0, 299.5], [0, 520.0, 259.5], [0, 0, 1]]
    entry = {"width": 640, "height": 480, "K": matrix}
    (tmp_path / "cameras.json").write_text(json.dumps({"a.png": entry}), encoding="utf-8")
    assert read_cameras_json(tmp_path / "cameras.json").cameras["a.png"] == CAMERA
