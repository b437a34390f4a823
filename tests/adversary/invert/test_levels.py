"""Faded scans become pictures as cameras of today take them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfumato.adversary.invert.crops import CropSource, find_pictures
from sfumato.adversary.invert.data import DataOptions, PaintRecipe, View
from sfumato.adversary.invert.levels import even_out
from sfumato.adversary.invert.sparse import MapOptions


def faded(seed: int = 0) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Dark, flat and blue, in a black frame of 2 pixels."""
    rng = np.random.default_rng(seed)
    picture = rng.uniform([10, 10, 60], [60, 60, 120], (100, 140, 3)).astype(np.uint8)
    picture[:2] = picture[-2:] = picture[:, :2] = picture[:, -2:] = 0
    return picture


def test_a_faded_scan_gets_contrast_and_brightness_and_loses_its_cast_and_frame() -> None:
    before = faded()
    after = even_out(before, np.random.default_rng(1))
    assert after.shape == (94, 132, 3)
    contrast = [picture[3:-3, 3:-3].std(axis=(0, 1)).mean() for picture in (before, after)]
    assert contrast[1] > 1.5 * contrast[0]
    assert after.mean() > before.mean() + 25
    cast = [np.ptp(picture.reshape(-1, 3).mean(axis=0)) for picture in (before, after)]
    assert cast[1] < 0.6 * cast[0]
    assert after.min() > 0  # the frame is gone


def test_colours_become_as_strong_and_as_warm_as_those_of_cameras_today() -> None:
    rng = np.random.default_rng(5)
    pale = rng.normal(110, 30, (120, 120, 1)) + rng.normal(0, 3, (120, 120, 3))
    pictures = [even_out(np.clip(pale, 0, 255).astype(np.uint8), rng) for _ in range(20)]
    means = np.mean([picture.reshape(-1, 3).mean(axis=0) for picture in pictures], axis=0)
    assert means[0] > means[1] > means[2] + 3
    spread = np.mean([np.ptp(picture.astype(float), axis=2).mean() for picture in pictures])
    assert spread > 1.5 * np.ptp(pale, axis=2).mean()


def test_a_black_and_white_picture_stays_without_colour() -> None:
    rng = np.random.default_rng(6)
    grey = np.repeat(rng.integers(40, 200, (90, 90, 1)), 3, axis=2).astype(np.uint8)
    assert not np.ptp(even_out(grey, rng).astype(int), axis=2).any()


def test_a_flat_picture_is_not_blown_up_to_noise() -> None:
    rng = np.random.default_rng(2)
    flat = rng.integers(100, 104, (80, 80, 3)).astype(np.uint8)
    assert even_out(flat, rng).std(axis=(0, 1)).max() < 8 * flat.std()


def test_levels_change_crops_and_their_place_in_the_cache(folder: Path, tmp_path: Path) -> None:
    found = find_pictures([folder], 64)
    crops = []
    for levels in (False, True, True):
        recipe = PaintRecipe(
            View(), DataOptions(crop=64, variants=1, levels=levels), MapOptions(multiple=16)
        )
        crops.append(CropSource(found, recipe, 3, tmp_path / "cache").batch(0, 1)[0].picture)
    assert not np.array_equal(crops[0], crops[1])
    assert np.array_equal(crops[1], crops[2])
    assert len(list((tmp_path / "cache").iterdir())) == 2


@pytest.mark.parametrize("seed", range(4))
def test_the_same_draw_gives_the_same_picture(seed: int) -> None:
    one, other = (even_out(faded(), np.random.default_rng(seed)) for _ in range(2))
    assert np.array_equal(one, other)
