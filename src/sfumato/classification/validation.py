"""Settings are chosen on a part of the training pictures, never on test pictures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sfumato.core.checks import as_number
from sfumato.core.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Choice:
    """The best of some learners, not fitted, and how each fared on the held-out pictures."""

    best: Any
    scores: tuple[tuple[Any, float], ...]


def hold_out(
    labels: NDArray[Any], share: float, *, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to learn from and rows to judge by; every class has its share among both.

    >>> hold_out(np.array([5, 5, 5, 6, 6, 6]), share=0.34)
    (array([0, 1, 3, 4]), array([2, 5]))
    """
    if not 0 < as_number("share", share) < 1:
        raise InvalidInput(f"share must lie between 0 and 1, got {share!r}.")
    values = np.asarray(labels)
    generator = np.random.default_rng(seed)
    held = np.zeros(len(values), dtype=np.bool_)
    for name in np.unique(values):
        rows = generator.permutation(np.flatnonzero(values == name))
        if len(rows) < 2:
            raise InvalidInput(
                f"every class needs at least 2 pictures to hold one out, one class has {len(rows)};"
                " leave it out or get more pictures of it."
            )
        held[rows[: min(max(round(share * len(rows)), 1), len(rows) - 1)]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def choose(learners: Iterable[Any], train: tuple[Any, Any], judge: tuple[Any, Any]) -> Choice:
    """Fit each learner on `train` and score it on `judge`; the first of equals wins.

    >>> from sfumato.classification import DebiasedNaiveBayes
    >>> learners = [DebiasedNaiveBayes(alpha=alpha) for alpha in (0.1, 1.0)]
    >>> train = [[0, 0], [0, 1], [3, 2], [3, 3]], list("aabb")
    >>> choose(learners, train, judge=([[0, 3]], ["a"])).best.alpha
    0.1
    """
    scores = []
    for learner in learners:
        fitted = clone(learner).fit(*train)
        scores.append((learner, float(fitted.score(*judge))))
    if not scores:
        raise InvalidInput("at least one learner is needed to choose from.")
    best = max(scores, key=lambda pair: pair[1])[0]
    return Choice(best, tuple(scores))
