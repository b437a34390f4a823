"""Points of a map to draw a pose among: positions alone, few of them, for its tenant."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from served import ROOM, Serve, Served, refused
from sfumato.server.mapping.map import Map
from sfumato.service.points import few_points
from synthetic import MAPPING_POSES, make_map


def test_whoever_may_ask_a_map_sees_some_of_its_points(served: Served) -> None:
    room = served.map_id()
    world = Map.load(served.world.folder)
    answer = served.client.get(f"/v1/maps/{room}/points", headers=served.query)
    assert answer.status_code == 200
    assert set(answer.json()) == {"points", "up"}
    shown = np.array(answer.json()["points"])
    near = np.abs(shown[:, None] - np.asarray(world.points)[None]).max(axis=2).min(axis=1)
    assert near.max() < 1e-4
    assert np.linalg.norm(answer.json()["up"]) == pytest.approx(1)
    refused(served.client.get(f"/v1/maps/{room}/points"), 401, "valid key")


def test_an_operator_may_hide_them(serve: Serve) -> None:
    served = serve(shown_points=0)
    room = served.map_id()
    answer = served.client.get(f"/v1/maps/{room}/points", headers=served.query)
    assert answer.json()["points"] == []


def test_points_are_thinned_evenly_and_far_ones_are_left_out(served: Served) -> None:
    world = Map.load(served.world.folder)
    total = len(world.points)
    for count in (1, 7, 100, total, 10 * total):
        shown = few_points(world, count)["points"]
        assert count / 2 - 1 <= len(shown) <= min(count, total) or count > total
        assert len(shown) <= total
    points = np.array(world.points)
    points[0] = 1e6
    far = dataclasses.replace(world, points=points)
    assert np.abs(few_points(far, total)["points"]).max() < 1e3


def test_up_is_where_the_pictures_of_the_map_have_their_upper_edge() -> None:
    world = make_map(ROOM, MAPPING_POSES[:6])
    up = few_points(world, 1)["up"]
    down = np.mean([pose.rotation[1] for pose in MAPPING_POSES[:6]], axis=0)
    assert np.dot(up, down) == pytest.approx(-np.linalg.norm(down))
