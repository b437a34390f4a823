"""Frames inferred from neighbours: bad input, turning, better than chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from skimage import data

from sfumato.adversary.invert.crops import fit_square
from sfumato.adversary.invert.encoders import scale_descriptors
from sfumato.adversary.invert.frames_data import turned_features
from sfumato.adversary.invert.keypoint_angles import (
    BINS,
    SHIPPED,
    FrameNetwork,
    find_neighbourhood,
    infer_frames,
    peak_angles,
    turn_errors,
)
from sfumato.core.errors import InvalidInput, Mismatch, Missing
from sfumato.core.types import Features
from sfumato.features import extract


def guessed(features: Features) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Sizes and angles that descriptors and positions give away."""
    rows = scale_descriptors(features.descriptors, "sift")
    return infer_frames(rows, features.keypoints, features.image_size)


def photograph(side: int = 256) -> NDArray[np.uint8]:
    pictures: Any = data
    return fit_square(pictures.astronaut(), side)


@pytest.fixture(scope="module")
def astronaut() -> Features:
    return extract(photograph(), max_keypoints=1000)


def test_angles_and_sizes_of_a_photograph_beat_any_constant(astronaut: Features) -> None:
    sizes, angles = guessed(astronaut)
    assert sizes.shape == angles.shape == (len(astronaut),)
    assert sizes.dtype == angles.dtype == np.float32
    assert (angles >= 0).all()
    assert (angles < 360).all()
    assert (sizes > 0).all()
    errors = turn_errors(angles, astronaut.angles)
    constant = min(
        float(np.median(turn_errors(np.full_like(angles, angle), astronaut.angles)))
        for angle in range(0, 360, 5)
    )
    assert constant > 60
    assert np.median(errors) < 20
    assert (errors < 30).mean() > 0.7
    truth = np.log2(astronaut.scales)
    middle = np.abs(truth - np.median(truth)).mean()
    assert np.abs(np.log2(sizes) - truth).mean() < middle


def test_neighbours_tell_what_a_descriptor_alone_does_not(astronaut: Features) -> None:
    _, together = guessed(astronaut)
    some = range(0, len(astronaut), 10)
    alone = [guessed(astronaut.take(np.array([i]))) for i in some]
    lonely = turn_errors(np.concatenate([angles for _, angles in alone]), astronaut.angles[some])
    assert np.median(turn_errors(together, astronaut.angles)) < 0.6 * np.median(lonely)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_picture_turned_by_right_angles_gets_turned_angles(
    astronaut: Features, quarters: int
) -> None:
    _, before = guessed(astronaut)
    turned = turned_features(astronaut, quarters)
    _, after = guessed(turned)
    moved = turn_errors(after, before + 90 * quarters)
    assert np.median(moved) < 3
    assert (moved < 30).mean() > 0.9
    assert np.median(turn_errors(after, before)) > 60
    assert np.median(turn_errors(after, turned.angles)) < 20


def test_turning_keypoints_is_turning_the_picture() -> None:
    picture = photograph()[:, :200]
    turned = extract(np.ascontiguousarray(np.rot90(picture, -1)), max_keypoints=1000)  # clockwise
    predicted = turned_features(extract(np.ascontiguousarray(picture), max_keypoints=1000), 1)
    assert predicted.image_size == turned.image_size == (256, 200)
    away = np.linalg.norm(predicted.keypoints[:, None] - turned.keypoints[None], axis=2)
    away += turn_errors(predicted.angles[:, None], turned.angles[None])
    found = away.argmin(axis=1)
    same = away[np.arange(len(found)), found] < 1
    assert same.mean() > 0.9
    rows, others = (scale_descriptors(one.descriptors, "sift") for one in (predicted, turned))
    assert np.abs(rows[same] - others[found[same]]).mean() < 0.02


def test_no_keypoints_give_no_frames_and_one_gives_one() -> None:
    sizes, angles = infer_frames(np.empty((0, 128)), np.empty((0, 2)), (50, 40))
    assert sizes.shape == angles.shape == (0,)
    sizes, angles = infer_frames(np.full((1, 128), 0.2), np.full((1, 2), 20.0), (50, 40))
    assert np.isfinite(sizes).all()
    assert np.isfinite(angles).all()
    assert len(angles) == 1


def test_many_keypoints_at_one_place_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    sizes, angles = infer_frames(rng.random((40, 128)), np.full((40, 2), 7.0), (50, 40))
    assert np.isfinite(sizes).all()
    assert np.isfinite(angles).all()
    assert len(angles) == 40
    near = find_neighbourhood(np.full((40, 2), 7.0), (50, 40), 16)
    assert (near.index != np.arange(40)[:, None]).all()
    assert (near.edges[..., :2] == 0).all()


def test_bad_input_is_refused_in_one_sentence() -> None:
    rows, points = np.full((3, 128), 0.1), np.ones((3, 2))
    with pytest.raises(InvalidInput, match=r"rows must have shape \(any, 128\)"):
        infer_frames(rows[:, :64], points, (50, 40))
    with pytest.raises(InvalidInput, match=r"keypoints must have shape \(3, 2\)"):
        infer_frames(rows, points[:2], (50, 40))
    with pytest.raises(InvalidInput, match="rows must be finite"):
        infer_frames(np.where(rows == rows[0, 0], np.nan, rows), points, (50, 40))
    with pytest.raises(InvalidInput, match=r"the largest is 255; pass descriptors through"):
        infer_frames(np.full((3, 128), 255, np.uint8), points, (50, 40))
    with pytest.raises(InvalidInput, match="keypoints must be finite"):
        infer_frames(rows, points * np.inf, (50, 40))
    with pytest.raises(InvalidInput, match="keypoints must lie inside the 50×40 picture"):
        infer_frames(rows, points * 1e300, (50, 40))
    with pytest.raises(InvalidInput, match="image width"):
        infer_frames(rows, points, (0, 40))
    with pytest.raises(Mismatch, match="these are freak"):
        infer_frames(rows, points, (50, 40), "freak")


def test_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no file of a network for frames"):
        FrameNetwork(tmp_path / "absent.onnx")
    (tmp_path / "net.onnx").write_bytes(SHIPPED.read_bytes()[:1000])
    with pytest.raises(InvalidInput, match="not a network for frames"):
        FrameNetwork(tmp_path / "net.onnx")


def test_the_shipped_network_is_small() -> None:
    assert 10_000 < SHIPPED.stat().st_size <= 1_500_000


def test_neighbours_are_the_nearest_others_and_few_are_padded() -> None:
    points = np.array([[10.0, 10], [13, 14], [10, 30]])
    near = find_neighbourhood(points, (50, 40), 4)
    assert near.index[0, :2].tolist() == [1, 2]
    assert near.edges[0, 0].tolist() == pytest.approx([0.6, 0.8, np.log2(5.5), 1])
    assert (near.edges[:, 2:] == 0).all()
    left, right, up, down = near.border[0]
    assert left == up == pytest.approx(1 - 10 / 64)
    assert right == pytest.approx(1 - 39 / 64)
    assert down == pytest.approx(1 - 29 / 64)


def test_peaks_are_refined_between_directions_and_around_the_circle() -> None:
    turn = np.arange(BINS) * (2 * np.pi / BINS)
    wanted = np.array([0.0, 3, 95, 181.5, 359])
    found = peak_angles(20 * np.cos(turn - np.deg2rad(wanted)[:, None]))
    assert turn_errors(found, wanted).max() < 2
    assert turn_errors(np.array([350.0, 90]), np.array([10.0, 270])).tolist() == [20, 180]
