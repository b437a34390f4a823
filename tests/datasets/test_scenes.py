"""Scenes with queries: the map without one of them, gravity, lists of pairs; Aachen's lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from queries import PROBLEM, QUERIES, WORLD
from sfumato.core.errors import InvalidInput
from sfumato.datasets.aachen import find_model, read_query_lists
from sfumato.datasets.scenes import Problem
from sfumato.server.mapping import Map
from synthetic import DICTIONARY


def test_a_map_without_a_scene_has_no_observation_of_it() -> None:
    two = Problem("two", WORLD, QUERIES, ("room", "other"))
    assert two.without_scene("room").num_observations == 0
    assert two.without_scene("other").num_observations == WORLD.num_observations


def test_the_control_does_not_find_the_index_of_the_whole_map(tmp_path: Path) -> None:
    WORLD.save(tmp_path / "map")
    stored = Map.load(tmp_path / "map")
    assert len(stored.word_index(DICTIONARY).rows) == WORLD.num_observations
    without = Problem("two", stored, QUERIES, ("room", "other")).without_scene("room")
    assert len(without.word_index(DICTIONARY).rows) == 0


def test_gravity_is_what_an_imu_would_say() -> None:
    gravity = PROBLEM.gravity(QUERIES[1])
    np.testing.assert_allclose(
        QUERIES[1].truth.rotation @ gravity.in_world,  # type: ignore[union-attr]
        gravity.in_camera,
        atol=1e-12,
    )
    assert gravity.in_world[1] > 0.9
    angles = [
        np.degrees(np.arccos(np.dot(PROBLEM.gravity(QUERIES[1], 2.0, seed).in_camera,
                                    gravity.in_camera)))
        for seed in range(400)
    ]  # fmt: skip
    assert np.sqrt(np.mean(np.square(angles))) == pytest.approx(2.0, rel=0.15)
    with pytest.raises(InvalidInput, match="true poses"):
        PROBLEM.gravity(replace(QUERIES[0], truth=None))


def test_a_list_of_pairs_names_images_of_the_map(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("room/q0.png room/2.png\nroom/q0.png room/0.png\nroom/other.png room/1.png\n")
    lists = PROBLEM.shortlists(pairs)
    assert lists["room/q0.png"].tolist() == [2, 0]
    assert lists["room/q1.png"].tolist() == []
    pairs.write_text("room/q0.png elsewhere.png\n")
    with pytest.raises(InvalidInput, match="not in the map"):
        PROBLEM.shortlists(pairs)


def test_aachens_folder_must_be_whole(tmp_path: Path) -> None:
    (tmp_path / "3D-models").mkdir()
    (tmp_path / "3D-models" / "aachen_cvpr2018_db.nvm").write_text("NVM_V3")
    with pytest.raises(InvalidInput, match="NVM"):
        find_model(tmp_path / "3D-models")
    with pytest.raises(InvalidInput, match="no list of queries"):
        read_query_lists(tmp_path)
    listed = tmp_path / "day_time_queries_with_intrinsics.txt"
    listed.write_text("a.png PINHOLE 320 240 1 2 3 4\nb.png PINHOLE 320\n")
    with pytest.raises(InvalidInput, match="line 2"):
        read_query_lists(tmp_path)
    listed.write_text("a.png PINHOLE 320 240 1 2\n")
    with pytest.raises(InvalidInput, match="line 1"):
        read_query_lists(tmp_path)
