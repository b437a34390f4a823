"""The binarised network: refused without torch, and what its codes are with it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sfumato.classification.bnn import BinaryNetwork
from sfumato.core.errors import InvalidInput, Missing
from support import hide_packages

ROWS, LABELS = load_digits(return_X_y=True)
PICTURES = ROWS.reshape(-1, 8, 8)[:600]
LABELS = LABELS[:600]


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_packages(monkeypatch, "torch")
    with pytest.raises(Missing, match=r"sfumato\[train\]"):
        BinaryNetwork().fit(PICTURES, LABELS)


@pytest.mark.needs("train")
def test_signs_before_the_last_layers_are_the_codes() -> None:
    from sklearn.naive_bayes import BernoulliNB

    network = BinaryNetwork(4, filter_size=3, hidden=32, epochs=4).fit(PICTURES[:500], LABELS[:500])
    codes = network.transform(PICTURES)
    assert network.map_shape_ == (4, 7, 7)
    assert codes.shape == (600, 196)
    assert set(np.unique(codes)) == {0, 1}
    learner = BernoulliNB().fit(codes[:500], LABELS[:500])
    assert learner.score(codes[500:], LABELS[500:]) > 0.6
    again = BinaryNetwork(4, filter_size=3, hidden=32, epochs=4).fit(PICTURES[:500], LABELS[:500])
    np.testing.assert_array_equal(again.transform(PICTURES), codes)
    with pytest.raises(InvalidInput, match="odd"):
        BinaryNetwork(filter_size=4).fit(PICTURES, LABELS)
