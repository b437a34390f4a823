"""Keypoints that would be found again from elsewhere."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from skimage import data

from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Features
from sfumato.device.filters import KeepStable, KeepStrongest
from sfumato.device.filters.stable import VIEWS, stable_order, survivals
from sfumato.device.mechanisms import Plain
from sfumato.device.protect import Pipeline, select
from sfumato.features import extract

RNG = SeededRandom(0)
PICTURE: NDArray[np.uint8] = np.ascontiguousarray(data.astronaut()[:240, 100:420])  # type: ignore[no-untyped-call]


def test_kept_ones_are_found_again_in_a_view_that_was_not_tried() -> None:
    features = extract(PICTURE, "sift")
    affine = np.array([[0.7, 0.25, 10.0], [-0.1, 0.8, 40.0]])
    other = extract(cv2.warpAffine(PICTURE, affine, (340, 240)), "sift")
    expected = features.keypoints @ affine[:, :2].T + affine[:, 2]
    away = np.linalg.norm(expected[:, None] - other.keypoints[None], axis=2)
    found = away.min(axis=1) <= 2
    order = stable_order(features, survivals(features, PICTURE))
    assert found[order[:40]].mean() > found[:40].mean() + 0.1


def test_the_filter_looks_at_the_picture_in_a_pipeline() -> None:
    pipeline = Pipeline(Plain(), filters=(KeepStable(30),))
    kept = select(PICTURE, pipeline, rng=RNG)
    assert len(kept) == 30
    assert (np.diff(kept.scores) <= 0).all()
    features = extract(PICTURE, "sift")
    counted = survivals(features, PICTURE)
    assert counted.min() >= 0
    assert 2 <= counted.max() <= len(VIEWS)
    assert kept == KeepStable(30).look(features, PICTURE, rng=RNG)
    assert kept != KeepStrongest(30)(features, rng=RNG)


def test_your_own_extractor_looks_at_the_views_too() -> None:
    class Mine:
        name = "mine"

        def __call__(self, picture: NDArray[np.uint8]) -> Features:
            found = extract(picture, "sift")
            descriptors = found.descriptors.astype(np.float32) / 512
            return replace(found, descriptors=descriptors, extractor=self.name)

    own = Mine()
    pipeline = Pipeline(Plain(), extractor=own, filters=(KeepStable(30, own),))
    kept = select(PICTURE, pipeline, rng=RNG)
    known = KeepStable(30).look(extract(PICTURE, "sift"), PICTURE, rng=RNG)
    assert np.array_equal(kept.keypoints, known.keypoints)


def test_bits_are_compared_as_bits() -> None:
    features = extract(PICTURE, "beblid")
    counted = survivals(features, PICTURE)
    assert counted.max() >= 2
    assert 0 < (counted > 0).mean() < 1


@pytest.mark.parametrize("side", [1, 9, 40])
def test_blank_and_tiny_pictures_have_nothing_to_keep(side: int) -> None:
    blank = np.full((side, side, 3), 128, dtype=np.uint8)
    features = extract(blank, "sift")
    assert len(KeepStable(5).look(features, blank, rng=RNG)) == 0


def test_another_picture_is_refused() -> None:
    features = extract(PICTURE, "sift", max_keypoints=5)
    with pytest.raises(InvalidInput, match="320×240, this one has 100×50"):
        survivals(features, np.zeros((50, 100, 3), dtype=np.uint8))
    with pytest.raises(InvalidInput, match="count"):
        KeepStable(-1)
