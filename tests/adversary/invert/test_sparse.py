"""Who is nearest to each block of pixels, against the slow way."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.adversary.invert.sparse import REACH, MapOptions, map_pixels
from sfumato.core.errors import InvalidInput


def test_every_block_finds_its_nearest_keypoints_and_their_offsets() -> None:
    rng = np.random.default_rng(0)
    points = (rng.random((12, 2)) * (30, 20)).astype(np.float32)
    options = MapOptions(neighbours=2, radius=9.0, multiple=8)
    made = map_pixels(points, (31, 21), options)
    assert made.index.shape == (2, 12, 16)
    assert made.offsets.shape == (2, 3, 12, 16)
    for row in range(12):
        for column in range(16):
            middle = np.array([2 * column + 0.5, 2 * row + 0.5])
            away = np.linalg.norm(points - middle, axis=1)
            for slot, nearest in enumerate(np.argsort(away)[:2]):
                if away[nearest] < 9:
                    assert made.index[slot, row, column] == nearest + 1
                    expected = [*((middle - points[nearest]) / 9), 1]
                else:
                    assert made.index[slot, row, column] == 0
                    expected = [0, 0, 0]
                assert made.offsets[slot, :, row, column] == pytest.approx(expected, abs=1e-5)


def test_no_keypoints_gives_a_map_of_zeros() -> None:
    made = map_pixels(np.empty((0, 2)), (33, 17), MapOptions(neighbours=3, multiple=16))
    assert made.index.shape == (3, 16, 24)
    assert not made.index.any()
    assert not made.offsets.any()


def test_fewer_keypoints_than_neighbours_leave_slots_empty() -> None:
    made = map_pixels(np.array([[5.0, 5.0]]), (16, 16), MapOptions(neighbours=3, multiple=16))
    assert (made.index[0] == 1).all()
    assert not made.index[1:].any()


def test_cropping_gives_back_the_size_of_the_picture() -> None:
    made = map_pixels(np.array([[5.0, 5.0]]), (33, 17), MapOptions(multiple=16))
    assert made.crop(np.zeros((32, 48, 3))).shape == (17, 33, 3)


@pytest.mark.parametrize("angle", [0.0, 90.0, 213.0])
def test_a_frame_gives_the_place_in_the_keypoints_own_frame(angle: float) -> None:
    options = MapOptions(neighbours=1, multiple=16, framed=True)
    scales, angles = np.array([4.0]), np.array([angle])
    made = map_pixels(np.array([[8.5, 8.5]]), (16, 16), options, scales=scales, angles=angles)
    x, y = 2 * 5 + 0.5 - 8.5, 2 * 3 + 0.5 - 8.5  # block in row 3, column 5
    turn = np.deg2rad(angle)
    expected = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) @ (x, y) / 4
    assert made.offsets[0, 3:, 3, 5] == pytest.approx(expected, abs=1e-5)
    assert np.abs(made.offsets[:, 3:]).max() <= REACH


def test_frames_without_scales_is_refused() -> None:
    with pytest.raises(InvalidInput, match="needs the scale and angle"):
        map_pixels(np.zeros((1, 2)), (16, 16), MapOptions(framed=True))


def test_bad_options_are_refused() -> None:
    for name, options in {
        "neighbours": {"neighbours": 0},
        "radius": {"radius": 0.5},
        "multiple": {"multiple": 3},
        "covering": {"covering": 2},
    }.items():
        with pytest.raises(InvalidInput, match=name):
            MapOptions(**options)  # type: ignore[arg-type]


def test_covering_keypoints_are_those_whose_windows_reach_a_block_large_ones_favoured() -> None:
    rng = np.random.default_rng(3)
    points = (rng.random((9, 2)) * 40).astype(np.float32)
    sizes = rng.uniform(2, 9, 9)
    options = MapOptions(neighbours=1, multiple=8, framed=True, covering=2)
    made = map_pixels(points, (40, 40), options, scales=sizes, angles=np.zeros(9))
    assert made.index.shape == (options.slots, 20, 20)
    for row in range(20):
        for column in range(20):
            middle = np.array([column // 2, row // 2]) * 4 + 1.5  # of 2×2 blocks
            away = np.linalg.norm(points - middle, axis=1)
            claim = np.where(away < 3 * sizes, away / sizes**0.75, np.inf)
            best = np.argsort(claim)[:2]
            expected = np.where(np.isfinite(claim[best]), best + 1, 0)
            assert made.index[1:, row, column].tolist() == expected.tolist()


def test_a_block_that_no_window_covers_has_no_covering_keypoint() -> None:
    options = MapOptions(neighbours=1, multiple=16, framed=True, covering=3)
    made = map_pixels(
        np.array([[4.0, 4.0]]), (32, 32), options, scales=np.array([2.0]), angles=np.zeros(1)
    )
    assert made.index[1].any()
    assert not made.index[1, 8:].any()
    assert not made.index[2:].any()
    empty = map_pixels(np.empty((0, 2)), (32, 32), options, scales=np.empty(0), angles=np.empty(0))
    assert not empty.index.any()
