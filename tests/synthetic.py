"""A world with known truth: points on the walls of a room, and cameras that look at them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.types import Camera, Features, Pose
from sfumato.dictionary import Dictionary
from sfumato.server.mapping.map import Map
from support import features_of, tiny_dictionary

SIZE = (640, 480)
CAMERA = Camera("PINHOLE", *SIZE, (480.0, 480.0, 320.0, 240.0))
DICTIONARY = tiny_dictionary(512, dimension=16)


@dataclass(frozen=True)
class Room:
    """Points, their descriptors, and how they look from a pose."""

    points: NDArray[np.float64]
    descriptors: NDArray[np.float32]

    def look(
        self, pose: Pose, *, seed: int, noise: float = 0.3, clutter: int = 200
    ) -> tuple[Features, NDArray[np.int64]]:
        """Features seen from a pose with the point of each, −1 for clutter."""
        generator = np.random.default_rng(seed)
        inside = pose.apply(self.points)
        flat = inside[:, :2] / inside[:, 2:]
        focal, center = np.array(CAMERA.params[:2]), np.array(CAMERA.params[2:])
        pixels = flat * focal + center - 0.5 + generator.normal(size=flat.shape) * noise
        seen = (
            (inside[:, 2] > 0.1)
            & (pixels >= 0).all(axis=1)
            & (pixels < np.array(SIZE) - 1).all(axis=1)
        )
        rows = np.flatnonzero(seen)
        dirt = generator.normal(size=(clutter, self.descriptors.shape[1]))
        keypoints = np.concatenate([pixels[rows], generator.random((clutter, 2)) * (639, 479)])
        features = features_of(np.concatenate([self.descriptors[rows], dirt]).astype(np.float32))
        order = generator.permutation(len(keypoints))
        point = np.concatenate([rows, np.full(clutter, -1)])[order]
        shuffled = Features(
            keypoints=keypoints[order].astype(np.float32),
            descriptors=features.descriptors[order],
            scores=features.scores,
            scales=features.scales,
            angles=features.angles,
            image_size=SIZE,
            extractor="tiny",
        )
        return shuffled, point


def make_room(num_points: int = 3000, seed: int = 0, dictionary: Dictionary = DICTIONARY) -> Room:
    """Points on three walls; each looks almost like one word of the dictionary."""
    generator = np.random.default_rng(seed)
    flat = generator.random((num_points, 2)) * (8, 3)
    depth = np.choose(np.arange(num_points) % 3, [6.0, 5.0, 7.0]) + 0.3 * np.sin(flat[:, 0])
    points = np.column_stack([flat[:, 0] - 4, flat[:, 1] - 1.5, depth])
    words = dictionary.words[generator.integers(0, dictionary.num_words, num_points)]
    return Room(points, words + generator.normal(size=words.shape).astype(np.float32) * 0.02)


def pose_at(x: float, y: float, z: float, *, turn_deg: float = 0.0, roll_deg: float = 0.0) -> Pose:
    """A camera at (x, y, z) that looks along +z, turned about the vertical and rolled."""
    a, b = np.radians([turn_deg, roll_deg])
    turn = np.array([[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]])
    roll = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    rotation = roll @ turn
    return Pose(rotation, -rotation @ np.array([x, y, z]))


def make_map(room: Room, poses: list[Pose], *, seed: int = 100) -> Map:
    """The map that these views of the room give; points nobody saw stay without observation."""
    looks = [room.look(pose, seed=seed + i) for i, pose in enumerate(poses)]
    return Map(
        points=room.points,
        rotations=np.stack([pose.rotation for pose in poses]),
        translations=np.stack([pose.translation for pose in poses]),
        camera_of_image=np.zeros(len(poses), dtype=np.int32),
        feature_start=np.cumsum([0, *(len(features) for features, _ in looks)]),
        keypoints=np.concatenate([features.keypoints for features, _ in looks]),
        descriptors=np.concatenate([features.descriptors for features, _ in looks]),
        point_of_feature=np.concatenate([point for _, point in looks]).astype(np.int32),
        image_names=tuple(f"view-{i}.png" for i in range(len(poses))),
        cameras=(CAMERA,),
        extractor="tiny",
    )


MAPPING_POSES = [
    pose_at(x, y, 0.0, turn_deg=turn) for x in (-2, 0, 2) for y in (-0.3, 0.3) for turn in (-12, 12)
]
