"""What is left out of a map is a stretch of neighbours, or all that is too near."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput
from sfumato.privacy.stretches import Surroundings
from synthetic import make_map, make_room, pose_at

ROOM = make_room(1500)
#: A row of twelve views from left to right, in another order.
ORDER = [3, 0, 7, 11, 1, 5, 9, 2, 4, 10, 6, 8]
PLACES = [-2.75 + 0.5 * place for place in ORDER]
AROUND = Surroundings(make_map(ROOM, [pose_at(x, 0, 0) for x in PLACES]))


def test_stretches_are_neighbours_whatever_the_order_of_the_images() -> None:
    stretch = AROUND.stretch_of
    assert np.bincount(stretch).tolist() == [2] * 6
    apart = [abs(np.diff([PLACES[i] for i in np.flatnonzero(stretch == n)])) for n in range(6)]
    assert np.median(apart) == 0.5
    assert np.max(apart) <= 1.0


def test_the_first_images_asked_about_lie_in_different_stretches() -> None:
    images = AROUND.spread(9)
    assert len(set(images)) == 9
    assert len({int(AROUND.stretch_of[image]) for image in images[:6]}) == 6
    assert len(AROUND.spread(100)) == 12


def test_an_image_is_left_out_with_its_stretch_or_with_all_nearer_views() -> None:
    image = ORDER.index(6)
    own = AROUND.left_out(image)
    assert image in own
    assert len(own) == 2
    step = AROUND.nearest(AROUND.world.pose(image), np.array([image])).degrees
    nearer = AROUND.left_out(image, 2 * step)
    # 4 and 8 are as far as each other: the nearest view that stays is one of them.
    assert {ORDER[one] for one in nearer} - {4, 8} == {5, 6, 7}
    assert len(nearer) <= 4
    assert AROUND.left_out(image, 0.0).tolist() == [image]
    change = AROUND.nearest(AROUND.world.pose(image), nearer)
    assert change.distance == pytest.approx(1.0)
    assert change.degrees == pytest.approx(2 * step, rel=0.05)


def test_a_turn_counts_as_well_as_a_step() -> None:
    turned = AROUND.nearest(pose_at(PLACES[0], 0, 0, turn_deg=12))
    assert turned.turn_deg == pytest.approx(12)
    assert turned.distance == pytest.approx(0, abs=1e-9)
    assert turned.degrees == pytest.approx(12)


def test_small_maps_leave_out_single_images_and_tiny_ones_are_refused() -> None:
    three = Surroundings(make_map(ROOM, [pose_at(x, 0, 0) for x in (0, 0.5, 1)]))
    assert sorted(three.stretch_of.tolist()) == [0, 1, 2]
    with pytest.raises(InvalidInput, match="at least 3 images that see 20 points"):
        Surroundings(make_map(ROOM, [pose_at(x, 0, 0) for x in (0, 0.5)])).spread(2)
