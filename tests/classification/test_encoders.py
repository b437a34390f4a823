"""Pictures to codes: what the encoders promise, and what they refuse."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import correlate
from sklearn.base import clone
from sklearn.datasets import load_digits

from sfumato.classification.dcaconv import DCAConv, FewerClassesThanFilters
from sfumato.classification.hog import HogWords
from sfumato.classification.pixels import PixelCodes
from sfumato.core.errors import InvalidInput, Mismatch

ROWS, LABELS = load_digits(return_X_y=True)
PICTURES = np.kron(ROWS.reshape(-1, 8, 8), np.ones((2, 2))).astype(np.uint8)[:400]
LABELS = LABELS[:400]
ENCODERS = [
    DCAConv((4, 2), filter_size=3),
    DCAConv((3, 1), filter_size=5, scatter="position", shared=False, pool_size=1),
    PixelCodes(4),
    HogWords(8),
]
EACH = pytest.mark.parametrize("encoder", ENCODERS, ids=lambda e: type(e).__name__)


@EACH
def test_codes_fill_the_map_and_stay_below_d(encoder: Any) -> None:
    fitted = clone(encoder).fit(PICTURES, LABELS)
    codes = fitted.transform(PICTURES)
    assert codes.shape == (400, math.prod(fitted.map_shape_))
    assert codes.dtype == np.uint8
    assert codes.max() == fitted.num_values_ - 1
    np.testing.assert_array_equal(codes[:7], fitted.transform(PICTURES[:7]))
    rows = clone(encoder).set_params(image_shape=(16, 16)).fit(PICTURES.reshape(400, -1), LABELS)
    np.testing.assert_array_equal(rows.transform(PICTURES.reshape(400, -1)), codes)


@EACH
def test_an_encoder_survives_as_plain_arrays(encoder: Any) -> None:
    fitted = clone(encoder).fit(PICTURES, LABELS)
    arrays = fitted.to_arrays()
    again = type(encoder).from_arrays(arrays)
    np.testing.assert_array_equal(again.transform(PICTURES), fitted.transform(PICTURES))
    assert (again.map_shape_, again.num_values_) == (fitted.map_shape_, fitted.num_values_)
    for key in arrays:
        with pytest.raises(InvalidInput, match="do not describe"):
            type(encoder).from_arrays({name: arrays[name] for name in arrays if name != key})


@EACH
def test_pictures_of_another_size_are_refused(encoder: Any) -> None:
    fitted = clone(encoder).fit(PICTURES, LABELS)
    with pytest.raises(Mismatch, match="16×16 pixels"):
        fitted.transform(PICTURES[:, :14])
    with pytest.raises(InvalidInput, match="same size"):
        clone(encoder).fit([PICTURES[0], PICTURES[1, :14]], [0, 1])


@EACH
def test_pictures_that_are_none_are_refused(encoder: Any) -> None:
    bad = PICTURES[:20].astype(float)
    bad[3, 2, 1] = np.nan
    for pictures in (bad, PICTURES[:0], np.zeros((5, 0, 4))):
        with pytest.raises(ValueError, match=r"NaN|empty|sample"):
            clone(encoder).fit(pictures, LABELS[: len(pictures)])


def test_dcaconv_is_two_filters_a_sign_and_a_maximum() -> None:
    """The kernels against the definition, step by step [dcaconv, eq. 51–53]."""
    encoder = DCAConv((2, 3), filter_size=5, scatter="position").fit(PICTURES, LABELS)
    first, second = encoder.filters_
    for picture, codes in zip(PICTURES[:5], encoder.transform(PICTURES[:5]), strict=True):
        for a, got in enumerate(codes.reshape(encoder.map_shape_)):
            stage = correlate(picture.astype(float), first[a], mode="constant")
            number = np.zeros(picture.shape, dtype=int)
            for b in range(3):
                response = correlate(stage, second[a, b], mode="constant")
                number += (response > 1e-5 * picture.max()) * 2**b
            windows = np.lib.stride_tricks.sliding_window_view(number, (2, 2))
            assert (windows.max(axis=(2, 3)) == got).mean() > 0.999  # float32 against doubles


def test_shared_filters_are_the_same_for_every_map() -> None:
    shared = DCAConv((3, 2), filter_size=3).fit(PICTURES, LABELS).filters_[1]
    np.testing.assert_array_equal(shared[0], shared[2])
    own = DCAConv((3, 2), filter_size=3, shared=False).fit(PICTURES, LABELS).filters_[1]
    assert not np.allclose(own[0], own[2])


def test_position_scatter_separates_classes_better() -> None:
    kinds = {
        scatter: DCAConv((3, 2), filter_size=3, scatter=scatter).fit(PICTURES, LABELS)
        for scatter in ("paper", "position")
    }
    first = {name: fitted.eigenvalues_[0][0] for name, fitted in kinds.items()}
    assert first["position"] - 1 > 3 * (first["paper"] - 1) > 0
    assert all(gap >= 0 for fitted in kinds.values() for gap in fitted.gaps_)


def test_brightness_does_not_change_the_codes() -> None:
    """Signs do not feel a factor, and flat parts are exactly 0 in both."""
    fitted = DCAConv((3, 2), filter_size=3).fit(PICTURES, LABELS)
    halved = fitted.transform(PICTURES.astype(np.float64) / 2)
    np.testing.assert_array_equal(halved, fitted.transform(PICTURES))
    assert not fitted.transform(np.zeros((1, 16, 16))).any()


def test_more_filters_than_classes_can_differ_in_are_warned_of() -> None:
    two = LABELS < 2
    with pytest.warns(FewerClassesThanFilters, match="at most 1 direction"):
        DCAConv((3, 1), filter_size=3).fit(PICTURES[two], LABELS[two])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DCAConv((3, 1), filter_size=3, scatter="position").fit(PICTURES[two], LABELS[two])


def test_what_has_no_scatter_is_refused() -> None:
    constant = np.broadcast_to(np.arange(20)[:, None, None], (20, 9, 9)).astype(np.uint8)
    with pytest.raises(InvalidInput, match="constant"):
        DCAConv((1, 1), filter_size=3).fit(constant, np.arange(20) % 2)
    with pytest.raises(InvalidInput, match="at least 2 classes"):
        DCAConv().fit(PICTURES, np.zeros(400))
    alone = DCAConv((1, 1), filter_size=3).fit(PICTURES[:11], [0] + [1] * 10)
    assert alone.map_shape_ == (1, 15, 15)  # a class with one picture has no scatter of its own


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_filters": (0, 1)}, "L1"),
        ({"num_filters": (5, 9)}, "L2"),
        ({"num_filters": 5}, "two whole numbers"),
        ({"num_filters": (9, 1), "filter_size": 3}, "L1"),
        ({"filter_size": 4}, "odd"),
        ({"filter_size": 1}, "filter_size"),
        ({"pool_size": 17}, "pool_size"),
        ({"scatter": "both"}, "scatter"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        DCAConv(**options).fit(PICTURES, LABELS)


def test_pixels_are_cut_into_equal_steps() -> None:
    fitted = PixelCodes(3).fit(np.array([[0.0, 5.0, 1.0], [10.0, 5.0, 3.0]]))
    codes = fitted.transform([[2.4, 5.0, 2.0], [2.6, 7.0, -9.0], [99.0, 5.0, 3.0]])
    np.testing.assert_array_equal(codes, [[0, 0, 1], [1, 0, 0], [2, 0, 2]])
    with pytest.raises(InvalidInput, match="num_values"):
        PixelCodes(1).fit([[1.0, 2.0]])


def test_words_count_every_block_once() -> None:
    fitted = HogWords(8).fit(PICTURES)
    assert fitted.map_shape_ == (8, 1, 1)
    assert (fitted.transform(PICTURES).sum(axis=1) == 9).all()  # 3×3 blocks of 16×16 pixels
    assert fitted.num_values_ == fitted.transform(PICTURES).max() + 1
    np.testing.assert_array_equal(
        fitted.transform(PICTURES.astype(np.float64) * 0.5 + 3),
        fitted.transform(np.rint(PICTURES * (255 / PICTURES.max(axis=(1, 2), keepdims=True)))),
    )
    with pytest.raises(InvalidInput, match="2×2 cells"):
        HogWords(2).fit(PICTURES[:, :7])
    with pytest.raises(InvalidInput, match="num_words"):
        HogWords(100).fit(PICTURES[:2])


def test_the_leading_filter_takes_the_bit_that_is_asked_for() -> None:
    low, high = (
        DCAConv((2, 3), filter_size=3, leading=end).fit(PICTURES, LABELS).filters_[1]
        for end in ("low", "high")
    )
    np.testing.assert_array_equal(low[:, ::-1], high)
    with pytest.raises(InvalidInput, match="leading must be"):
        DCAConv(leading="middle").fit(PICTURES, LABELS)
