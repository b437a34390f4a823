"""What classifiers that learn from counts share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.counts import MAX_EPSILONS, CodeCounts, count_part
from sfumato.classification.learner import Arrays, Learner, split_rows, stored_shape
from sfumato.core.checks import check_epsilon
from sfumato.core.codes import Codes
from sfumato.core.errors import InvalidInput
from sfumato.execution import current

_BLOCK = 1 << 22  # codes scored at a time


class CountingClassifier(Learner):
    """Counts of class × position × value are all that is learned from.

    A subclass turns `counts_` into tables (`_learn`) and tables into one score per picture and
    class.
    """

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The most likely class of each picture."""
        scores = self.class_scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def class_scores(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """(N, classes), larger is likelier. `Codes` with a finite ε are scored as noisy."""
        codes = self._queries(X)
        size = max(_BLOCK // max(codes.num_sent, 1), 1)
        scores = [self._scores(block) for block in codes.blocks(size)]
        return np.concatenate(scores) if scores else np.empty((0, len(self.classes_)))

    def epsilons(self) -> list[float]:
        return sorted(self.counts_.tables)

    def _learn(self) -> None:
        """Turn counts into what `_scores` needs."""
        raise NotImplementedError

    def _scores(self, codes: Codes) -> NDArray[np.float64]:
        """(N, classes) scores of one block."""
        raise NotImplementedError

    def _start(self, codes: Codes, classes: NDArray[Any]) -> None:
        self.counts_ = CodeCounts(len(classes), codes.num_positions, codes.num_values)
        self.map_shape_ = codes.map_shape if self.map_shape is None else self.map_shape
        super()._start(codes, classes)

    def _add(self, codes: Codes, classes: NDArray[np.int64]) -> None:
        parts = split_rows(len(codes), current().workers)
        if len(parts) == 1:
            self.counts_.add(codes, classes)
        else:
            given = ((codes.take(rows), classes[rows]) for rows in parts)
            for counts in current().map(count_part, given, self.counts_.shape):
                self.counts_.merge(counts)
        self._learn()

    def _merge(self, other: Self) -> None:
        self.counts_.merge(other.counts_)
        self._learn()

    def _arrays(self) -> Arrays:
        tables = self.counts_.tables
        return {
            "map_shape": np.array(self.map_shape_ or (), dtype=np.int64),
            "epsilons": np.array(list(tables), dtype=np.float64),
            "counts": np.stack(list(tables.values())),
        }

    def _restore(self, arrays: Arrays, classes: NDArray[Any]) -> None:
        counts = np.asarray(arrays["counts"])
        epsilons = [check_epsilon(float(e), allow_infinite=True) for e in arrays["epsilons"]]
        if counts.dtype != np.int64 or counts.ndim != 4 or counts.size == 0 or counts.min() < 0:
            raise InvalidInput("its counts are no counts")
        if not len(counts) == len(set(epsilons)) <= MAX_EPSILONS:
            raise InvalidInput("its counts do not fit its ε")
        if len(classes) != counts.shape[1]:
            raise InvalidInput("its classes do not fit its counts")
        _, _, num_positions, num_values = counts.shape
        none = np.zeros((0, num_positions), dtype=np.uint8)
        self._start(Codes(values=none, num_values=num_values, num_positions=num_positions), classes)
        self.map_shape_ = stored_shape(arrays)
        self.counts_.tables = dict(zip(epsilons, counts.copy(), strict=True))
        self._learn()
