"""The attacker who trains: on faces that were sent the same way, and never worse than a guess.

Several classifiers are tried on folds of the attacker's own faces. The best one is used if it is
better there than the commonest value; if none is, the commonest value is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.infer.attributes import Known, Labels

#: Strengths of the penalty that are tried: what is sent with much noise needs a strong one.
STRENGTHS = (0.0003, 0.003, 0.03, 0.3)
_FOLDS = 5
_CLEARLY = 1.0  # standard errors by which a classifier must beat the commonest value


@dataclass(frozen=True, eq=False)
class LearnedAttack:
    """A classifier of what an attacker computes from each release, chosen on held-out faces.

    Train it on faces that went through the same mechanism and the same recovery: an attacker who
    knows the defence does.
    classifier  None where nothing was better than the commonest value
    """

    classifier: Any
    majority: str

    @staticmethod
    def train(
        seen: NDArray[Any] | Sequence[NDArray[Any]], values: Labels | Sequence[str]
    ) -> LearnedAttack:
        """seen: (N, d) numbers for each face, or several tables of which the best is used."""
        tables = [seen] if isinstance(seen, np.ndarray) else list(seen)
        known = Known(np.asarray(tables[0]), np.asarray(values, dtype=np.str_))
        labels, majority = known.values, known.majority
        baseline = float((labels == majority).mean())
        best, chosen = baseline + _CLEARLY * np.sqrt(baseline * (1 - baseline) / len(labels)), None
        folds = _folds(labels)
        for place, table in enumerate(tables):
            for strength in STRENGTHS:
                right = _held_out(np.asarray(table), labels, folds, strength)
                if right > best:
                    best, chosen = right, (place, strength)
        if chosen is None:
            return LearnedAttack(None, majority)
        place, strength = chosen
        classifier = _classifier(strength).fit(np.asarray(tables[place]), labels)
        return LearnedAttack((place, classifier), majority)

    def infer(self, seen: NDArray[Any] | Sequence[NDArray[Any]]) -> Labels:
        """Values for releases, from the same tables as in training."""
        tables = [seen] if isinstance(seen, np.ndarray) else list(seen)
        if self.classifier is None:
            return np.full(len(tables[0]), self.majority)
        place, classifier = self.classifier
        return np.asarray(classifier.predict(np.asarray(tables[place])), dtype=np.str_)


def _classifier(strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=300))


def _folds(labels: Labels) -> NDArray[np.int64]:
    """A fold for every face, each value spread over all of them."""
    folds = np.empty(len(labels), dtype=np.int64)
    generator = np.random.default_rng(0)
    for name in np.unique(labels):
        rows = generator.permutation(np.flatnonzero(labels == name))
        folds[rows] = (np.arange(len(rows)) + generator.integers(_FOLDS)) % _FOLDS
    return folds


def _held_out(
    table: NDArray[Any], labels: Labels, folds: NDArray[np.int64], strength: float
) -> float:
    right = 0
    for fold in range(_FOLDS):
        inside = folds == fold
        if not inside.any() or len(np.unique(labels[~inside])) < 2:
            continue
        classifier = _classifier(strength).fit(table[~inside], labels[~inside])
        right += int((classifier.predict(table[inside]) == labels[inside]).sum())
    return right / len(labels)
