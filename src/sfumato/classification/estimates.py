"""What n randomized answers say about the values behind them: frequencies and their mean.

All functions read counts along the last axis, so one call serves every position and class.
The variances are those of the noise alone, for n pictures as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.odds import response_odds
from sfumato.core.checks import check_finite
from sfumato.core.errors import InvalidInput

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """An unbiased estimate, and its variance estimated from the same answers."""

    value: Numbers
    variance: Numbers


def count_answers(answers: NDArray[Any], num_values: int) -> NDArray[np.int64]:
    """How often each value was answered: (n,) or (n, m) → (d,) or (m, d).

    >>> count_answers(np.array([0, 2, 2]), num_values=3)
    array([1, 0, 2])
    """
    array = np.asarray(answers)
    if array.dtype.kind not in "iu" or array.ndim not in (1, 2):
        raise InvalidInput(
            f"answers must be whole numbers of shape (n,) or (n, m), got {array.dtype} of shape "
            f"{array.shape}."
        )
    if array.size and not (array.min() >= 0 and array.max() < num_values):
        raise InvalidInput(f"answers must lie between 0 and {num_values - 1}.")
    columns = array.reshape(len(array), -1)
    keys = columns.astype(np.int64) + num_values * np.arange(columns.shape[1])
    counts = np.bincount(keys.ravel(), minlength=num_values * columns.shape[1])
    return counts.reshape(*array.shape[1:], num_values)


def estimate_counts(observed: NDArray[Any], epsilon: float) -> Estimate:
    """ĉ(v) = (count(v) − n·q)/(p − q) [dcaconv, eq. 13]; its variance is eq. 18 at ĉ.

    >>> estimate = estimate_counts(np.array([70, 30]), epsilon=1.0)
    >>> estimate.value.round(1), np.sqrt(estimate.variance).round(1)
    (array([93.3,  6.7]), array([9.6, 9.6]))
    """
    counts = _checked(observed)
    odds = response_odds(epsilon, counts.shape[-1])
    value = (counts - odds.other * counts.sum(axis=-1, keepdims=True)) / odds.gap
    return Estimate(value, np.maximum(count_variance(value, epsilon), 0))


def count_variance(truth: NDArray[Any], epsilon: float) -> Numbers:
    """Var ĉ(v) = [c·p(1 − p) + (n − c)·q(1 − q)]/(p − q)², eq. 18 written per answer."""
    counts = np.asarray(truth, dtype=np.float64)
    odds = response_odds(epsilon, counts.shape[-1])
    others = counts.sum(axis=-1, keepdims=True) - counts
    kept = odds.keep * (1 - odds.keep)
    drawn = odds.other * (1 - odds.other)
    return np.asarray((counts * kept + others * drawn) / odds.gap**2)


def estimate_frequencies(observed: NDArray[Any], epsilon: float) -> Estimate:
    """f̂(v) = ĉ(v)/n; they sum to one exactly, and single ones may lie outside [0, 1].

    >>> estimate_frequencies(np.array([70, 30]), epsilon=1.0).value.round(3)
    array([0.933, 0.067])
    """
    counts = _checked(observed)
    total = _answers(counts)[..., None]
    estimate = estimate_counts(counts, epsilon)
    return Estimate(estimate.value / total, estimate.variance / total**2)


def estimate_mean(observed: NDArray[Any], epsilon: float) -> Estimate:
    """μ̂ = Σ v·ĉ(v)/n [dcaconv, eq. 20].

    Dividing by Σ ĉ(v) instead [eq. 28] is the same thing, since Σ ĉ(v) = n whatever was drawn.

    >>> float(estimate_mean(np.array([70, 30]), epsilon=1.0).value.round(3))
    0.067
    """
    counts = _checked(observed)
    total = _answers(counts)
    estimate = estimate_counts(counts, epsilon).value
    value = estimate @ np.arange(counts.shape[-1]) / total
    return Estimate(value, np.maximum(mean_variance(estimate, epsilon), 0))


def mean_variance(truth: NDArray[Any], epsilon: float) -> Numbers:
    """Var μ̂ = n⁻²(p − q)⁻² Σ_i [p·x² + q(S2 − x²) − (p·x + q(S1 − x))²].

    Each bracket is the variance of one answer to x; S1 = Σv and S2 = Σv². The paper adds
    the variances v²·Var ĉ(v) as if counts were independent [dcaconv, eq. 27]: they sum to
    n, so their covariances are negative and do not vanish.
    """
    counts = np.asarray(truth, dtype=np.float64)
    odds = response_odds(epsilon, counts.shape[-1])
    values = np.arange(counts.shape[-1], dtype=np.float64)
    expected = odds.gap * values + odds.other * values.sum()
    squares = odds.gap * values**2 + odds.other * (values**2).sum()
    total = counts.sum(axis=-1)
    return np.asarray(counts @ (squares - expected**2) / (odds.gap * total) ** 2)


def _checked(observed: NDArray[Any]) -> Numbers:
    counts = np.asarray(observed, dtype=np.float64)
    if counts.ndim < 1 or counts.shape[-1] < 2:
        raise InvalidInput(
            f"counts of at least 2 values are needed along the last axis, got shape {counts.shape}."
        )
    check_finite("counts", counts)
    if counts.size and counts.min() < 0:
        raise InvalidInput("observed counts must not be negative.")
    return counts


def _answers(counts: Numbers) -> Numbers:
    total = np.asarray(counts.sum(axis=-1))
    if not (total > 0).all():
        raise InvalidInput("an estimate needs at least one answer everywhere, some have none.")
    return total
