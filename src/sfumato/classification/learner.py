"""What all learners share: codes and labels in, one or many calls, and their arrays for a file."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sfumato.classification.codes import as_codes
from sfumato.classification.labels import check_classes, check_labels, class_indices
from sfumato.core.codes import Codes, MapShape
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.files import parse_json

Arrays = dict[str, NDArray[Any]]


class Learner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classes from codes, in scikit-learn's contract.

    X is an (N, m) array of codes, or `Codes`, which know their own d and ε and may be partial.
    """

    name: ClassVar[str]  # in files and on the command line

    num_values: int | None
    epsilon: float | None
    map_shape: MapShape | None = None
    classes_: NDArray[Any]

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from these pictures alone."""
        return self._begin(X, y, None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:  # noqa: N803
        """Learn from more pictures; the first call names all classes there will be."""
        if not hasattr(self, "classes_"):
            return self._begin(X, y, classes)
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise Mismatch(
                f"classes must be the {len(self.classes_)} named at the first call; leave them "
                "out from the second call on."
            )
        codes = self._codes(X, self.num_values_, self._expected_epsilon())
        self._check_positions(codes)
        self._add(codes, class_indices(check_labels(y, len(codes)), self.classes_))
        return self

    def merge(self, other: Self) -> Self:
        """As if this one had also learned what the other has, behind its own: exactly the same.

        >>> from sfumato.classification import DebiasedCentroid
        >>> classes = ["a", "b"]
        >>> one = DebiasedCentroid().partial_fit([[0, 0], [1, 0]], ["a", "b"], classes)
        >>> two = DebiasedCentroid().partial_fit([[0, 1], [1, 1]], ["a", "b"], classes)
        >>> one.merge(two).predict([[1, 1]])
        array(['b'], dtype='<U1')
        """
        for one in (self, other):
            check_is_fitted(one, "classes_")
        if type(other) is not type(self) or other.get_params() != self.get_params():
            raise Mismatch("only learners of one kind and with the same settings can be merged.")
        if not np.array_equal(self.classes_, other.classes_):
            raise Mismatch("learners that are merged must know the same classes; name all of them.")
        self._merge(other)
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The class of each picture."""
        raise NotImplementedError

    def epsilons(self) -> list[float]:
        """Every ε per code it learned from."""
        raise NotImplementedError

    def to_arrays(self) -> Arrays:
        """What it learned and its settings, as plain arrays."""
        check_is_fitted(self, "classes_")
        if self.classes_.dtype.kind not in "iuU":
            raise InvalidInput(
                f"class labels must be whole numbers or text, got {self.classes_.dtype}."
            )
        return {
            "settings": np.array(json.dumps(self.get_params(), sort_keys=True)),
            "classes": self.classes_,
            **self._arrays(),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The learner that `to_arrays` described; anything else is a ValueError or KeyError."""
        settings = parse_json(str(arrays["settings"]))
        if not isinstance(settings, dict):
            raise InvalidInput("its settings are no settings")
        if settings.get("map_shape") is not None:
            settings["map_shape"] = tuple(settings["map_shape"])
        classes = np.asarray(arrays["classes"])
        if classes.ndim != 1 or len(np.unique(classes)) != len(classes):
            raise InvalidInput("its classes are not classes")
        made = cls(**settings)
        made._restore(arrays, check_classes(np.sort(classes)))
        return made

    def _begin(self, X: Any, y: Any, classes: Any) -> Self:  # noqa: N803
        codes = self._codes(X, self.num_values, self.epsilon)
        labels = check_labels(y, len(codes))
        named = check_classes(np.unique(labels if classes is None else classes))
        indices = class_indices(labels, named)
        self._start(codes, named)
        self._add(codes, indices)
        return self

    def _start(self, codes: Codes, classes: NDArray[Any]) -> None:
        """Forget everything; from now on codes like these are learned from."""
        self.classes_ = classes
        self.n_features_in_ = codes.num_positions
        self.num_values_ = codes.num_values

    def _add(self, codes: Codes, classes: NDArray[np.int64]) -> None:
        """Learn from more codes; `classes` holds the index of each picture's class."""
        raise NotImplementedError

    def _merge(self, other: Self) -> None:
        """Learn what another of this kind has learned."""
        raise NotImplementedError

    def _arrays(self) -> Arrays:
        raise NotImplementedError

    def _restore(self, arrays: Arrays, classes: NDArray[Any]) -> None:
        """As after learning what the arrays hold."""
        raise NotImplementedError

    def _expected_epsilon(self) -> float | None:
        """Of codes that are added to those learned from so far; None takes any."""
        return self.epsilon

    def _codes(self, X: Any, num_values: int | None, epsilon: float | None) -> Codes:  # noqa: N803
        return as_codes(X, num_values=num_values, epsilon=epsilon, map_shape=self.map_shape)

    def _queries(self, X: Any) -> Codes:  # noqa: N803
        """Codes to classify. A plain array is clean; values that were never learned are refused."""
        check_is_fitted(self, "classes_")
        codes = as_codes(X, num_values=self.num_values_)
        self._check_positions(codes)
        return codes

    def _check_positions(self, codes: Codes) -> None:
        if codes.num_positions != self.n_features_in_:
            raise InvalidInput(
                f"X has {codes.num_positions} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )


def split_rows(count: int, parts: int) -> list[slice]:
    """So many rows in so many parts of nearly one size; none of them empty but of nothing."""
    ends = np.unique(np.linspace(0, count, max(min(parts, count), 1) + 1).astype(int)).tolist()
    return [slice(low, high) for low, high in pairwise(ends)] or [slice(0, 0)]


def stored_shape(arrays: Arrays) -> MapShape | None:
    """The map_shape of a file; it is checked where it is used."""
    return tuple(int(length) for length in arrays["map_shape"]) or None  # type: ignore[return-value]
