"""Orientation codes and bits: what a cell shows, and that nothing is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sfumato.classification import (
    DebiasedNaiveBayes,
    OrientationBits,
    OrientationCodes,
    PixelCodes,
    RandomizedResponse,
)
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom

DIGITS = (load_digits().images * 15).astype(np.uint8)
BLANK = np.zeros((1, 28, 28))
BOTH = pytest.mark.parametrize("kind", [OrientationCodes, OrientationBits])


def stripes(angle_deg: float) -> Any:
    """A picture whose brightness changes along this direction."""
    y, x = np.mgrid[:28, :28]
    turn = np.deg2rad(angle_deg)
    wave = np.sin((x * np.cos(turn) + y * np.sin(turn)) * 0.8)
    return (127 + 120 * wave).astype(np.uint8)


def step(turns: int) -> NDArray[np.uint8]:
    """Dark, then bright from the middle on, turned by quarters."""
    picture = np.zeros((28, 28), dtype=np.uint8)
    picture[:, 14:] = 255
    return np.rot90(picture, -turns).copy()


@pytest.mark.parametrize("orientation", range(4))
def test_a_cell_tells_the_direction_of_its_gradient(orientation: int) -> None:
    picture = stripes(45 * orientation)
    codes = OrientationCodes(4).fit(picture[None]).transform(np.stack([picture, 255 - picture]))
    # Inside the picture; black on white and white on black look the same.
    inside = codes.reshape(2, 10, 10)[:, 2:-2, 2:-2]
    assert (inside == orientation + 1).all()


def test_flat_pictures_are_blank() -> None:
    encoder = OrientationCodes(4).fit(BLANK)
    assert not encoder.transform(np.full((2, 28, 28), 200)).any()
    assert encoder.num_values_ == 5


@pytest.mark.parametrize("turns", range(4))
def test_each_direction_has_bits_of_its_own(turns: int) -> None:
    encoder = OrientationBits(4, reach=0, stride=1).fit(BLANK)
    bits = encoder.transform(step(turns)[None]).reshape(4, 28, 28)
    # Directions are cut at 0°, 90° …; a gradient along an axis lies on the edge of one of them.
    assert set(np.flatnonzero(bits.any(axis=(1, 2)))) <= {turns, (turns - 1) % 4}
    assert bits.any()
    opposite = encoder.transform(step(turns + 2)[None]).reshape(4, 28, 28)
    assert not (bits & opposite).any()


def test_a_bit_sees_as_far_as_its_reach() -> None:
    picture = step(0)[None]
    for reach in (0, 2, 5):
        encoder = OrientationBits(2, reach=reach, stride=1).fit(picture)
        bits = encoder.transform(picture).reshape(2, 28, 28)
        columns = np.flatnonzero(bits.any(axis=(0, 1)))
        if reach == 0:
            first, last = columns[0], columns[-1]
        assert (columns[0], columns[-1]) == (first - reach, last + reach)


def test_weak_edges_and_flat_pictures_have_no_bits() -> None:
    encoder = OrientationBits(8, contrast=0.2).fit(BLANK)
    assert encoder.transform(step(0)[None]).any()
    assert not encoder.transform((step(0) // 4)[None]).any()
    assert not encoder.transform(np.full((1, 28, 28), 200)).any()


@BOTH
def test_a_code_depends_on_its_own_picture_alone(kind: Any) -> None:
    encoder = kind(4, stride=2).fit(DIGITS[:1])
    together = encoder.transform(DIGITS[:50])
    alone = np.concatenate([encoder.transform(DIGITS[i : i + 1]) for i in range(50)])
    assert (together == alone).all()
    other = kind(4, stride=2).fit(np.zeros((3, 8, 8)))
    assert (other.transform(DIGITS[:50]) == together).all()
    again = kind.from_arrays(encoder.to_arrays())
    assert (again.transform(DIGITS[:50]) == together).all()
    assert again.map_shape_ == encoder.map_shape_
    rows = kind(4, stride=2, image_shape=(8, 8)).fit_transform(DIGITS[:50].reshape(-1, 64))
    assert (rows == clone(encoder).fit_transform(DIGITS[:50])).all()


@pytest.mark.parametrize(
    ("settings", "side"),
    [({"stride": 3}, 10), ({"stride": 2}, 14), ({"stride": 2, "margin": 4}, 10)],
)
def test_cells_leave_the_margin_out(settings: dict[str, Any], side: int) -> None:
    encoder = OrientationCodes(4, **settings).fit(BLANK)
    assert encoder.map_shape_ == (1, side, side)
    assert encoder.transform(BLANK).shape == (1, side * side)


@pytest.mark.parametrize(("stride", "side"), [(1, 28), (2, 14), (3, 10), (5, 6), (28, 1)])
def test_cells_lie_in_the_middle(stride: int, side: int) -> None:
    dense = OrientationBits(3, stride=1).fit(BLANK)
    sparse = OrientationBits(3, stride=stride).fit(BLANK)
    assert sparse.map_shape_ == (3, side, side)
    picture = np.kron(DIGITS[:1, :7, :7], np.ones((4, 4), dtype=np.uint8))
    first = (27 % stride) // 2
    every = dense.transform(picture).reshape(3, 28, 28)[:, first::stride, first::stride]
    assert (sparse.transform(picture).reshape(every.shape) == every).all()


def test_more_directions_than_opencv_has_channels_are_taken_apart() -> None:
    many = OrientationBits(200, stride=7).fit(BLANK)
    bits = many.transform(step(1)[None]).reshape(many.map_shape_)
    assert set(np.flatnonzero(bits.any(axis=(1, 2)))) <= {49, 50}
    assert bits.any()


def test_bits_survive_noise_better_than_pixels_for_less() -> None:
    pictures = np.kron(DIGITS, np.ones((2, 2), dtype=np.uint8))
    known, asked, labels, truth = train_test_split(
        pictures, load_digits().target, test_size=500, random_state=0
    )
    found = {}
    for encoder in (OrientationBits(8, stride=3), PixelCodes(16)):
        codes = encoder.fit(known).transform(known)
        sent = RandomizedResponse(0.5, encoder.num_values_).perturb(
            codes, rng=SeededRandom(0), map_shape=encoder.map_shape_
        )
        learner = DebiasedNaiveBayes().fit(sent, labels)
        found[encoder.name] = learner.score(encoder.transform(asked), truth)
    assert found["orientation-bits"] > found["pixels"] + 0.2


@pytest.mark.parametrize(
    ("kind", "settings", "sentence"),
    [
        (OrientationCodes, {"num_orientations": 1}, "num_orientations must be"),
        (OrientationCodes, {"stride": 0}, "stride must be"),
        (OrientationCodes, {"stride": 29}, "stride must be"),
        (OrientationCodes, {"margin": 14}, "no cell is left"),
        (OrientationCodes, {"cell": 0}, "cell must be"),
        (OrientationCodes, {"cell": float("nan")}, "cell must be"),
        (OrientationCodes, {"blank": 2}, "blank must be"),
        (OrientationBits, {"num_directions": 1}, "num_directions must be"),
        (OrientationBits, {"reach": -1}, "reach must be"),
        (OrientationBits, {"reach": 101}, "reach must be"),
        (OrientationBits, {"contrast": 0}, "contrast must be"),
        (OrientationBits, {"contrast": float("nan")}, "contrast must be"),
    ],
)
def test_bad_settings_are_refused(kind: Any, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        kind(**settings).fit(BLANK)


@BOTH
def test_bad_pictures_and_files_are_refused(kind: Any) -> None:
    encoder = kind().fit(BLANK)
    with pytest.raises(Mismatch, match="28×28"):
        encoder.transform(np.zeros((1, 27, 28)))
    with pytest.raises(InvalidInput, match="same size"):
        encoder.fit([np.zeros((28, 28)), np.zeros((27, 28))])
    with pytest.raises(ValueError, match="NaN"):
        encoder.transform(np.full((1, 28, 28), np.nan))
    arrays = encoder.to_arrays()
    for name in arrays:
        with pytest.raises(InvalidInput, match="make a new one"):
            kind.from_arrays({**arrays, name: arrays[name] * 0})
    with pytest.raises(InvalidInput, match="make a new one"):
        kind.from_arrays({**arrays, "whole": [4, 3, 0, 9999, 28]})


def test_a_contrast_chosen_on_training_pictures_sets_bits_where_light_is_soft() -> None:
    """Smooth pictures as Yale B's: at the fixed contrast nearly every bit is 0."""
    generator = np.random.default_rng(0)
    down, across = np.mgrid[:28, :28] / 28
    waves = generator.uniform(1, 4, (20, 2, 1, 1))
    soft = 110 + 60 * np.sin(2 * waves[:, 0] * down + 2 * waves[:, 1] * across)
    fixed = OrientationBits().fit_transform(soft).mean()
    chosen = OrientationBits.for_pictures(soft)
    assert fixed < 0.03
    assert 0.1 < chosen.transform(soft).mean() < 0.5
    again = OrientationBits.from_arrays(chosen.to_arrays())
    assert again.contrast == chosen.contrast < 0.1
