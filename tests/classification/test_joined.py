"""Several cells in one code: the same cells come back, the guarantee stays, little else changes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sfumato.classification import (
    DebiasedNaiveBayes,
    JoinedCodes,
    OrientationBits,
    OrientationCodes,
    PixelCodes,
    RandomizedResponse,
    classify,
    load_encoder,
    save_encoder,
    train,
)
from sfumato.classification.odds import response_odds
from sfumato.core.codes import Codes
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom

PICTURES, LABELS = load_digits(return_X_y=True)
PICTURES = (PICTURES.reshape(-1, 8, 8) * 15).astype(np.uint8)
JOINED = JoinedCodes(OrientationBits(4), 3).fit(PICTURES)  # 64 cells: one is in no code


def clean(encoder: Any, codes: Any) -> Codes:
    return Codes(values=codes, num_values=encoder.num_values_, num_positions=codes.shape[1])


def test_separating_joined_codes_gives_the_cells_again() -> None:
    cells = JOINED.encoder_.transform(PICTURES)
    found = JOINED.separate(clean(JOINED, JOINED.transform(PICTURES)))
    assert (JOINED.num_values_, JOINED.map_shape_) == (8, (1, 1, 21))
    assert found.num_positions == 64
    assert math.isinf(found.epsilon)
    assert found.positions is not None
    np.testing.assert_array_equal(np.unique(found.positions), np.arange(63))
    np.testing.assert_array_equal(found.values, cells[:, :63])
    assert (found.map_shape, JOINED.cell_shape) == (JOINED.encoder_.map_shape_,) * 2


def test_cells_that_divide_evenly_come_back_complete() -> None:
    joined = JoinedCodes(PixelCodes(3), 4).fit(PICTURES)
    found = joined.separate(clean(joined, joined.transform(PICTURES)))
    assert found.positions is None
    np.testing.assert_array_equal(found.values, joined.encoder_.transform(PICTURES))


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_the_epsilon_of_a_cell_is_that_of_its_law_within_the_answer(epsilon: float) -> None:
    sent = Codes(values=np.zeros((1, 1)).astype(int), positions=np.array([[4]]), num_values=8,
                 num_positions=21, epsilon=epsilon)  # fmt: skip
    cell = JOINED.separate(sent)
    joint, alone = response_odds(epsilon, 8), response_odds(cell.epsilon, 2)
    answers = list(itertools.product(range(2), repeat=3))
    chance = sum(joint.keep if a == (0, 0, 0) else joint.other for a in answers if a[1] == 0)
    assert alone.keep == pytest.approx(chance, rel=1e-9)
    assert alone.gap == pytest.approx(joint.gap, rel=1e-9)


def test_answers_stay_with_their_cells() -> None:
    mechanism = RandomizedResponse(40.0, JOINED.num_values_, num_sent=5)  # practically no noise
    sent = mechanism.perturb(JOINED.transform(PICTURES), rng=SeededRandom(0))
    found = JOINED.separate(sent)
    cells = JOINED.encoder_.transform(PICTURES)
    assert found.num_sent == 15
    assert found.positions is not None
    np.testing.assert_array_equal(
        found.values, np.take_along_axis(cells, found.positions.astype(int), axis=1)
    )


def test_one_joined_answer_teaches_more_than_one_cell() -> None:
    accuracy = {}
    for encoder in (JoinedCodes(OrientationBits(8), 6), OrientationBits(8)):
        made = encoder.fit(PICTURES)
        mechanism = RandomizedResponse(6.0, made.num_values_, num_sent=1)
        rng = SeededRandom(0)
        sent = [mechanism.release(row, rng=rng, encoder=made.name)
                for row in made.transform(PICTURES[:1400])]  # fmt: skip
        learner = train(DebiasedNaiveBayes(), sent, LABELS[:1400], encoder=made)
        asked = made.separate(clean(made, made.transform(PICTURES[1400:])))
        accuracy[made.name] = learner.score(asked, LABELS[1400:])
        assert len(classify(learner, sent[:5], encoder=made)) == 5
    assert accuracy["joined"] > accuracy["orientation-bits"] + 0.1


def test_a_joined_encoder_is_stored_with_its_cells(tmp_path: Any) -> None:
    save_encoder(tmp_path / "encoder.npz", JOINED)
    again = load_encoder(tmp_path / "encoder.npz")
    np.testing.assert_array_equal(again.transform(PICTURES), JOINED.transform(PICTURES))
    assert again.cell_shape == JOINED.cell_shape
    for missing in ("size", "kind", "cells/whole"):
        arrays = JOINED.to_arrays()
        del arrays[missing]
        with pytest.raises(InvalidInput, match="do not describe"):
            JoinedCodes.from_arrays(arrays)
    with pytest.raises(InvalidInput, match="do not describe"):
        JoinedCodes.from_arrays(JOINED.to_arrays() | {"kind": np.array("joined")})


def test_what_cannot_be_joined_is_refused() -> None:
    for encoder, size, said in (
        (OrientationCodes(6), 9, "at most 65,536 values"),
        (OrientationBits(2, stride=8), 3, "a picture has 2"),
        (OrientationBits(2), 1, "size"),
        (None, 2, "encoder must be"),
        (JOINED, 2, "encoder must be"),
    ):
        with pytest.raises(InvalidInput, match=said):
            JoinedCodes(encoder, size).fit(PICTURES)
    with pytest.raises(Mismatch, match="21 joined codes of 8 values"):
        JOINED.separate(clean(JOINED.encoder_, JOINED.encoder_.transform(PICTURES)))
