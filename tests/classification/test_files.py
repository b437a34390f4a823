"""Encoders and classifiers on disk: they come back, and nothing else does."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sfumato.classification import Codes, DebiasedCentroid, DebiasedNaiveBayes, PerturbedKNN
from sfumato.classification.files import (
    encoder_class,
    load_encoder,
    load_model,
    save_encoder,
    save_model,
)
from sfumato.classification.orientations import OrientationCodes
from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.core.arrays import read_arrays, write_arrays
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom

PICTURES, LABELS = load_digits(return_X_y=True)
PICTURES = (PICTURES.reshape(-1, 8, 8) * 15).astype(np.uint8)
CODES = (PICTURES.reshape(-1, 64) > 100).astype(np.uint8)


@pytest.mark.parametrize(
    "learner",
    [DebiasedNaiveBayes(alpha=2.0, spatial=0.5, map_shape=(1, 8, 8)), DebiasedCentroid()],
)
def test_a_classifier_comes_back_and_learns_on(tmp_path: Path, learner: Any) -> None:
    noisy = Codes(values=CODES, num_values=2, num_positions=64, epsilon=3.0)
    learner.partial_fit(CODES, LABELS).partial_fit(noisy, LABELS)
    save_model(tmp_path / "m.npz", learner, encoder="pixels", picture_epsilon=192.0)
    found, encoder, worst = load_model(tmp_path / "m.npz")
    assert (encoder, worst) == ("pixels", 192.0)
    assert found.get_params() == learner.get_params()
    assert (found.class_scores(CODES) == learner.class_scores(CODES)).all()
    more = found.partial_fit(CODES, LABELS).class_scores(CODES)
    assert (more == learner.partial_fit(CODES, LABELS).class_scores(CODES)).all()


@pytest.mark.parametrize(("num_values", "num_sent"), [(2, None), (16, None), (5, 3)])
def test_neighbours_come_back_and_learn_on(
    tmp_path: Path, num_values: int, num_sent: int | None
) -> None:
    values = (PICTURES.reshape(-1, 64) // 16 % num_values).astype(np.uint8)
    sent = RandomizedResponse(2.0, num_values, num_sent).perturb(
        values[:300], rng=SeededRandom(0), map_shape=(1, 8, 8)
    )
    learner = PerturbedKNN(7, weights="log-odds").fit(sent, LABELS[:300])
    save_model(tmp_path / "m.npz", learner, encoder="pixels", picture_epsilon=8.0)
    found, encoder, _ = load_model(tmp_path / "m.npz")
    assert isinstance(found, PerturbedKNN)
    assert encoder == "pixels"
    assert found.codes_ == learner.codes_
    assert (found.predict_proba(values[300:400]) == learner.predict_proba(values[300:400])).all()
    assert found.epsilons() == [2.0]
    assert len(found.partial_fit(sent, LABELS[:300]).codes_) == 600
    stored = read_arrays(tmp_path / "m.npz")
    for name, value in (
        ("labels", stored["labels"][:-1]),
        ("labels", stored["labels"] + 10),
        ("values", stored["values"].astype(np.int64)),
        ("sizes", np.array([num_values, 65, 64])),
        ("epsilon", np.array(np.nan)),
        ("classes", np.zeros(10, dtype=np.int64)),
    ):
        write_arrays(tmp_path / "bad.npz", {**stored, name: value})
        with pytest.raises(InvalidInput, match="train it anew"):
            load_model(tmp_path / "bad.npz")
        (tmp_path / "bad.npz").unlink()


def test_an_encoder_comes_back(tmp_path: Path) -> None:
    made = OrientationCodes(3, stride=2, margin=1).fit(PICTURES)
    save_encoder(tmp_path / "e.npz", made)
    found = load_encoder(tmp_path / "e.npz")
    assert (found.transform(PICTURES) == made.transform(PICTURES)).all()
    assert found.map_shape_ == made.map_shape_
    with pytest.raises(InvalidInput, match="encoder must be one of"):
        encoder_class("unknown")


CHANGES: dict[str, dict[str, Any]] = {
    "no counts": {"counts": None},
    "float counts": {"counts": np.zeros((1, 10, 64, 2))},
    "negative counts": {"counts": np.full((1, 10, 64, 2), -1)},
    "few axes": {"counts": np.zeros((10, 64, 2), dtype=np.int64)},
    "too many ε": {"epsilons": np.array([1.0, 2.0])},
    "NaN ε": {"epsilons": np.array([math.nan])},
    "negative ε": {"epsilons": np.array([-1.0])},
    "few classes": {"classes": np.arange(3)},
    "same classes": {"classes": np.zeros(10, dtype=int)},
    "wrong shape": {"map_shape": np.array([1, 2, 3])},
    "unknown learner": {"learner": np.array("forest")},
    "no settings": {"settings": np.array("[]")},
    "unknown settings": {"settings": np.array('{"power": 9}')},
    "bad settings": {"settings": np.array('{"alpha": -1}')},
    "broken settings": {"settings": np.array("{")},
    "another kind": {"kind": np.array("encoder")},
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_classifier_is_refused(tmp_path: Path, name: str) -> None:
    learner = DebiasedNaiveBayes(spatial=0.5, map_shape=(1, 8, 8)).fit(CODES, LABELS)
    save_model(tmp_path / "m.npz", learner, encoder="pixels", picture_epsilon=1.0)
    arrays = read_arrays(tmp_path / "m.npz") | CHANGES[name]
    kept = {key: value for key, value in arrays.items() if value is not None}
    write_arrays(tmp_path / "m.npz", kept)
    with pytest.raises(InvalidInput, match="not a stored classifier") as caught:
        load_model(tmp_path / "m.npz")
    assert "\n" not in str(caught.value)


def test_what_has_no_format_is_not_stored(tmp_path: Path) -> None:
    class Own(DebiasedCentroid):
        pass

    with pytest.raises(InvalidInput, match="no file format"):
        save_model(tmp_path / "m.npz", Own().fit(CODES, LABELS), encoder="x", picture_epsilon=1.0)
    for arrays in ({"whole": np.array([3])}, {"whole": np.zeros(5, dtype=int)}, {}):
        content = {f"encoder/{key}": value for key, value in arrays.items()}
        head = {"kind": np.array("encoder"), "name": np.array("orientations")}
        write_arrays(tmp_path / "e.npz", {**head, **content})
        with pytest.raises(InvalidInput, match="do not describe"):
            load_encoder(tmp_path / "e.npz")
