"""A map without some images is what would have been made without them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server.mapping.held_out import HeldOut
from sfumato.server.mapping.map import Map
from synthetic import DICTIONARY, MAPPING_POSES, make_map, make_room

NESTED = DICTIONARY.with_levels((64,))
ROOM = make_room(1500)
WORLD = make_map(ROOM, MAPPING_POSES[:8])
HELD_OUT = HeldOut(WORLD, [NESTED])


def seen_by(world: Map, image: int) -> NDArray[np.int32]:
    return np.asarray(world.point_of_feature[world.features_of(image)])


def test_left_out_images_see_nothing_and_every_point_is_seen_twice() -> None:
    less = HELD_OUT.without([2, 3, 0, 1, 7])
    assert less.num_images == WORLD.num_images
    assert (seen_by(less, 2) < 0).all()
    assert (seen_by(less, 3) < 0).all()
    counts = np.bincount(less.point_of_feature[less.observations()], minlength=len(less.points))
    assert counts.min() >= 2
    assert len(less.points) < len(np.unique(WORLD.point_of_feature)) - 1


def test_points_are_placed_again_without_what_the_left_out_images_saw() -> None:
    # Only the left-out image saw a point wrongly: without it the point is where it belongs.
    moved = np.array(WORLD.points)
    target = int(np.bincount(WORLD.point_of_feature[WORLD.point_of_feature >= 0]).argmax())
    moved[target] += 0.02
    rows = np.flatnonzero(WORLD.point_of_feature == target)
    image = int(WORLD.image_of(rows[:1])[0])
    less = HeldOut(replace(WORLD, points=moved)).without([image])
    other = int(less.point_of_feature[rows[-1]])
    assert other >= 0
    assert np.linalg.norm(less.points[other] - ROOM.points[target]) < 0.01
    # A point that the image did not see stays exactly as it was.
    own = set(seen_by(WORLD, image).tolist())
    far = next(row for row in WORLD.observations() if WORLD.point_of_feature[row] not in own)
    kept = less.points[less.point_of_feature[far]]
    assert (kept == moved[WORLD.point_of_feature[far]]).all()


def test_leaving_out_nothing_changes_nothing() -> None:
    same = HELD_OUT.without([])
    before = WORLD.points[WORLD.point_of_feature[WORLD.observations()]]
    assert (same.observations() == WORLD.observations()).all()
    assert (same.points[same.point_of_feature[same.observations()]] == before).all()


def test_the_words_of_every_level_are_filed_as_they_would_be_anew() -> None:
    less = HELD_OUT.without([0, 5])
    for size in (64, 512):
        level = NESTED.at(size)
        rows = less.observations()
        words = level.nearest(np.asarray(less.descriptors[rows])).astype(np.int64)
        anew = InvertedIndex.build(words, rows, size)
        found = less.word_index(level)
        assert (found.starts == anew.starts).all()
        assert (found.rows == anew.rows).all()
