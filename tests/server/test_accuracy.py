"""A pose says how far it may be off, and is right about that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.core.lens import project
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Camera, Pose
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.server.localize import localize
from sfumato.server.mapping.own_error import OwnError, learn_own_error, own_error_of
from sfumato.server.mapping.scenes import join_maps
from sfumato.server.pose_fit import (
    covariance_of,
    moved_by,
    pose_slopes,
    radius_90,
    refine_pose,
    shared_covariance,
    step_between,
)
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

ROOM = make_room()
WORLD = make_map(ROOM, MAPPING_POSES)
POSE = pose_at(0.7, 0.1, 0.8, turn_deg=5, roll_deg=4)
LIMIT = 6.0


def seen_points(count: int, generator: np.random.Generator) -> np.ndarray:
    """Points that POSE has in its picture."""
    pixels = project(CAMERA, POSE.apply(ROOM.points))
    inside = (pixels > 0).all(axis=1) & (pixels < (640, 480)).all(axis=1)
    return generator.choice(ROOM.points[inside], count, replace=False)


@pytest.mark.parametrize(
    "camera",
    [CAMERA, Camera("OPENCV", 640, 480, (480.0, 470.0, 320.0, 240.0, 0.1, -0.05, 0.01, 0.02))],
)
def test_slopes_are_what_a_small_step_does(camera: Camera) -> None:
    points = seen_points(20, np.random.default_rng(0))
    slopes = pose_slopes(camera, POSE, points)
    for axis in range(6):
        step = np.zeros(6)
        step[axis] = 1e-6
        there = project(camera, moved_by(POSE, step).apply(points))
        back = project(camera, moved_by(POSE, -step).apply(points))
        assert np.allclose((there - back) / 2e-6, slopes[:, :, axis], rtol=1e-3, atol=1e-2)
    assert np.allclose(step_between(POSE, moved_by(POSE, step)), step, atol=1e-9)


@pytest.mark.parametrize("share_wrong", [0.0, 0.3])
def test_stated_regions_hold_nine_poses_of_ten(share_wrong: float) -> None:
    generator = np.random.default_rng(1)
    inside = []
    for _ in range(120):
        points = seen_points(60, generator)
        keypoints = project(CAMERA, POSE.apply(points)) + generator.normal(size=(60, 2)) * 0.8
        wrong = generator.random(60) < share_wrong
        keypoints[wrong] += generator.uniform(-LIMIT, LIMIT, (int(wrong.sum()), 2))
        pose, used = refine_pose(CAMERA, POSE, keypoints, points, LIMIT)
        points, keypoints = points[used], keypoints[used]
        errors = project(CAMERA, pose.apply(points)) - keypoints
        covariance = covariance_of(
            pose_slopes(CAMERA, pose, points),
            errors,
            keypoints,
            limit=LIMIT,
            expected_wrong=float(wrong.sum()),
        )
        step = step_between(pose, POSE)
        inside.append(
            [
                np.linalg.norm(step[part]) <= radius_90(covariance[part, part])
                for part in (slice(3), slice(3, 6))
            ]
        )
    assert np.mean(inside, axis=0).min() >= 0.82
    assert np.mean(inside, axis=0).max() <= 0.98


def test_the_radius_holds_nine_draws_of_ten_whatever_the_shape() -> None:
    generator = np.random.default_rng(2)
    for axes in ((1.0, 1.0, 1.0), (1.0, 0.1, 0.01), (3.0, 2.0, 0.0)):
        draws = generator.normal(size=(20_000, 3)) * axes
        share = np.mean(np.linalg.norm(draws, axis=1) <= radius_90(np.diag(np.square(axes))))
        assert share == pytest.approx(0.9, abs=0.01)


def test_matches_at_one_place_count_once() -> None:
    generator = np.random.default_rng(3)
    points = seen_points(40, generator)
    errors = generator.normal(size=(40, 2))
    keypoints = project(CAMERA, POSE.apply(points)) - errors
    slopes = pose_slopes(CAMERA, POSE, points)
    once = covariance_of(slopes, errors, keypoints, limit=LIMIT)
    again = [np.concatenate([part] * 4) for part in (slopes, errors, keypoints)]
    repeated = covariance_of(*again, limit=LIMIT)
    assert radius_90(repeated[3:, 3:]) > 0.8 * radius_90(once[3:, 3:])


def shaken(degrees: float) -> list[Pose]:
    """The poses of the map's images as a bad tracker would give them."""
    generator = np.random.default_rng(4)
    steps = generator.normal(size=(len(MAPPING_POSES), 6)) * np.radians(degrees)
    return [moved_by(pose, step * (1, 1, 1, 0, 0, 0)) for pose, step in
            zip(MAPPING_POSES, steps, strict=True)]  # fmt: skip


