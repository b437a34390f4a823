"""How many descriptors see an object, and a cap on it that holds for every window."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
import pytest

from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Features
from sfumato.device.objects import REACH, CapDensity, count_in_boxes, most_in_window
from support import photograph


def scattered(count: int = 150, seed: int = 1, extractor: str = "sift") -> Features:
    rng = np.random.default_rng(seed)
    return Features(
        keypoints=rng.uniform(0, (199, 119), (count, 2)).astype(np.float32),
        descriptors=rng.integers(0, 256, (count, 128), dtype=np.uint8),
        scores=rng.uniform(0, 1, count).astype(np.float32),
        scales=rng.uniform(1, 4, count).astype(np.float32),
        angles=np.zeros(count, dtype=np.float32),
        image_size=(200, 120),
        extractor=extractor,
    )


def every_window(features: Features, width: int, height: int) -> int:
    """The most descriptors in any window, by looking at one window after the other."""
    boxes = [
        (left, top, left + width, top + height)
        for left in range(features.image_size[0] - width + 1)
        for top in range(features.image_size[1] - height + 1)
    ]
    return int(count_in_boxes(features, np.array(boxes, dtype=float)).max())


def test_what_lies_beyond_its_reach_does_not_change_a_descriptor() -> None:
    picture = cv2.cvtColor(photograph(), cv2.COLOR_RGB2GRAY)
    # As the extractor is made; see features/opencv.py.
    sift = cv2.SIFT.create(enable_precise_upscale=True)
    keypoints = sift.detect(picture)
    rng = np.random.default_rng(3)
    rows, columns = np.mgrid[: picture.shape[0], : picture.shape[1]]
    noise = rng.integers(0, 256, picture.shape, dtype=np.uint8)
    fills: list[Any] = [np.zeros_like(picture), np.full_like(picture, 255), 255 - picture, noise]
    chosen = rng.choice(len(keypoints), 40, replace=False)
    # The keypoint whose descriptor changed by 1 when all beyond 7 diameters was white.
    farthest = min(keypoints, key=lambda one: math.dist(one.pt, (166.06, 71.31)))
    for keypoint in [farthest, *(keypoints[index] for index in chosen)]:
        x, y = keypoint.pt
        beyond = np.hypot(columns - x, rows - y) > REACH["sift"] * keypoint.size
        _, first = sift.compute(picture, [keypoint])
        for fill in fills:
            _, second = sift.compute(np.where(beyond, fill, picture), [keypoint])
            assert np.array_equal(first, second)


@pytest.mark.parametrize("size", [(20, 30), (80, 80)])
def test_no_window_holds_more_than_the_most(size: tuple[int, int]) -> None:
    features = scattered()
    most = most_in_window(features, size)
    brute = every_window(features, *size)
    # Rectangles around circles, rounded outwards: a little more, never less.
    assert brute <= most <= 1.35 * brute


def test_a_cap_holds_in_every_window() -> None:
    features = scattered()
    kept = CapDensity(9, (30, 20))(features, rng=SeededRandom(0))
    assert every_window(kept, 30, 20) <= most_in_window(kept, (30, 20)) == 9
    assert 20 < len(kept) < len(features)
    assert kept.scores[0] == features.scores.max()


def test_a_cap_above_the_most_keeps_everything() -> None:
    features = scattered()
    most = most_in_window(features, (30, 20))
    assert len(CapDensity(most, (30, 20))(features, rng=SeededRandom(0))) == len(features)
    assert len(CapDensity(most - 1, (30, 20))(features, rng=SeededRandom(0))) < len(features)


def test_an_object_larger_than_the_picture_is_the_picture() -> None:
    features = scattered()
    assert most_in_window(features, (5000, 5000)) == len(features)


def test_a_picture_without_keypoints_has_none_in_a_window() -> None:
    empty = scattered().take(np.zeros(0, dtype=np.int64))
    assert most_in_window(empty, (10, 10)) == 0
    assert len(CapDensity(1, (10, 10))(empty, rng=SeededRandom(0))) == 0


def test_a_keypoint_outside_a_box_counts_if_it_sees_inside() -> None:
    one = scattered(1)
    (x, y), reach = one.keypoints[0], 8 * one.scales[0]
    near, far = x + reach - 0.5, x + reach + 0.5
    boxes = np.array([(near, y - 1, near + 5, y + 1), (far, y - 1, far + 5, y + 1)])
    assert count_in_boxes(one, boxes).tolist() == [1, 0]


def test_other_extractors_need_a_reach() -> None:
    unknown = scattered(extractor="own")
    with pytest.raises(InvalidInput, match="give reach"):
        most_in_window(unknown, (10, 10))
    assert most_in_window(unknown, (10, 10), reach=2.0) > 0


@pytest.mark.parametrize("size", [(0, 10), (10, -1), (float("nan"), 3), (float("inf"), 3)])
def test_an_object_has_a_size(size: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput):
        most_in_window(scattered(), size)


@pytest.mark.parametrize("size", [8, (8,), (8, 8, 8), None, "8x8"])
def test_a_window_has_two_sides(size: Any) -> None:
    with pytest.raises(InvalidInput, match="width and a height"):
        CapDensity(2, size)


def test_a_cap_below_one_keypoint_is_refused() -> None:
    with pytest.raises(InvalidInput, match="would send nothing"):
        CapDensity(0, (10, 10))
