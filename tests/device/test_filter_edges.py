"""Filters at the borders of a picture, and with the smallest numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom
from sfumato.device.filters import ConstantCount, KeepSpread, KeepStrongest
from support import features_of, tiny_dictionary

DICTIONARY = tiny_dictionary(6)
NONE = features_of(np.zeros((0, 8), dtype=np.float32))


def test_decoys_stand_on_every_place_of_the_grid_alike() -> None:
    """A place that decoys never take would tell the true keypoints there."""
    empty = replace(NONE, image_size=(3, 2))
    decoys = ConstantCount(30_000, DICTIONARY)(empty, rng=SeededRandom(0))
    steps = (decoys.keypoints * 8).astype(int)
    counts = np.zeros((17, 9), dtype=int)  # 2 and 1 pixels between the outer centres
    np.add.at(counts, (steps[:, 0], steps[:, 1]), 1)
    assert counts.sum() == 30_000
    expected = 30_000 / counts.size
    assert (np.abs(counts - expected) < 6 * np.sqrt(expected)).all()
    assert (decoys.angles == -1).all()


def test_one_keypoint_may_be_the_constant_number() -> None:
    assert len(ConstantCount(1, DICTIONARY)(NONE, rng=SeededRandom(0))) == 1
    for keep in (KeepStrongest, KeepSpread):
        assert len(keep(0)(NONE, rng=SeededRandom(0))) == 0
        with pytest.raises(InvalidInput, match="count must be at least 0"):
            keep(-1)
    for count in (0, -1):
        with pytest.raises(InvalidInput, match="count must be at least 1"):
            ConstantCount(count, DICTIONARY)
    KeepSpread(1, cells=1)
    with pytest.raises(InvalidInput, match="cells must be at least 1"):
        KeepSpread(1, cells=0)


def test_keypoints_on_the_far_border_belong_to_the_last_part() -> None:
    """Two parts side by side: the border belongs to the right one, not to a third."""
    places = np.array([[10, 5], [90, 5], [100, 5], [100, 10]], dtype=np.float32)
    features = replace(
        features_of(np.zeros((4, 8), dtype=np.float32)),
        keypoints=places,
        image_size=(100, 10),
        scores=np.array([0.1, 0.9, 0.8, 0.7], dtype=np.float32),
    )
    kept = KeepSpread(2, cells=2)(features, rng=SeededRandom(0))
    columns = round(np.sqrt(2 * 10))  # 4 columns, 1 row
    assert columns == 4
    assert kept.keypoints.tolist() == [[90, 5], [10, 5]]