def test_a_map_with_bad_poses_knows_that_from_its_own_images() -> None:
    good = learn_own_error(WORLD)
    assert good.num_images == len(MAPPING_POSES)
    bad = replace(WORLD, rotations=np.stack([pose.rotation for pose in shaken(0.3)]),
                  translations=np.stack([pose.translation for pose in shaken(0.3)]))  # fmt: skip
    learnt = learn_own_error(bad)
    assert learnt.rotation_deg > 5 * good.rotation_deg
    slopes = pose_slopes(CAMERA, POSE, seen_points(50, np.random.default_rng(5)))
    added = np.degrees(radius_90(learnt.covariance(shared_covariance(slopes, CAMERA))[:3, :3]))
    assert 0.3 < added < 3  # what a tracker off by 0.3° about each axis does


def test_what_a_map_says_about_itself_is_used_and_nonsense_is_not() -> None:
    told = replace(WORLD, facts={"own_error": OwnError(0.5, 0.6, 0.01, 9).as_facts()})
    assert own_error_of(told, 3) == OwnError(0.5, 0.6, 0.01, 9)
    joined = join_maps({"a": told, "b": WORLD})
    assert own_error_of(joined, 0) == OwnError(0.5, 0.6, 0.01, 9)
    assert own_error_of(joined, len(MAPPING_POSES)).num_images == len(MAPPING_POSES)
    for nonsense in (None, 3, {}, {"position_deg": "1"}, {**OwnError().as_facts(), "focal": -1}):
        assert OwnError.from_facts(nonsense) is None
    assert own_error_of(replace(WORLD, facts={"scenes": "?"}), 2).num_images > 0


def test_every_pose_comes_with_an_error_that_fits() -> None:
    inside = []
    for seed in range(6):
        features, _ = ROOM.look(POSE, seed=seed)
        release = SubsetMechanism(6.0, 1, DICTIONARY).release(
            features, rng=SeededRandom(seed), camera=CAMERA
        )
        found = localize(release, WORLD, dictionary=DICTIONARY)
        assert found.pose is not None
        assert found.error is not None
        assert found.warning is None
        distance, degrees = found.pose.error_to(POSE)
        assert distance < 2 * found.error.position
        assert degrees < 2 * found.error.rotation_deg
        assert found.error.position < 0.1
        inside.append(distance <= found.error.position)
    assert sum(inside) >= 4


def test_few_images_of_a_map_tell_its_error_less_surely_than_many() -> None:
    radius = [radius_90(OwnError(0.1, 0.1, 0.0, count).covariance(np.eye(6))[3:, 3:])
              for count in (4, 40, 40_000)]  # fmt: skip
    sure = radius_90(np.eye(3) * np.radians(0.1) ** 2)
    assert radius[0] > 3 * radius[1] > 3 * radius[2]
    assert radius[2] == pytest.approx(sure, rel=1e-3)


def test_an_error_that_all_matches_share_does_not_shrink_with_their_number() -> None:
    generator = np.random.default_rng(6)
    few, many = (
        shared_covariance(pose_slopes(CAMERA, POSE, seen_points(count, generator)), CAMERA)
        for count in (50, 500)
    )
    assert radius_90(many[3:, 3:]) == pytest.approx(radius_90(few[3:, 3:]), rel=0.4)
