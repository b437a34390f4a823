"""K nearest neighbours among perturbed pictures."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sfumato.classification.checks import check_classes, check_labels, class_indices
from sfumato.classification.codes import as_codes
from sfumato.classification.match_weights import log_odds, match_weights
from sfumato.classification.neighbours import Matches, Scorer, SquaredDistances, Tables, nearest
from sfumato.classification.odds import response_odds
from sfumato.core.checks import check_count
from sfumato.core.codes import Codes
from sfumato.core.errors import InvalidInput, Mismatch

METRICS = ("hamming", "l2")
WEIGHTS = ("none", "log-odds")


def neighbours_for(epsilon: float, num_values: int, num_pictures: int) -> int:
    """How many neighbours to ask: K = 8 + 1.5/(p − q)², at most all of them.

    Of each code a share p − q survives randomized response, so the distance of a picture says
    (p − q)² as much about it as its clean distance, and more of them must be averaged.
    """
    gap = response_odds(epsilon, num_values).gap
    return max(min(round(8 + 1.5 / gap**2), num_pictures), 1)


class PerturbedKNN(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The majority among the K perturbed pictures that are nearest to a clean one.

    X is an (N, m) array of codes, or `Codes`, which may be partial. Equal distances go to the
    picture that came first, equal votes to the first class.

    num_neighbours  K; None takes 8 + 1.5/(p − q)² (`neighbours_for`)
    metric          "hamming" counts positions with equal codes; "l2" is the paper's, which takes
                    codes for quantities (d = 2: the same order)
    weights         "log-odds": a match counts the more, the rarer the answer is at its position
    num_values      d; None takes it from `Codes`, or from clean codes themselves
    epsilon         ε per code of the training data; None takes that of `Codes`, or clean
    """

    def __init__(
        self,
        num_neighbours: int | None = None,
        *,
        metric: str = "hamming",
        weights: str = "none",
        num_values: int | None = None,
        epsilon: float | None = None,
    ) -> None:
        self.num_neighbours = num_neighbours
        self.metric = metric
        self.weights = weights
        self.num_values = num_values
        self.epsilon = epsilon

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Keep these perturbed pictures and their labels."""
        self._check_parameters()
        codes = as_codes(X, num_values=self.num_values, epsilon=self.epsilon)
        labels = check_labels(y, len(codes))
        return self._keep([codes], [labels], np.unique(labels))

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:  # noqa: N803
        """Add pictures; the first call names all classes there will be."""
        self._check_parameters()
        if not hasattr(self, "codes_"):
            codes = as_codes(X, num_values=self.num_values, epsilon=self.epsilon)
            labels = check_labels(y, len(codes))
            return self._keep([codes], [labels], np.unique(labels if classes is None else classes))
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise Mismatch(
                f"classes must be the {len(self.classes_)} named at the first call; leave them "
                "out from the second call on."
            )
        codes = as_codes(X, num_values=self.codes_.num_values, epsilon=self.codes_.epsilon)
        self._check_positions(codes)
        if codes.num_sent != self.codes_.num_sent:
            raise Mismatch(
                f"every picture must send {self.codes_.num_sent} codes as the first ones did, "
                f"got {codes.num_sent}; learn from each kind apart."
            )
        known = self.classes_[self.labels_]
        return self._keep([self.codes_, codes], [known, check_labels(y, len(codes))], self.classes_)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The class with most votes."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """(N, classes), the share of the K neighbours in each class."""
        check_is_fitted(self, "codes_")
        return np.asarray(self.votes(X, (self.num_neighbours_,))[0])

    def votes(self, X: Any, counts: tuple[int, ...]) -> NDArray[np.float64]:  # noqa: N803
        """(len(counts), N, classes): shares of votes for several K from one search."""
        places, _ = self.kneighbors(X, max(counts))
        labels = self.labels_[places]
        shares = np.empty((len(counts), len(places), len(self.classes_)))
        for k, count in enumerate(counts):
            for number in range(len(self.classes_)):
                shares[k, :, number] = (labels[:, :count] == number).mean(axis=1)
        return shares

    def kneighbors(
        self,
        X: Any,  # noqa: N803
        num_neighbours: int | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Places (N, K) of the nearest training pictures, nearest first, and their scores."""
        check_is_fitted(self, "codes_")
        count = self.num_neighbours_ if num_neighbours is None else num_neighbours
        self._check_count(count)
        queries = as_codes(X, num_values=self.codes_.num_values)
        self._check_positions(queries)
        if queries.positions is not None:
            raise InvalidInput(
                f"a picture to classify needs all {queries.num_positions} codes, got "
                f"{queries.num_sent}; only training pictures may be partial."
            )
        return nearest(self._scorer(), queries.values, len(self.codes_), count)

    def restore(self, codes: Codes, labels: NDArray[np.int64], classes: NDArray[Any]) -> Self:
        """Take up pictures that were kept before; labels are places in the sorted classes."""
        self._check_parameters()
        return self._keep([codes], [classes[labels]], classes)

    def _scorer(self) -> Scorer:
        codes = self.codes_
        if codes.positions is not None:
            size = codes.num_positions * codes.num_values
            return Tables(codes.values, codes.positions, self._worth, size)
        if self.weights != "none":
            return Matches.to(codes, match_weights(codes))
        if self.metric == "hamming" or codes.num_values == 2:
            return Matches.to(codes)
        return SquaredDistances.to(codes)

    def _worth(self, queries: NDArray[Any]) -> NDArray[np.float32]:
        """(Q, m, d): what each answer at each position adds to the score of a query."""
        values = np.arange(self.codes_.num_values)
        if self.metric == "l2":
            away = queries[:, :, None].astype(np.float32) - values.astype(np.float32)
            return np.asarray(-np.square(away))
        same = queries[:, :, None] == values
        if self.weights == "none":
            return np.asarray(same, dtype=np.float32)
        match, mismatch = log_odds(self.codes_)
        own = np.take_along_axis(mismatch[None], queries[:, :, None].astype(np.int64), axis=2)
        return np.asarray(np.where(same, match, own), dtype=np.float32)

    def _keep(self, parts: list[Codes], labels: list[NDArray[Any]], classes: NDArray[Any]) -> Self:
        self.classes_ = check_classes(classes)
        first = parts[0]
        self.n_features_in_ = first.num_positions
        self.num_values_ = first.num_values
        self.labels_ = class_indices(np.concatenate(labels), self.classes_)
        self.codes_ = first if len(parts) == 1 else _joined(parts)
        total = len(self.codes_)
        if self.num_neighbours is None:
            self.num_neighbours_ = neighbours_for(first.epsilon, first.num_values, total)
        else:
            self._check_count(self.num_neighbours)
            self.num_neighbours_ = int(self.num_neighbours)
        return self

    def _check_count(self, count: Any) -> None:
        check_count("num_neighbours", count, low=1)
        if count > len(self.codes_):
            raise InvalidInput(
                f"num_neighbours must not exceed the training pictures, got {count} of "
                f"{len(self.codes_)}; use fewer neighbours or more pictures."
            )

    def _check_positions(self, codes: Codes) -> None:
        if codes.num_positions != self.n_features_in_:
            raise InvalidInput(
                f"X has {codes.num_positions} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )

    def _check_parameters(self) -> None:
        for name, value, known in (
            ("metric", self.metric, METRICS),
            ("weights", self.weights, WEIGHTS),
        ):
            if value not in known:
                raise InvalidInput(f"{name} must be one of {', '.join(known)}, got {value!r}.")
        if self.metric == "l2" and self.weights != "none":
            raise InvalidInput('weights belong to matches; use metric="hamming" with them.')


def _joined(parts: list[Codes]) -> Codes:
    first = parts[0]
    return Codes(
        values=np.concatenate([part.values for part in parts]),
        positions=None
        if first.positions is None
        else np.concatenate([part.positions for part in parts if part.positions is not None]),
        num_values=first.num_values,
        num_positions=first.num_positions,
        map_shape=first.map_shape,
        epsilon=first.epsilon,
        encoder=first.encoder,
        reproducible=any(part.reproducible for part in parts),
    )
