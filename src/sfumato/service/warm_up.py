"""Localize once in a world of a few points, so that nobody waits for imports and compilers."""

from __future__ import annotations

import math

import numpy as np

from sfumato.core.releases import WordRelease
from sfumato.core.types import Camera
from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server.localize import LocalizeOptions, localize
from sfumato.server.mapping.map import Map
from sfumato.server.pose import PoseOptions

_COUNT = 64
_NAME = "0" * 64


def warm_up() -> None:
    """One image sees all points; the query is that image again, each point its own word."""
    generator = np.random.default_rng(0)
    camera = Camera("PINHOLE", 640, 480, (480.0, 480.0, 320.0, 240.0))
    points = generator.uniform((-2, -1.5, 4), (2, 1.5, 6), (_COUNT, 3))
    pixels = (480 * points[:, :2] / points[:, 2:] + (319.5, 239.5)).astype(np.float32)
    every = np.arange(_COUNT)
    world = Map(
        points=points,
        rotations=np.eye(3)[None],
        translations=np.zeros((1, 3)),
        camera_of_image=np.zeros(1, dtype=np.int32),
        feature_start=np.array([0, _COUNT]),
        keypoints=pixels,
        descriptors=np.zeros((_COUNT, 8), dtype=np.uint8),
        point_of_feature=every.astype(np.int32),
        image_names=("one",),
        cameras=(camera,),
        extractor="sift",
        _indices={_NAME: InvertedIndex.build(every, every, _COUNT)},
    )
    release = WordRelease(
        keypoints=pixels,
        words=every[:, None].astype(np.uint32),
        num_words=_COUNT,
        dictionary=_NAME,
        epsilon=1.0,
        image_size=(640, 480),
        extractor="sift",
        camera=camera,
    )
    localize(release, world)
    # Words alone are never believed here, so the search by positions is compiled as well. It
    # takes longer than a request may: one that had to wait for it would be ended, again and again.
    localize(release, world, options=LocalizeOptions(pose=PoseOptions(max_log10_chance=-math.inf)))
