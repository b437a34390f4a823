"""What classifiers that learn from counts share: fit, streams, partial releases, predict."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sfumato.classification.checks import check_classes, check_labels, class_indices
from sfumato.classification.codes import as_codes
from sfumato.classification.counts import CodeCounts
from sfumato.core.codes import Codes, MapShape
from sfumato.core.errors import InvalidInput, Mismatch

_BLOCK = 1 << 22  # codes scored at a time


class CountingClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Counts of class × position × value are all that is learnt from.

    X is an (N, m) array of codes, or `Codes`, which may be partial. A subclass turns
    `counts_` into tables (`_learn`) and tables into one score per picture and class.
    """

    num_values: int | None
    epsilon: float | None
    map_shape: MapShape | None

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from these pictures alone."""
        codes, labels = self._checked(X, y, self.num_values)
        return self._start(codes, np.unique(labels))._count(codes, labels)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:  # noqa: N803
        """Learn from more pictures; the first call names all classes there will be."""
        if not hasattr(self, "counts_"):
            codes, labels = self._checked(X, y, self.num_values)
            self._start(codes, np.unique(labels if classes is None else classes))
        else:
            codes, labels = self._checked(X, y, self.num_values_)
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise Mismatch(
                    f"classes must be the {len(self.classes_)} named at the first call; leave "
                    "them out from the second call on."
                )
        return self._count(codes, labels)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The most likely class of each picture."""
        found = self.class_scores(X).argmax(axis=1)
        return np.asarray(self.classes_[found])

    def class_scores(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """(N, classes), larger is likelier. `Codes` with a finite ε are scored as noisy."""
        check_is_fitted(self, "counts_")
        codes = X if isinstance(X, Codes) else self._clean(X)
        self._check_positions(codes)
        size = max(_BLOCK // max(codes.num_sent, 1), 1)
        scores = [self._scores(block) for block in codes.blocks(size)]
        return np.concatenate(scores) if scores else np.empty((0, len(self.classes_)))

    @abstractmethod
    def _learn(self) -> None:
        """Turn counts into what `_scores` needs."""

    @abstractmethod
    def _scores(self, codes: Codes) -> NDArray[np.float64]:
        """(N, classes) scores of one block."""

    def restore(self, counts: CodeCounts, classes: NDArray[Any], shape: MapShape | None) -> Self:
        """Take up stored counts, as if their releases had just been learnt from."""
        self.classes_ = check_classes(classes)
        self.counts_ = counts
        _, self.n_features_in_, self.num_values_ = counts.shape
        self.map_shape_ = shape
        self._learn()
        return self

    def _start(self, codes: Codes, classes: NDArray[Any]) -> Self:
        self.classes_ = check_classes(classes)
        self.num_values_ = codes.num_values
        self.map_shape_ = codes.map_shape if self.map_shape is None else self.map_shape
        self.n_features_in_ = codes.num_positions
        self.counts_ = CodeCounts(len(classes), codes.num_positions, codes.num_values)
        return self

    def _count(self, codes: Codes, labels: NDArray[Any]) -> Self:
        self._check_positions(codes)
        self.counts_.add(codes, class_indices(labels, self.classes_))
        self._learn()
        return self

    def _checked(self, X: Any, y: Any, num_values: int | None) -> tuple[Codes, NDArray[Any]]:  # noqa: N803
        codes = as_codes(X, num_values=num_values, epsilon=self.epsilon, map_shape=self.map_shape)
        return codes, check_labels(y, len(codes))

    def _clean(self, X: Any) -> Codes:  # noqa: N803
        """A plain array at prediction is clean; values never learnt are refused."""
        return as_codes(X, num_values=self.num_values_)

    def _check_positions(self, codes: Codes) -> None:
        if codes.num_positions != self.n_features_in_:
            raise InvalidInput(
                f"X has {codes.num_positions} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        if codes.num_values != self.num_values_:
            raise Mismatch(
                f"the codes lie in [{codes.num_values}], those learnt from in "
                f"[{self.num_values_}]; use one encoder."
            )
