"""LDP-FEAT, §S3.3: what a localization itself reveals, the inliers of a pose."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.inliers import inliers_attack
from sfumato.core.geometry import unit_vectors
from sfumato.core.lens import project
from sfumato.core.releases import KeypointRelease
from sfumato.core.types import Camera, Pose
from sfumato.datasets.scenes import Query, open_scenes
from sfumato.device.mechanisms import SubsetMechanism, SubspaceLifting
from sfumato.dictionary import Dictionary
from sfumato.privacy.known_truth import draw_words, lift_picture
from sfumato.server.localize import localize, match_release
from sfumato.server.mapping.map import Map
from sfumato.server.pose import expected_by_chance
from sfumato_papers.harness.outcomes import RecordFile
from sfumato_papers.harness.work import seed_of, show_progress, tracked
from sfumato_papers.ldp_feat.recovery.lifts import CLOSE, EXACT

Rows = NDArray[np.int64]

MAX_ERROR = 6.0  # pixels, as localization has it


def run_inliers(
    scenes: Sequence[Path],
    work: Path,
    dictionary: Dictionary,
    epsilons: Sequence[float],
    dimension: int,
    file: RecordFile,
) -> None:
    """Localize held-out photographs by words and by subspaces; attack with the inliers."""
    problem = open_scenes(scenes, work, progress=show_progress)
    for query in tracked(problem.queries, "reading inliers"):
        lifting = SubspaceLifting("sub-hybrid", dimension, dictionary)
        what: dict[str, Any] = {"kind": "inliers", "picture": query.name}
        named = f"lifting, m = {dimension}"
        if not file.has(**what, mechanism=named):
            lift = lift_picture(
                query.features, lifting, len(query.features), seed_of(query.name, named)
            )
            found = _reveal(lift.release, lift.truth, query, problem.world, dictionary)
            file.add({**what, "mechanism": named, **found})
        for epsilon in epsilons:
            named = f"words, ε = {epsilon:g}"
            if file.has(**what, mechanism=named):
                continue
            mechanism = SubsetMechanism(epsilon, 1, dictionary)
            release, words, rows = draw_words(query.features, mechanism, seed_of(query.name, named))
            truth = unit_vectors(query.features.descriptors[rows])
            found = _reveal(release, truth, query, problem.world, dictionary, words)
            file.add({**what, "mechanism": named, **found})


def _reveal(
    release: KeypointRelease,
    truth: NDArray[np.float64],
    query: Query,
    world: Map,
    dictionary: Dictionary,
    words: Rows | None = None,
) -> dict[str, Any]:
    answer = localize(release, world, camera=query.camera, dictionary=dictionary)
    result: dict[str, Any] = {"total": len(release), "localized": answer.pose is not None}
    if answer.pose is None:
        return {**result, "inliers": 0, "right": 0, "close": 0, "exact": 0, "median_error": None}
    keypoint, row, chance = inliers_of(release, world, answer.pose, query.camera, dictionary)
    matched = np.asarray(world.descriptors[row])
    found = inliers_attack(
        release, rows=keypoint, matched=matched, false_inliers=chance, dictionary=dictionary
    )
    error = np.linalg.norm(found.descriptors - truth, axis=1)[keypoint]
    right = 0
    if words is not None:
        right = int((dictionary.nearest(matched) == words[keypoint]).sum())
    return {
        **result,
        "inliers": len(keypoint),
        "false_inliers": chance,
        "right": right,
        "close": int((error < CLOSE).sum()),
        "exact": int((error < EXACT).sum()),
        "median_error": float(np.median(error)) if len(error) else None,
    }


def inliers_of(
    release: KeypointRelease, world: Map, pose: Pose, camera: Camera, dictionary: Dictionary
) -> tuple[Rows, Rows, float]:
    """Keypoints that agree with a pose, the map's feature of each, and how many are chance."""
    candidates = match_release(release, world, dictionary)
    points = np.asarray(world.points)[np.asarray(world.point_of_feature)[candidates.row]]
    inside = points @ pose.rotation.T + pose.translation
    pixels = project(camera, inside)
    error = np.linalg.norm(pixels - release.keypoints[candidates.keypoint], axis=1)
    fits = np.flatnonzero(error <= MAX_ERROR)
    fits = fits[np.argsort(error[fits], kind="stable")]
    fits = fits[np.unique(candidates.keypoint[fits], return_index=True)[1]]
    chance = expected_by_chance(pixels, release.keypoints, MAX_ERROR)
    return candidates.keypoint[fits], candidates.row[fits], min(chance, float(len(fits)))
