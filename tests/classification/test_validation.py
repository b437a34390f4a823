"""Settings are chosen with held-out training pictures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sfumato.classification import DebiasedNaiveBayes
from sfumato.classification.validation import choose, hold_out
from sfumato.core.errors import InvalidInput

PIXELS, LABELS = load_digits(return_X_y=True)
CODES = (PIXELS >= 8).astype(np.uint8)


def test_every_class_is_on_both_sides() -> None:
    learn, judge = hold_out(LABELS, 0.2, seed=3)
    assert sorted([*learn, *judge]) == list(range(len(LABELS)))
    for rows, share in ((learn, 0.8), (judge, 0.2)):
        found = np.bincount(LABELS[rows]) / np.bincount(LABELS)
        assert found == pytest.approx(share, abs=0.01)
    assert (hold_out(LABELS, 0.2, seed=3)[1] == judge).all()
    assert len(hold_out(np.array([0, 0, 1, 1]), 0.01)[1]) == 2


def test_the_best_learner_is_found_and_left_unfitted() -> None:
    learn, judge = hold_out(LABELS, 0.3)
    bad, good = DebiasedNaiveBayes(floor=0.5, alpha=1e6), DebiasedNaiveBayes()
    choice = choose([bad, good], (CODES[learn], LABELS[learn]), (CODES[judge], LABELS[judge]))
    assert choice.best is good
    assert not hasattr(good, "counts_")
    assert choice.scores[1][1] > choice.scores[0][1]


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 2 pictures"):
        hold_out(np.array([0, 0, 1]), 0.5)
    for share in (0, 1, -1, float("nan")):
        with pytest.raises(InvalidInput, match="share must"):
            hold_out(LABELS, share)
    with pytest.raises(InvalidInput, match="at least one learner"):
        choose([], (CODES, LABELS), (CODES, LABELS))
