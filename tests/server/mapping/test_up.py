"""A map knows which way is up only where somebody said so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.gravity import Gravity
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.scenes import join_maps
from sfumato.server.mapping.up import with_up
from sfumato.server.shards.sharded_map import open_map
from sfumato.server.shards.stored import shard_map
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

ROOM = make_room(1500)
WORLD = make_map(ROOM, MAPPING_POSES[:8])
QUERY = pose_at(0.7, 0.1, 0.8, turn_deg=5, roll_deg=9)
UP = (0.0, -1.0, 0.0)
DOWN = Gravity(tuple(QUERY.rotation[:, 1]))


def test_up_is_stored_with_the_map(tmp_path: Path) -> None:
    assert WORLD.up is None
    with_up(WORLD, (0, -3, 0)).save(tmp_path / "map")
    assert Map.load(tmp_path / "map").up == UP
    for bad in ((0, 0, 0), (0, float("nan"), 1), (1, 2)):
        with pytest.raises(InvalidInput, match="up must be"):
            with_up(WORLD, bad)


@pytest.mark.parametrize("bad", [None, "0,0,1", [0, 0], [0, 0, "1"], {"x": 1}])
def test_a_manifest_that_lies_about_up_is_refused_when_it_is_asked(bad: object) -> None:
    with pytest.raises(InvalidInput, match="up of a map must be"):
        _ = replace(WORLD, facts={"up": bad}).up


def test_scenes_of_one_map_must_agree() -> None:
    upright, other = with_up(WORLD, UP), with_up(WORLD, (0, 0, 1))
    assert join_maps({"a": upright, "b": upright}).up == UP
    assert join_maps({"a": upright, "b": other}).up is None
    assert join_maps({"a": upright, "b": WORLD}).up is None
    assert with_up(join_maps({"a": upright, "b": WORLD}), UP).up == UP


def test_gravity_is_used_by_maps_that_know_up_in_one_piece_or_in_shards(tmp_path: Path) -> None:
    features, _ = ROOM.look(QUERY, seed=0)
    release = SubsetMechanism(6.0, 1, DICTIONARY).release(
        features, rng=SeededRandom(0), camera=CAMERA
    )
    world = with_up(WORLD, UP)
    world.word_index(DICTIONARY)
    found = localize(release, world, gravity=DOWN)
    assert found.pose is not None
    assert found.pose.error_to(QUERY)[0] < 0.05
    upside_down = with_up(world, (0, 1, 0))
    assert not localize(release, upside_down, gravity=DOWN).localized
    assert localize(release, upside_down).localized
    shard_map(world, tmp_path / "shards", 3)
    cut = open_map(tmp_path / "shards")
    assert cut.up == UP
    assert localize(release, cut, gravity=DOWN).pose == found.pose
    manifest = tmp_path / "shards" / "manifest.json"
    shard_map(WORLD, tmp_path / "other", 3)
    assert json.loads(manifest.read_text())["up"] == list(UP)
    for unaware in (WORLD, open_map(tmp_path / "other")):
        with pytest.raises(Mismatch, match="knows which way is up"):
            localize(release, unaware, dictionary=DICTIONARY, gravity=DOWN)
