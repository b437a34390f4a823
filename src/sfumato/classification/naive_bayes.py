"""Categorical naive Bayes on counts from which the noise has been taken out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.counting import CountingClassifier
from sfumato.classification.counts import flat_keys
from sfumato.classification.odds import response_odds
from sfumato.core.checks import as_number
from sfumato.core.codes import Codes, MapShape, check_map_shape
from sfumato.core.errors import InvalidInput

Numbers = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class DebiasedNaiveBayes(CountingClassifier):
    """The class under which a picture's codes are likeliest, each position for itself.

    f̂(v | class, position) = (max(ĉ(v), 0) + α·g(v)) / Σ of the same, with debiased counts ĉ
    [dcaconv, eq. 13] clipped at zero. α pulls towards g, the frequency over all classes,
    and counts in clean answers: under noise an answer is worth (p − q)² of one, so the
    same α smooths the more, the more noise there is.

    num_values  d; None takes it from `Codes`, or from clean codes themselves
    epsilon     ε per code of the training data; None takes that of `Codes`, or clean
    map_shape   (channels, height, width), needed for spatial smoothing of plain arrays
    alpha       α, in clean answers per position
    spatial     σ in cells: neighbouring positions of a channel share their answers with
                Gaussian weights. 0 keeps them apart.
    floor       the smallest frequency that is assumed

    >>> learner = DebiasedNaiveBayes().fit([[0, 0], [0, 1], [3, 2], [3, 3]], list("aabb"))
    >>> learner.predict([[0, 3], [3, 0]])
    array(['a', 'b'], dtype='<U1')
    """

    name: ClassVar[str] = "naive-bayes"

    num_values: int | None = None
    epsilon: float | None = None
    map_shape: MapShape | None = None
    alpha: float = 1.0
    spatial: float = 0.0
    floor: float = 1e-4

    def predict_proba(self, X: Any) -> Numbers:  # noqa: N803
        """(N, classes) probabilities under the model: far too sure, as naive Bayes is."""
        scores = self.class_scores(X)
        scores -= scores.max(axis=1, keepdims=True)
        likelihood = np.exp(scores)
        return np.asarray(likelihood / likelihood.sum(axis=1, keepdims=True))

    def _learn(self) -> None:
        self._check_parameters()
        counts = self.counts_.debiased()
        answers = self.counts_.answers().sum(axis=1).astype(np.float64)
        if self.spatial:
            counts = self._shared(counts)
        overall = _frequencies(counts.sum(axis=0), 1 / counts.shape[2], 1.0)
        self.frequencies_ = np.maximum(_frequencies(counts, overall, self.alpha), self.floor)
        self.frequencies_ /= self.frequencies_.sum(axis=2, keepdims=True)
        self.class_log_prior_ = np.log((answers + 1) / (answers + 1).sum())

    def _scores(self, codes: Codes) -> Numbers:
        from scipy.sparse import csr_array

        tables = self.frequencies_
        if math.isfinite(codes.epsilon):
            # Noisy pictures are scored with what noise makes of the frequencies.
            odds = response_odds(codes.epsilon, codes.num_values)
            tables = odds.gap * tables + odds.other
        num_classes, num_positions, num_values = tables.shape
        columns = np.log(tables).reshape(num_classes, -1).T
        keys = flat_keys(codes)
        rows = np.arange(len(codes) + 1) * codes.num_sent
        chosen = csr_array(
            (np.ones(keys.size), keys.ravel(), rows), shape=(len(codes), num_positions * num_values)
        )
        return np.asarray(chosen @ columns + self.class_log_prior_)

    def _shared(self, counts: Numbers) -> Numbers:
        """Counts summed over neighbouring cells of each channel, with Gaussian weights.

        Weights are scaled to (Σw)² = Σw², so that a sum is worth as many answers as it says.
        """
        from scipy.ndimage import gaussian_filter

        sigmas = (0.0, 0.0, self.spatial, self.spatial, 0.0)
        reach = math.ceil(3 * self.spatial)
        impulse = np.zeros((2 * reach + 1, 2 * reach + 1))
        impulse[reach, reach] = 1
        weights = gaussian_filter(impulse, self.spatial, mode="constant", truncate=3.0)
        maps = counts.reshape(len(counts), *self._shape(), counts.shape[2])
        summed = gaussian_filter(maps, sigmas, mode="constant", truncate=3.0)
        return np.asarray(summed.reshape(counts.shape) / (weights**2).sum())

    def _shape(self) -> MapShape:
        if self.map_shape_ is None:
            raise InvalidInput(
                "spatial smoothing needs map_shape=(channels, height, width) to know which "
                "positions are neighbours."
            )
        return check_map_shape(self.map_shape_, self.n_features_in_)

    def _check_parameters(self) -> None:
        for name, low, high in (("alpha", 0, 1e9), ("spatial", 0, 1e3), ("floor", 0, 0.5)):
            value = as_number(name, getattr(self, name))
            if not low <= value <= high:
                raise InvalidInput(f"{name} must be between {low} and {high:g}, got {value:g}.")
        if not self.alpha + self.floor:
            raise InvalidInput("alpha and floor must not both be 0: log 0 would decide everything.")


def _frequencies(counts: Numbers, prior: Numbers | float, weight: float) -> Numbers:
    """Counts clipped at zero and pulled towards the prior; where nothing is left, the prior."""
    smoothed = np.maximum(counts, 0) + weight * prior
    total = smoothed.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, smoothed / np.where(total > 0, total, 1.0), prior))
