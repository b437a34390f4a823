"""Ours: several frames of a moving device asked together, what they cost and gain beside one.

The frames are queries that follow each other. Their motion is the true one with an error, drawn
anew between every two: what odometry would say.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.spatial.transform import Rotation

from sfumato.core.errors import InvalidInput
from sfumato.core.types import Pose
from sfumato.datasets.scenes import Problem, Query
from sfumato.dictionary import Dictionary
from sfumato.server.mapping.map import Map
from sfumato.server.motion import Frame, OdometryError, compose, inverse
from sfumato.server.sequence import localize_sequence
from sfumato_papers.harness.work import seed_of
from sfumato_papers.ldp_feat.localization_predictions import Prediction, Setting
from sfumato_papers.ldp_feat.localization_releases import make_release


def window(problem: Problem, query: Query, count: int) -> tuple[Query, ...]:
    """So many queries that follow each other, this one the last, or as late as there are enough.

    Queries follow each other where no picture of the map lies between their names.
    """
    asked = {one.name: one for one in problem.queries}
    runs: list[list[Query]] = [[]]
    for name in sorted({*asked, *problem.world.image_names}):
        if name in asked and (not runs[-1] or runs[-1][-1].scene == asked[name].scene):
            runs[-1].append(asked[name])
        elif name in asked:
            runs.append([asked[name]])
        elif runs[-1]:
            runs.append([])
    run = next(run for run in runs if query.name in [one.name for one in run])
    if len(run) < count:
        raise InvalidInput(
            f"{count} frames need so many queries that follow each other, {query.name} has "
            f"{len(run)}; give --hold-out blocks:{count}/3 or fewer frames."
        )
    if any(one.truth is None for one in run):
        raise InvalidInput("odometry is made from true poses, and these queries have none.")
    last = max([one.name for one in run].index(query.name) + 1, count)
    return tuple(run[last - count : last])


def odometry_of(poses: Sequence[Pose], error: OdometryError, seed: int) -> list[Pose]:
    """What odometry says of a motion: every step with an error of its own, which adds up."""
    rng = np.random.default_rng(seed)
    motion = [Pose(np.eye(3), np.zeros(3))]
    for before, after in pairwise(poses):
        step = compose(after, inverse(before))
        turn = rng.normal(size=3) * math.radians(error.degrees) / math.sqrt(3)
        way = float(np.linalg.norm(step.center))
        shift = rng.normal(size=3) * error.share * way / math.sqrt(3)
        wrong = Pose(Rotation.from_rotvec(turn).as_matrix(), shift)
        motion.append(compose(wrong, compose(step, motion[-1])))
    return motion


def predict_frames(
    problem: Problem,
    world: Map,
    query: Query,
    setting: Setting,
    words: Dictionary | None,
    seed: int,
) -> Prediction:
    """The pose of a query that is asked together with the frames beside it."""
    queries = window(problem, query, setting.num_frames)
    poses = [one.truth for one in queries if one.truth is not None]
    error = OdometryError.parse(setting.odometry or "0%/0deg")
    motion = odometry_of(poses, error, seed_of(seed, query.name, setting.num_frames, error))
    frames = []
    for one, moved in zip(queries, motion, strict=True):
        least = len(one.features) if setting.max_keypoints is None else setting.max_keypoints
        count = math.ceil(least / len(queries)) if setting.is_shared else setting.max_keypoints
        release = make_release(one, replace(setting, max_keypoints=count), words, seed)
        frames.append(Frame(release, moved, one.camera))
    place = [one.name for one in queries].index(query.name)
    start = time.perf_counter()
    found = localize_sequence(frames, world, dictionary=words, odometry=error)[place]
    return Prediction.of(
        (setting, seed, query.name),
        found,
        num_keypoints=sum(len(frame.release) for frame in frames),
        seconds=time.perf_counter() - start,
    )
