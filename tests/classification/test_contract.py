"""scikit-learn's own checks of estimators, on every encoder and learner.

The checks feed real numbers; learners refuse them, since a code is a whole number. Here each
learner first rounds what it is given, so that all other checks run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from sfumato.classification import (
    DCAConv,
    DebiasedCentroid,
    DebiasedNaiveBayes,
    JoinedCodes,
    OrientationBits,
    OrientationCodes,
    PerturbedKNN,
    PixelCodes,
)
from sfumato.core.codes import Codes

#: Checks that are left out, and why.
LEFT_OUT = {
    "check_array_api_input": "arrays of other libraries are not taken",
    "check_classifier_data_not_an_array": "needs pandas",
    "DCAConv-check_fit2d_1sample": "one picture is one class, refused in our words",
    "JoinedCodes-check_fit2d_1feature": "one pixel cannot be joined, refused in our words",
    "DCAConv-check_fit2d_1feature": "a picture of one pixel is constant, refused in our words",
}


def rounded(X: Any) -> Any:  # noqa: N803
    array = np.asarray(X)
    objects = array.dtype == object and array.ndim == 2
    if objects and not any(isinstance(item, dict) for item in array.flat):
        array = array.astype(np.float64)
    if array.ndim != 2 or array.dtype.kind != "f" or not np.isfinite(array).all():
        return X
    return np.clip(np.rint(array * 2 + 8), 0, 63).astype(np.int64)


class Rounding:
    """Rounds real numbers before learning or predicting."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
        return super().fit(rounded(X), y)  # type: ignore[misc]

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:  # noqa: N803
        return super().partial_fit(rounded(X), y, classes)  # type: ignore[misc]

    def _queries(self, X: Any) -> Any:  # noqa: N803
        return super()._queries(X if isinstance(X, Codes) else rounded(X))  # type: ignore[misc]


class RoundingBayes(Rounding, DebiasedNaiveBayes):
    pass


class RoundingCentroid(Rounding, DebiasedCentroid):
    pass


class RoundingKNN(Rounding, PerturbedKNN):
    pass


ESTIMATORS = (
    DCAConv((1, 1), filter_size=3, pool_size=1, image_shape=(1, -1)),
    PixelCodes(4),
    OrientationCodes(2, stride=1, image_shape=(1, -1)),
    OrientationBits(2, stride=1, image_shape=(1, -1)),
    JoinedCodes(PixelCodes(2), 2, image_shape=(1, -1)),
    RoundingBayes(num_values=64),
    RoundingCentroid(num_values=64),
    RoundingKNN(1, metric="l2", num_values=64),
)


def all_checks() -> list[Any]:
    checks = []
    for estimator in ESTIMATORS:
        for made, check in estimator_checks_generator(estimator):
            name = getattr(check, "func", check).__name__
            label = f"{type(estimator).__name__}-{name}"
            if name not in LEFT_OUT and label not in LEFT_OUT:
                checks.append(pytest.param(made, check, id=label))
    return checks


@pytest.mark.parametrize(("estimator", "check"), all_checks())
def test_scikit_learn_accepts_the_estimator(estimator: Any, check: Any) -> None:
    check(estimator)
