"""Orientation bits: what a bit says, and that nothing is learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import estimator_checks_generator

from sfumato.classification import DebiasedNaiveBayes, OrientationBits, PixelCodes
from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom

DIGITS = (load_digits().images * 15).astype(np.uint8)


def step(turns: int) -> NDArray[np.uint8]:
    """Dark, then bright from the middle on, turned by quarters."""
    picture = np.zeros((28, 28), dtype=np.uint8)
    picture[:, 14:] = 255
    return np.rot90(picture, -turns).copy()


@pytest.mark.parametrize("turns", range(4))
def test_each_direction_has_bits_of_its_own(turns: int) -> None:
    encoder = OrientationBits(4, reach=0, stride=1).fit(np.zeros((1, 28, 28)))
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


@pytest.mark.parametrize(("stride", "side"), [(1, 28), (2, 14), (3, 10), (5, 6), (28, 1)])
def test_cells_lie_in_the_middle(stride: int, side: int) -> None:
    dense = OrientationBits(3, stride=1).fit(np.zeros((1, 28, 28)))
    sparse = OrientationBits(3, stride=stride).fit(np.zeros((1, 28, 28)))
    assert sparse.map_shape_ == (3, side, side)
    picture = np.kron(DIGITS[:1, :7, :7], np.ones((4, 4), dtype=np.uint8))
    first = (27 % stride) // 2
    every = dense.transform(picture).reshape(3, 28, 28)[:, first::stride, first::stride]
    assert (sparse.transform(picture).reshape(every.shape) == every).all()


def test_weak_edges_and_flat_pictures_have_no_bits() -> None:
    encoder = OrientationBits(8, contrast=0.2).fit(np.zeros((1, 28, 28)))
    assert encoder.transform(step(0)[None]).any()
    assert not encoder.transform((step(0) // 4)[None]).any()
    assert not encoder.transform(np.full((1, 28, 28), 200)).any()


def test_a_code_depends_on_its_own_picture_alone() -> None:
    encoder = OrientationBits(4, stride=1).fit(DIGITS[:1])
    together = encoder.transform(DIGITS[:50])
    alone = np.concatenate([encoder.transform(DIGITS[i : i + 1]) for i in range(50)])
    assert (together == alone).all()
    other = OrientationBits(4, stride=1).fit(np.zeros((3, 8, 8)))
    assert (other.transform(DIGITS[:50]) == together).all()
    again = OrientationBits.from_arrays(encoder.to_arrays())
    assert (again.transform(DIGITS[:50]) == together).all()
    assert again.map_shape_ == encoder.map_shape_


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
    ("estimator", "check"),
    list(estimator_checks_generator(OrientationBits(2, stride=1, image_shape=(1, -1)))),
    ids=lambda part: getattr(part, "func", type(part)).__name__,
)
def test_scikit_learn_accepts_the_encoder(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"num_directions": 1}, "num_directions must be"),
        ({"stride": 0}, "stride must be"),
        ({"stride": 29}, "stride must be"),
        ({"reach": -1}, "reach must be"),
        ({"reach": 101}, "reach must be"),
        ({"contrast": 0}, "contrast must be"),
        ({"contrast": float("nan")}, "contrast must be"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        OrientationBits(**settings).fit(np.zeros((1, 28, 28)))


def test_bad_pictures_and_files_are_refused() -> None:
    encoder = OrientationBits().fit(np.zeros((1, 28, 28)))
    with pytest.raises(Mismatch, match="28×28"):
        encoder.transform(np.zeros((1, 27, 28)))
    arrays = encoder.to_arrays()
    for name, value in (("whole", np.array([16, 2, 0, 28, 28])), ("contrast", np.array(np.nan))):
        with pytest.raises(InvalidInput, match="make a new one"):
            OrientationBits.from_arrays({**arrays, name: value})
