"""How often each class answered each value at each position, kept while releases stream in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.odds import response_odds
from sfumato.core.codes import Codes
from sfumato.core.errors import InvalidInput, Mismatch

#: Tables are kept apart by ε; a server that meets more than this has no policy.
MAX_EPSILONS = 16
MAX_CELLS = 1 << 28
_BLOCK = 1 << 22  # codes counted at a time

Numbers = NDArray[np.float64]


class CodeCounts:
    """Whole-number counts (classes, positions, values), one table for each ε met.

    Answers of several ε are joined by what each is worth. An answer that keeps the signal by
    p − q has the variance of 1/(p − q)² clean ones about the uniform law, so it weighs
    (p − q)²; everything here is then in units of clean answers.
    """

    def __init__(self, num_classes: int, num_positions: int, num_values: int) -> None:
        self.shape = (num_classes, num_positions, num_values)
        if math.prod(self.shape) > MAX_CELLS:
            raise InvalidInput(
                f"{num_classes} classes × {num_positions} positions × {num_values} values are "
                f"more than {MAX_CELLS} counts; use fewer positions or values."
            )
        self.tables: dict[float, NDArray[np.int64]] = {}

    def add(self, codes: Codes, classes: NDArray[Any]) -> None:
        """Count the codes of pictures whose class indices are given."""
        _, num_positions, num_values = self.shape
        _check_epsilons({*self.tables, codes.epsilon})
        counted = self.tables.get(codes.epsilon)
        table = np.zeros(self.shape, dtype=np.int64) if counted is None else counted
        size = max(_BLOCK, table.size) // max(codes.num_sent, 1) + 1
        flat = table.reshape(-1)
        for start in range(0, len(codes), size):
            keys = flat_keys(codes.take(slice(start, start + size)))
            keys += classes[start : start + size, None] * (num_positions * num_values)
            flat += np.bincount(keys.ravel(), minlength=flat.size)
        self.tables[codes.epsilon] = table

    def merge(self, other: CodeCounts) -> None:
        """Add what another has counted. Whole numbers: the order of merging changes nothing."""
        if other.shape != self.shape:
            raise Mismatch(
                f"counts of {other.shape} classes, positions and values do not fit {self.shape}; "
                "learn from codes of one encoder and one list of classes."
            )
        _check_epsilons({*self.tables, *other.tables})
        for epsilon, table in other.tables.items():
            if epsilon in self.tables:
                self.tables[epsilon] += table
            else:
                self.tables[epsilon] = table.copy()

    def answers(self) -> NDArray[np.int64]:
        """(classes, positions): how many answers were counted."""
        total = np.zeros(self.shape[:2], dtype=np.int64)
        for table in self.tables.values():
            total += table.sum(axis=2)
        return total

    def evidence(self) -> Numbers:
        """(classes, positions): what the answers are worth, Σ (p − q)²·n."""
        total = np.zeros(self.shape[:2])
        for epsilon, table in self.tables.items():
            total += response_odds(epsilon, self.shape[2]).gap ** 2 * table.sum(axis=2)
        return total

    def debiased(self) -> Numbers:
        """(classes, positions, values): Σ (p − q)²·ĉ, unbiased counts of the same worth."""
        total = np.zeros(self.shape)
        for epsilon, table in self.tables.items():
            odds = response_odds(epsilon, self.shape[2])
            total += odds.gap * (table - odds.other * table.sum(axis=2, keepdims=True))
        return total

    def means(self) -> tuple[Numbers, Numbers]:
        """(classes, positions): the mean value, and the variance of that mean.

        The variance holds the noise and the chance of which pictures answered: an answer z
        has Var z = E z² − (E z)², both estimated from the counts. NaN where there is no answer.
        """
        values = np.arange(self.shape[2], dtype=np.float64)
        evidence = self.evidence()
        debiased = self.debiased()
        spread = np.zeros(self.shape[:2])
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = debiased @ values / evidence
            square = debiased @ values**2 / evidence
            for epsilon, table in self.tables.items():
                odds = response_odds(epsilon, self.shape[2])
                first = odds.gap * mean + odds.other * values.sum()
                second = odds.gap * square + odds.other * (values**2).sum()
                # Of n answers, weighted by (p − q)² and divided by p − q: (p − q)²·n·Var z.
                spread += odds.gap**2 * table.sum(axis=2) * np.maximum(second - first**2, 0)
            return mean, spread / evidence**2


def count_part(shape: tuple[int, int, int], part: tuple[Codes, NDArray[np.int64]]) -> CodeCounts:
    """The counts of some pictures, in a worker."""
    counts = CodeCounts(*shape)
    counts.add(*part)
    return counts


def _check_epsilons(epsilons: set[float]) -> None:
    if len(epsilons) > MAX_EPSILONS:
        raise InvalidInput(
            f"releases of more than {MAX_EPSILONS} different ε cannot be joined; learn from "
            "some of them."
        )


def flat_keys(codes: Codes) -> NDArray[np.int64]:
    """position·d + value for every code: (N, k)."""
    positions = np.arange(codes.num_positions) if codes.positions is None else codes.positions
    return np.asarray(positions.astype(np.int64) * codes.num_values + codes.values)
