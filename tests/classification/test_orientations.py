"""Orientation codes: what a cell shows, and that nothing is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import estimator_checks_generator

from sfumato.classification.orientations import OrientationCodes
from sfumato.core.errors import InvalidInput, Mismatch


def stripes(angle_deg: float) -> Any:
    """A picture whose brightness changes along this direction."""
    y, x = np.mgrid[:28, :28]
    turn = np.deg2rad(angle_deg)
    wave = np.sin((x * np.cos(turn) + y * np.sin(turn)) * 0.8)
    return (127 + 120 * wave).astype(np.uint8)


@pytest.mark.parametrize("orientation", range(4))
def test_a_cell_tells_the_direction_of_its_gradient(orientation: int) -> None:
    picture = stripes(45 * orientation)
    codes = OrientationCodes(4).fit(picture[None]).transform(np.stack([picture, 255 - picture]))
    # Inside the picture; black on white and white on black look the same.
    inside = codes.reshape(2, 10, 10)[:, 2:-2, 2:-2]
    assert (inside == orientation + 1).all()


def test_flat_pictures_are_blank() -> None:
    encoder = OrientationCodes(4).fit(np.zeros((1, 28, 28)))
    assert not encoder.transform(np.full((2, 28, 28), 200)).any()
    assert encoder.num_values_ == 5


def test_a_code_depends_on_its_own_picture_alone() -> None:
    pictures = (load_digits().images * 15).astype(np.uint8)
    encoder = OrientationCodes(4, stride=2).fit(pictures[:1])
    together = encoder.transform(pictures[:50])
    alone = np.concatenate([encoder.transform(pictures[i : i + 1]) for i in range(50)])
    assert (together == alone).all()
    other = OrientationCodes(4, stride=2).fit(np.zeros((3, 8, 8)))
    assert (other.transform(pictures[:50]) == together).all()


@pytest.mark.parametrize(
    ("settings", "side"),
    [({"stride": 3}, 10), ({"stride": 2}, 14), ({"stride": 2, "margin": 4}, 10)],
)
def test_cells_lie_in_the_middle(settings: dict[str, Any], side: int) -> None:
    encoder = OrientationCodes(4, **settings).fit(np.zeros((1, 28, 28)))
    assert encoder.map_shape_ == (1, side, side)
    assert encoder.transform(np.zeros((1, 28, 28))).shape == (1, side * side)


def test_rows_are_pictures_where_a_shape_is_given() -> None:
    pictures = (load_digits().images * 15).astype(np.uint8)
    rows = OrientationCodes(4, image_shape=(8, 8)).fit_transform(pictures.reshape(-1, 64))
    assert (rows == clone(OrientationCodes(4)).fit_transform(pictures)).all()


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(OrientationCodes(2, stride=1, image_shape=(1, -1)))),
    ids=lambda part: getattr(part, "func", type(part)).__name__,
)
def test_scikit_learn_accepts_the_encoder(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"num_orientations": 1}, "num_orientations must be"),
        ({"stride": 0}, "stride must be"),
        ({"stride": 29}, "stride must be"),
        ({"margin": 14}, "no cell is left"),
        ({"cell": 0}, "cell must be"),
        ({"cell": float("nan")}, "cell must be"),
        ({"blank": 2}, "blank must be"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        OrientationCodes(**settings).fit(np.zeros((1, 28, 28)))


def test_bad_pictures_are_refused() -> None:
    encoder = OrientationCodes().fit(np.zeros((1, 28, 28)))
    with pytest.raises(Mismatch, match="28×28"):
        encoder.transform(np.zeros((1, 27, 28)))
    with pytest.raises(InvalidInput, match="same size"):
        encoder.fit([np.zeros((28, 28)), np.zeros((27, 28))])
    with pytest.raises(ValueError, match="NaN"):
        encoder.transform(np.full((1, 28, 28), np.nan))
