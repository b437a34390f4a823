"""scikit-learn's own checks of estimators, on the learners that count.

The checks feed real numbers; these learners refuse them, since a code is a whole number. Here
each learner first rounds what it is given, so that all other checks run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from sfumato.classification import DebiasedCentroid, DebiasedNaiveBayes
from sfumato.core.codes import Codes


def rounded(X: Any) -> Any:  # noqa: N803
    array = np.asarray(X)
    if array.dtype == object and all(isinstance(value, float) for value in array.flat):
        array = array.astype(float)
    if array.ndim != 2 or array.dtype.kind != "f" or not np.isfinite(array).all():
        return X
    return np.clip(np.rint(array * 2 + 8), 0, 63).astype(np.int64)


class Rounding:
    """Rounds real numbers before learning or predicting."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
        return super().fit(rounded(X), y)  # type: ignore[misc]

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:  # noqa: N803
        return super().partial_fit(rounded(X), y, classes)  # type: ignore[misc]

    def class_scores(self, X: Any) -> Any:  # noqa: N803
        return super().class_scores(X if isinstance(X, Codes) else rounded(X))  # type: ignore[misc]


class RoundingBayes(Rounding, DebiasedNaiveBayes):
    pass


class RoundingCentroid(Rounding, DebiasedCentroid):
    pass


def all_checks() -> list[Any]:
    made = []
    for estimator in (RoundingBayes(num_values=64), RoundingCentroid(num_values=64)):
        for found, check in estimator_checks_generator(estimator):
            name = getattr(check, "func", check).__name__
            made.append(pytest.param(found, check, id=f"{type(estimator).__name__}-{name}"))
    return made


@pytest.mark.parametrize(("estimator", "check"), all_checks())
def test_scikit_learn_accepts_the_learner(estimator: Any, check: Any) -> None:
    check(estimator)
