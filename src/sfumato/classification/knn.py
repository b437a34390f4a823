"""K nearest neighbours among perturbed pictures."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sfumato.classification.learner import Arrays, Learner, split_rows, stored_shape
from sfumato.classification.match_weights import log_odds, match_weights
from sfumato.classification.neighbours import Matches, Scorer, SquaredDistances, Tables, nearest
from sfumato.classification.odds import response_odds
from sfumato.core.checks import check_choice, check_count
from sfumato.core.codes import Codes
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.execution import current

WEIGHTS = ("none", "log-odds")


def neighbours_for(epsilon: float, num_values: int, num_pictures: int) -> int:
    """How many neighbours to ask: K = 8 + 1.5/(p − q)², at most all of them.

    Of each code a share p − q survives randomized response, so the distance of a picture says
    (p − q)² as much about it as its clean distance, and more of them must be averaged.

    >>> [neighbours_for(epsilon, num_values=2, num_pictures=60_000) for epsilon in (4.0, 0.5)]
    [10, 33]
    """
    gap = response_odds(epsilon, num_values).gap
    return max(min(round(8 + 1.5 / gap**2), num_pictures), 1)


@dataclass(eq=False, repr=False)
class PerturbedKNN(Learner):
    """The majority among the K perturbed pictures that are nearest to a clean one.

    Equal distances go to the picture that came first, equal votes to the first class.

    num_neighbours  K; None takes 8 + 1.5/(p − q)² (`neighbours_for`)
    metric          "hamming" counts positions with equal codes; "l2" is the paper's, which takes
                    codes for quantities (d = 2: the same order)
    weights         "log-odds": a match counts the more, the rarer the answer is at its position
    num_values      d; None takes it from `Codes`, or from clean codes themselves
    epsilon         ε per code of the training data; None takes that of `Codes`, or clean

    >>> learner = PerturbedKNN(2, num_values=10).fit([[0, 0], [0, 1], [3, 2], [3, 3]], list("aabb"))
    >>> learner.predict([[0, 9], [3, 9]])
    array(['a', 'b'], dtype='<U1')
    """

    name: ClassVar[str] = "knn"

    num_neighbours: int | None = None
    _: KW_ONLY
    metric: str = "hamming"
    weights: str = "none"
    num_values: int | None = None
    epsilon: float | None = None

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The class with most votes."""
        shares = self.predict_proba(X)
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """(N, classes), the share of the K neighbours in each class."""
        check_is_fitted(self, "classes_")
        return np.asarray(self.votes(X, (self.num_neighbours_,))[0])

    def votes(self, X: Any, counts: tuple[int, ...]) -> NDArray[np.float64]:  # noqa: N803
        """(len(counts), N, classes): shares of votes for several K from one search."""
        rows, _ = self.kneighbors(X, max(counts))
        labels = self.labels_[rows]
        shares = np.empty((len(counts), len(rows), len(self.classes_)))
        for k, count in enumerate(counts):
            for number in range(len(self.classes_)):
                shares[k, :, number] = (labels[:, :count] == number).mean(axis=1)
        return shares

    def kneighbors(
        self,
        X: Any,  # noqa: N803
        num_neighbours: int | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Rows (N, K) of the nearest training pictures, nearest first, and their scores."""
        queries = self._queries(X)
        count = self.num_neighbours_ if num_neighbours is None else num_neighbours
        self._check_count(count)
        if queries.positions is not None:
            raise InvalidInput(
                f"a picture to classify needs all {queries.num_positions} codes, got "
                f"{queries.num_sent}; only training pictures may be partial."
            )
        parts = [queries.values[rows] for rows in split_rows(len(queries), current().workers)]
        given = (self._scorer(), len(self.codes_), count)
        found = list(current().map(_nearest_part, parts, *given, threads=1))
        rows, scores = (np.concatenate(one) for one in zip(*found, strict=True))
        return rows, scores

    def epsilons(self) -> list[float]:
        return [self.codes_.epsilon]

    def _start(self, codes: Codes, classes: NDArray[Any]) -> None:
        self._check_parameters()
        super()._start(codes, classes)
        self.codes_ = codes.take(slice(0))
        self.labels_ = np.zeros(0, dtype=np.int64)

    def _add(self, codes: Codes, classes: NDArray[np.int64]) -> None:
        self._check_parameters()
        if codes.num_sent != self.codes_.num_sent:
            raise Mismatch(
                f"every picture must send {self.codes_.num_sent} codes as the first ones did, "
                f"got {codes.num_sent}; learn from each kind apart."
            )
        self.codes_ = _joined(self.codes_, codes) if len(self.codes_) else codes
        self.labels_ = np.concatenate([self.labels_, classes])
        if self.num_neighbours is None:
            self.num_neighbours_ = neighbours_for(codes.epsilon, codes.num_values, len(self.codes_))
        else:
            self._check_count(self.num_neighbours)
            self.num_neighbours_ = int(self.num_neighbours)

    def _merge(self, other: Self) -> None:
        self._add(other.codes_, other.labels_)

    def _expected_epsilon(self) -> float | None:
        return self.codes_.epsilon

    def _arrays(self) -> Arrays:
        """The answers themselves, packed to the bits they need: all that a server had."""
        codes = self.codes_
        bits = (codes.num_values - 1).bit_length()
        planes = [np.packbits((codes.values >> bit) & 1, axis=1) for bit in range(bits)]
        none = np.zeros((0, 0), np.uint32)
        return {
            "values": np.stack(planes),
            "positions": none if codes.positions is None else codes.positions,
            "sizes": np.array([codes.num_values, codes.num_positions, codes.num_sent]),
            "map_shape": np.array(codes.map_shape or (), dtype=np.int64),
            "epsilon": np.array(codes.epsilon),
            "answers_from": np.array(codes.encoder),
            "reproducible": np.array(codes.reproducible),
            "labels": self.labels_,
        }

    def _restore(self, arrays: Arrays, classes: NDArray[Any]) -> None:
        num_values, num_positions, num_sent = (int(size) for size in arrays["sizes"])
        planes, positions = arrays["values"], arrays["positions"]
        if planes.dtype != np.uint8 or planes.ndim != 3 or not 1 <= len(planes) <= 32:
            raise InvalidInput("its codes are no codes")
        values = np.zeros((planes.shape[1], num_sent), dtype=np.uint32)
        for bit, plane in enumerate(planes):
            bits = np.unpackbits(plane, axis=1, count=num_sent)
            values |= bits.astype(np.uint32) << np.uint32(bit)
        codes = Codes(
            values=values,
            num_values=num_values,
            num_positions=num_positions,
            positions=positions if positions.size else None,
            map_shape=stored_shape(arrays),
            epsilon=float(arrays["epsilon"]),
            encoder=str(arrays["answers_from"]),
            reproducible=bool(arrays["reproducible"]),
        )
        labels = np.asarray(arrays["labels"])
        if labels.dtype.kind not in "iu" or labels.shape != (len(codes),):
            raise InvalidInput("its labels do not fit its codes")
        if len(labels) == 0 or labels.min() < 0 or labels.max() >= len(classes):
            raise InvalidInput("its labels do not fit its classes")
        self._start(codes, classes)
        self._add(codes, labels.astype(np.int64))

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

    def _check_count(self, count: Any) -> None:
        check_count("num_neighbours", count, low=1)
        if count > len(self.codes_):
            raise InvalidInput(
                f"num_neighbours must not exceed the training pictures, got {count} of "
                f"{len(self.codes_)}; use fewer neighbours or more pictures."
            )

    def _check_parameters(self) -> None:
        check_choice("metric", self.metric, ("hamming", "l2"))
        check_choice("weights", self.weights, WEIGHTS)
        if self.metric == "l2" and self.weights != "none":
            raise InvalidInput('weights belong to matches; use metric="hamming" with them.')


def _nearest_part(
    scorer: Scorer, num_known: int, count: int, queries: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    return nearest(scorer, queries, num_known, count)


def _joined(first: Codes, more: Codes) -> Codes:
    positions = None
    if first.positions is not None and more.positions is not None:
        positions = np.concatenate([first.positions, more.positions])
    return replace(
        first,
        values=np.concatenate([first.values, more.values]),
        positions=positions,
        reproducible=first.reproducible or more.reproducible,
    )
