"""Nearest class mean, with the noise in the means taken out of the distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.counting import CountingClassifier
from sfumato.classification.odds import response_odds
from sfumato.core.codes import Codes, MapShape


@dataclass(eq=False, repr=False)
class DebiasedCentroid(CountingClassifier):
    """The class whose mean code map is nearest in L2 [dcaconv, eq. 42–44].

    ‖x − μ‖² = ‖x‖² − 2·x·μ + ‖μ‖². The estimate μ̂ is unbiased, ‖μ̂‖² is not: it exceeds
    ‖μ‖² by Σ Var μ̂, which differs between classes of different size. `correct` takes it out.

    Parameters as in `DebiasedNaiveBayes`.

    >>> DebiasedCentroid().fit([[0, 0], [0, 1], [3, 2], [3, 3]], list("aabb")).predict([[1, 0]])
    array(['a'], dtype='<U1')
    """

    name: ClassVar[str] = "centroid"

    num_values: int | None = None
    epsilon: float | None = None
    map_shape: MapShape | None = None
    correct: bool = True

    def _learn(self) -> None:
        means, variances = self.counts_.means()
        known = np.isfinite(means)
        # Where a class has no answer yet, the mean over all classes says nothing for or against.
        overall = np.where(known, means, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        self.centroids_ = np.where(known, means, overall)
        self.squared_norms_ = (self.centroids_**2).sum(axis=1)
        if self.correct:
            self.squared_norms_ -= np.where(known, variances, 0).sum(axis=1)

    def _scores(self, codes: Codes) -> NDArray[np.float64]:
        values = codes.values.astype(np.float64)
        if np.isfinite(codes.epsilon):
            odds = response_odds(codes.epsilon, codes.num_values)
            values = (values - odds.other * sum(range(codes.num_values))) / odds.gap
        if codes.positions is None:
            return np.asarray(2 * values @ self.centroids_.T - self.squared_norms_)
        return self._partial_scores(values, codes.positions)

    def _partial_scores(self, values: NDArray[Any], positions: NDArray[Any]) -> NDArray[np.float64]:
        """Distances over the positions that were sent alone, where no norm can be prepared."""
        scores = [
            (2 * values * centroid[positions] - centroid[positions] ** 2).sum(axis=1)
            for centroid in self.centroids_
        ]
        return np.stack(scores, axis=1)
