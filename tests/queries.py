"""Two queries in a small room, and the map they are to be found in."""

from __future__ import annotations

from dataclasses import replace

from sfumato.datasets.scenes import Problem, Query
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

ROOM = make_room(1500)
NESTED = DICTIONARY.with_levels((64,))
WORLD = replace(
    make_map(ROOM, MAPPING_POSES[:6]), image_names=tuple(f"room/{i}.png" for i in range(6))
)
TRUTHS = [pose_at(-1.2, 0.1, 0.2, turn_deg=3), pose_at(-0.8, -0.1, 0.1, turn_deg=-5, roll_deg=4)]
QUERIES = tuple(
    Query(f"room/q{i}.png", "room", ROOM.look(pose, seed=40 + i)[0], CAMERA, pose)
    for i, pose in enumerate(TRUTHS)
)
PROBLEM = Problem("a room", WORLD, QUERIES, ("room",))
