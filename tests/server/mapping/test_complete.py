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
