"""Which keypoints touch a region: inside, in the margin, reaching in."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.detectors.base import Boxes
from sfumato.detectors.given import mask_boxes
from sfumato.detectors.regions import covered, grow, touches

BOX = Boxes(np.array([[10, 10, 30, 50]]), ("person",), np.ones(1))  # 20 wide, 40 high


def test_inside_margin_and_reach() -> None:
    points = np.array([[20, 30], [10, 10], [9.9, 30], [8, 30], [7.9, 30], [20, 53]])
    assert touches(BOX, points).tolist() == [True, True, False, False, False, False]
    # A tenth of the shorter side: 2 pixels on every side.
    assert touches(BOX, points, margin=0.1).tolist() == [True, True, True, True, False, False]
    far = touches(BOX, points, reach=np.array([0, 0, 0, 0, 2.2, 2.9]))
    assert far.tolist() == [True, True, False, False, True, False]
    assert grow(BOX.corners, 0.1).tolist() == [[8, 8, 32, 52]]


def test_reach_is_round_at_corners() -> None:
    corner = np.array([[7, 6]])  # 3 and 4 pixels off: 5 away
    assert not touches(BOX, corner, reach=4.99)[0]
    assert touches(BOX, corner, reach=5.0)[0]


def test_nothing_found_touches_nothing() -> None:
    nothing = Boxes(np.zeros((0, 4)), (), np.zeros(0))
    assert not touches(nothing, np.array([[1, 1]]), margin=5, reach=100).any()
    assert touches(BOX, np.zeros((0, 2))).shape == (0,)
    blank = mask_boxes(np.zeros((20, 20), dtype=bool))
    assert len(blank) == 0
    assert not touches(blank, np.array([[1, 1]]), margin=5).any()


def test_a_mask_hides_its_outline_and_not_the_box_around_it() -> None:
    mask = np.zeros((60, 60), dtype=bool)
    mask[5:55, 5:10] = True
    mask[50:55, 5:55] = True  # an L
    found = mask_boxes(mask)
    assert found.corners.tolist() == [[4.5, 4.5, 54.5, 54.5]]
    points = np.array([[7, 30], [30, 52], [40, 20], [13, 30]])
    assert touches(found, points).tolist() == [True, True, False, False]
    assert touches(found, points, reach=3.0).tolist() == [True, True, False, True]


def test_every_region_of_a_mask_has_a_margin_of_its_own() -> None:
    mask = np.zeros((100, 200), dtype=bool)
    mask[20:80, 20:80] = True
    mask[45:55, 150:160] = True
    points = np.array([[90, 50], [170, 50]])  # both 10 or 11 pixels off
    assert touches(mask_boxes(mask), points, margin=0.2).tolist() == [True, False]


@pytest.mark.parametrize("margin", [0.0, 0.25])
def test_covered_pixels_are_those_whose_centre_is_touched(margin: float) -> None:
    shown = covered(BOX, (60, 70), margin=margin)
    assert shown.shape == (70, 60)
    more = 20 * margin
    assert shown.sum() == (21 + 2 * more) * (41 + 2 * more)
