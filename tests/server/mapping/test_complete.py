"""Tracks that grow by position, and how often that is chance; and poses that are fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from server.mapping.worlds import PINHOLE, PointWorld, point_world
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Pose
from sfumato.server.mapping import colmap
from sfumato.server.mapping.assemble import SparseModel
from sfumato.server.mapping.complete import (
    CompletionOptions,
    complete_tracks,
    count_by_chance,
    track_lengths,
    triangulate_model,
)
from sfumato.server.mapping.tracks import without_conflicts
from sfumato.server.mapping.two_view import View

OPTIONS = CompletionOptions()


def two_matched_of_three(clutter: int) -> tuple[PointWorld, SparseModel, list[View]]:
    """A model in which only the outer two of three images have matches."""
    world = point_world(num_images=3, num_points=800, clutter=clutter)
    names = list(world.features)
    views = [View(world.features[name].keypoints, PINHOLE) for name in names]
    model = SparseModel(
        image_names=tuple(names),
        cameras=(PINHOLE,),
        camera_of_image=(0, 0, 0),
        poses=tuple(world.poses[name] for name in names),
        points=np.empty((0, 3)),
        point_of_feature=tuple(np.full(len(view.keypoints), -1, dtype=np.int32) for view in views),
    )
    first, last = world.truth[names[0]], world.truth[names[2]]
    both = np.intersect1d(first[first >= 0], last)
    rows = np.stack([[np.flatnonzero(side == p)[0] for p in both] for side in (first, last)], 1)
    return world, triangulate_model(model, views, {(0, 2): rows}, OPTIONS.triangulation), views


def test_points_are_found_in_the_image_that_had_no_match() -> None:
    world, model, views = two_matched_of_three(clutter=0)
    assert set(track_lengths(model)) == {2}
    longer = complete_tracks(model, views, OPTIONS, OPTIONS.triangulation)
    assert (track_lengths(longer) == 3).mean() > 0.95
    middle = world.truth["01.png"]
    for feature in np.flatnonzero(longer.point_of_feature[1] >= 0):
        at = longer.points[longer.point_of_feature[1][feature]]
        assert np.linalg.norm(at - world.points[middle[feature]]) < 0.1
    assert count_by_chance(model, views, OPTIONS) < 0.03 * len(model.points)


def test_chance_is_estimated_where_keypoints_crowd() -> None:
    world, model, views = two_matched_of_three(clutter=20_000)
    # The middle image without its true keypoints: whatever completes a track is chance.
    clutter = np.flatnonzero(world.truth["01.png"] < 0)
    views[1] = View(views[1].keypoints[clutter], PINHOLE)
    seen = list(model.point_of_feature)
    seen[1] = seen[1][clutter]
    model = replace(model, point_of_feature=tuple(seen))
    longer = complete_tracks(model, views, replace(OPTIONS, completions=1), OPTIONS.triangulation)
    wrong = int((track_lengths(longer) >= 3).sum())
    assert wrong > 10
    assert count_by_chance(model, views, OPTIONS) == pytest.approx(wrong, rel=0.5)
    assert count_by_chance(model, views, replace(OPTIONS, completions=0)) == 0


def test_adjustment_brings_a_shaken_camera_back_and_stays_silent(
    capfd: pytest.CaptureFixture[str],
) -> None:
    _, model, views = two_matched_of_three(clutter=0)
    model = complete_tracks(model, views, OPTIONS, OPTIONS.triangulation)
    true = model.poses[1]
    shaken = Pose(true.rotation, true.translation + np.array([0.004, -0.003, 0.002]))
    rough = replace(model, poses=(model.poses[0], shaken, model.poses[2]))
    fitted = colmap.adjust(rough, [view.keypoints for view in views], refine_cameras=False)
    # The scale of a world is free, so that only shape can be compared.
    assert abs(_middle(rough) - _middle(model)).max() > 2e-3
    assert abs(_middle(fitted) - _middle(model)).max() < 5e-4
    assert fitted.cameras == model.cameras
    assert capfd.readouterr().err == ""


def _middle(model: SparseModel) -> NDArray[np.float64]:
    """Where the second camera is, seen by the first, in units of the way to the third."""
    first, second, third = model.poses
    away = first.apply(np.stack([second.center, third.center]))
    return np.asarray(away[0] / np.linalg.norm(away[1]))


def test_options_are_checked() -> None:
    with pytest.raises(InvalidInput, match="bands and radius"):
        CompletionOptions(radius=0)
    with pytest.raises(InvalidInput, match="bands and radius"):
        CompletionOptions(bands=())


def test_a_track_never_has_two_features_of_one_image() -> None:
    image_of = np.array([0, 0, 1, 1, 2])
    # 0–2 and 1–3 are right; 2–4 extends the first; 3–4 would bring 0 and 1 of image 0 together.
    edges = np.array([[0, 2], [1, 3], [2, 4], [3, 4], [0, 4]])
    assert without_conflicts(edges, image_of).tolist() == [[0, 2], [1, 3], [2, 4], [0, 4]]
    # Who comes first is believed.
    assert without_conflicts(edges[::-1], image_of).tolist() == [[0, 4], [3, 4]]
    assert without_conflicts(edges[[3, 2]], image_of).tolist() == [[3, 4]]  # 2, 3 of image 1
    assert without_conflicts(np.empty((0, 2), dtype=np.int64), image_of).shape == (0, 2)


def test_wrong_matches_that_chain_everything_cost_few_points() -> None:
    """Of a façade whose windows look alike: half of the matches join points that are not one."""
    world, model, views = two_matched_of_three(clutter=0)
    truth = [world.truth[name] for name in world.features]
    right, wrong = {}, {}
    rng = np.random.default_rng(0)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        shared = np.intersect1d(truth[a], truth[b])
        rows = np.stack(
            [
                np.argsort(side)[np.searchsorted(np.sort(side), shared)]
                for side in (truth[a], truth[b])
            ],
            axis=1,
        )
        mixed = np.stack([rows[:, 0], rng.permutation(rows[:, 1])], axis=1)
        right[a, b], wrong[a, b] = rows, np.vstack([rows, mixed])
    clean = triangulate_model(model, views, right, OPTIONS.triangulation)
    chained = triangulate_model(model, views, wrong, OPTIONS.triangulation)
    assert (track_lengths(chained) == 3).sum() > 0.9 * (track_lengths(clean) == 3).sum() > 300
