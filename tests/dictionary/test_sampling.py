"""The reservoir keeps every descriptor with the same chance."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.errors import Mismatch
from sfumato.dictionary.sampling import Reservoir, sample_array, sample_pictures


def test_everything_is_kept_in_order_while_it_fits() -> None:
    pictures = [np.full((count, 2), count, dtype=np.float32) for count in (3, 0, 2000)]
    sample = sample_pictures(pictures, 5000, np.random.default_rng(0))
    assert np.array_equal(sample.descriptors, np.concatenate(pictures))
    assert sample.image_ids is not None
    assert np.bincount(sample.image_ids).tolist() == [3, 0, 2000]
    assert (sample.seen, sample.num_images) == (2003, 3)


def test_every_row_is_kept_with_the_same_chance() -> None:
    rng = np.random.default_rng(0)
    kept = np.zeros(60)
    for _ in range(4000):
        reservoir = Reservoir(12, rng)
        for image, start in enumerate(range(0, 60, 5)):
            reservoir.add(np.arange(start, start + 5, dtype=np.float32)[:, None], image)
        rows, images = reservoir.result()
        assert np.array_equal(rows[:, 0] // 5, images)
        assert len(np.unique(rows)) == 12
        kept[rows[:, 0].astype(int)] += 1
    # 4000 draws at 12/60: mean 800, standard deviation 25.
    assert np.abs(kept - 800).max() < 5 * 25.3


def test_an_array_is_sampled_without_repetition_together_with_its_images() -> None:
    rows = np.arange(100, dtype=np.float32)[:, None]
    sample = sample_array(rows, np.arange(100, dtype=np.int32), 30, np.random.default_rng(0))
    assert sample.image_ids is not None
    assert np.array_equal(sample.descriptors[:, 0], sample.image_ids)
    assert len(np.unique(sample.image_ids)) == 30
    assert (sample.seen, sample.num_images) == (100, 100)


def test_pictures_of_different_dimension_are_refused() -> None:
    pictures = [np.zeros((3, 4), dtype=np.uint8), np.zeros((3, 5), dtype=np.uint8)]
    with pytest.raises(Mismatch, match="uint8 with 4 columns"):
        sample_pictures(pictures, 10, np.random.default_rng(0))
