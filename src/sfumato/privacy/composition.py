"""Does a whole object keep what exact composition promises for it?

Two contents of one object, `count` descriptors each, all with different words. Every picture is
released on its own, as it would be sent, because answers that depend on each other within a
picture are just what composition forbids. Three procedures, each able to say no:

1. losses       the sum of the losses of a picture against its exact distribution, both contents
2. advantage    the best test between the two contents, against δ(0)
3. independence two descriptors in a small world: all pairs of outputs, against the product of the
                exact laws of one
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import SecureRandom
from sfumato.privacy.audit import clopper_pearson
from sfumato.privacy.law import Sampler, output_law
from sfumato.privacy.report import Check
from sfumato.privacy.subjects import shipped_subset

_ALPHA = 1e-8  # the chance that one procedure calls a correct mechanism broken
Make = Callable[[float, int, int], Sampler]


@dataclass(frozen=True)
class CompositionReport:
    """What `count` answers together should give away, what they do, and a verdict."""

    answer: PrivateAnswer
    count: int
    advantage_claimed: float
    advantage_measured: tuple[float, float]
    pictures: int
    checks: tuple[Check, ...]

    @property
    def verdict(self) -> str:
        return "consistent" if all(check.passed for check in self.checks) else "broken"


def audit_composition(
    answer: PrivateAnswer,
    *,
    count: int = 10,
    pictures: int = 20_000,
    make: Make = shipped_subset,
    progress: Progress = silent,
) -> CompositionReport:
    """Examine the answers to `count` descriptors of one object, as one picture sends them."""
    check_epsilon(answer.epsilon)
    num_words = answer.num_values or 2
    check_count("count", count, low=1, high=num_words // 2, why="contents need different words")
    check_count("pictures", pictures, low=1000)
    sampler = make(answer.epsilon, num_words, answer.subset_size)
    contents = np.arange(2 * count, dtype=np.uint32).reshape(2, count)
    sums = np.empty((2, pictures), dtype=np.int64)
    source = SecureRandom()
    for truth, row in itertools.product((0, 1), range(pictures)):
        if row % 1000 == 0:
            progress("pictures", truth * pictures + row, 2 * pictures)
        words = np.asarray(sampler.draw(contents[truth], source))
        first, second = ((words == content[:, None]).any(axis=1) for content in contents)
        sums[truth, row] = np.count_nonzero(first) - np.count_nonzero(second)
    progress("pictures", 2 * pictures, 2 * pictures)
    losses = answer.losses(count)
    expected = dict(zip(np.rint(losses.losses / answer.epsilon), losses.chances, strict=True))
    advantage, measured = _advantage(sums, Composition({answer: count}).advantage)
    return CompositionReport(
        answer=answer,
        count=count,
        advantage_claimed=Composition({answer: count}).advantage,
        advantage_measured=measured,
        pictures=pictures,
        checks=(_losses(sums, expected), advantage, _independence(answer, pictures, make)),
    )


def _losses(sums: NDArray[np.int64], expected: dict[float, float]) -> Check:
    """How often the loss of a picture is at least k·ε, two-sided, for every k."""
    steps = sorted(expected)
    pictures = sums.shape[1]
    wrong = []
    # Seen from the second content every loss has the opposite sign.
    for sign, row in ((1, sums[0]), (-1, sums[1])):
        for step in steps:
            share = min(sum(expected[other] for other in steps if other >= step), 1.0)
            hits = int(np.count_nonzero(sign * row >= step))
            low, high = clopper_pearson(hits, pictures, _ALPHA / (2 * len(steps)))
            if not low - 1e-12 <= share <= high + 1e-12:
                wrong.append(
                    f"a loss of {step:g}·ε or more: {share:.4g}, measured {low:.4g} to {high:.4g}"
                )
    return Check(
        "losses",
        not wrong,
        wrong[0] if wrong else f"as computed, {len(steps)} sums for both contents",
    )


def _advantage(sums: NDArray[np.int64], claimed: float) -> tuple[Check, tuple[float, float]]:
    """δ(0) by the best test: the first content whenever more of its words were sent."""
    pictures = sums.shape[1]
    intervals = [
        clopper_pearson(int(np.count_nonzero(row > 0)), pictures, _ALPHA / 2) for row in sums
    ]
    low = max(intervals[0][0] - intervals[1][1], 0.0)
    high = intervals[0][1] - intervals[1][0]
    inside = low <= claimed <= high
    detail = f"{claimed:.4g} computed, measured {low:.4g} to {high:.4g}"
    return Check("advantage", inside, detail), (low, high)


def _independence(answer: PrivateAnswer, pictures: int, make: Make) -> Check:
    """All pairs of outputs of two descriptors at ε = 1, against the product of their laws."""
    num_words = min(answer.num_values or 2, 4)
    size = min(answer.subset_size, num_words - 1)
    sampler = make(1.0, num_words, size)
    contents = np.array([0, num_words - 1], dtype=np.uint32)
    law = [output_law(shipped_subset(1.0, num_words, size), int(word)) for word in contents]
    outputs = {output: index for index, output in enumerate(sorted({*law[0], *law[1]}))}
    counts = np.zeros((len(outputs), len(outputs)), dtype=np.int64)
    source = SecureRandom()
    for _ in range(pictures):
        first, second = (tuple(row) for row in np.asarray(sampler.draw(contents, source)).tolist())
        if first not in outputs or second not in outputs:
            return Check("independence", False, "an answer that the law does not know")
        counts[outputs[first], outputs[second]] += 1
    for (first, i), (second, j) in itertools.product(outputs.items(), repeat=2):
        share = float(law[0].get(first, 0) * law[1].get(second, 0))
        low, high = clopper_pearson(int(counts[i, j]), pictures, _ALPHA / counts.size)
        if not low <= share <= high:
            detail = f"a pair of answers: {share:.4g}, measured {low:.4g} to {high:.4g}"
            return Check("independence", False, detail)
    return Check("independence", True, f"{counts.size} pairs of answers in a small world")
