"""The exact output law of a mechanism, by enumeration of the code that ships.

A mechanism draws only through `RandomSource.coin` and `RandomSource.below`. Here these two
are answered by a source that goes through all their outcomes, each with its exact
probability as a fraction. What comes out is the law of the shipped sampler itself, not of a
formula about it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.odds import Coin, exp_bounds
from sfumato.core.randomness import RandomSource

_CHUNK = 1 << 20
_MAX_PATHS = 1 << 27

Output = tuple[int, ...]
Law = dict[Output, Fraction]


class Sampler(Protocol):
    """Anything that answers inputs 0 … n − 1 with rows of whole numbers."""

    def draw(self, true_words: NDArray[np.uint32], source: RandomSource, /) -> NDArray[Any]: ...


def output_law(sampler: Sampler, value: int) -> Law:
    """Every output the sampler can give to one input, with its exact probability."""
    draws = _recorded_draws(sampler, value)
    bounds = [draw for draw in draws if not isinstance(draw, Coin)]
    num_paths = prod(bounds)
    coins = [draw for draw in draws if isinstance(draw, Coin)]
    if num_paths << len(coins) > _MAX_PATHS:
        raise InvalidInput(
            f"the sampler has {num_paths << len(coins)} paths, at most {_MAX_PATHS} can be "
            "enumerated; use fewer words or a smaller subset."
        )
    law: dict[Output, Fraction] = defaultdict(Fraction)
    for sides in itertools.product((True, False), repeat=len(coins)):
        chances = [
            coin.probability if side else 1 - coin.probability
            for coin, side in zip(coins, sides, strict=True)
        ]
        weight = prod(chances, start=Fraction(1)) / num_paths
        if not weight:
            continue
        for start in range(0, num_paths, _CHUNK):
            paths = np.arange(start, min(start + _CHUNK, num_paths))
            script = _Scripted(draws, sides, paths)
            rows = np.asarray(sampler.draw(np.full(len(paths), value, dtype=np.uint32), script))
            outputs, index = distinct_rows(rows)
            for output, count in zip(outputs.tolist(), np.bincount(index).tolist(), strict=True):
                law[tuple(output)] += weight * count
    return dict(law)


@dataclass(frozen=True)
class LawCheck:
    """What the exact law says about a claim of ε."""

    mass_is_one: bool
    within_claim: bool  # worst ratio ≤ e^ε
    tight: bool  # worst ratio ≥ e^ε·(1 − 2^−32): not more noise than was asked for
    worst_ratio: Fraction | None  # None: some output betrays its input with certainty

    @property
    def holds(self) -> bool:
        return self.mass_is_one and self.within_claim and self.tight


def check_law(sampler: Sampler, num_inputs: int, epsilon: float) -> LawCheck:
    """Compare the laws of all inputs with each other, in fractions."""
    laws = [output_law(sampler, value) for value in range(num_inputs)]
    mass_is_one = all(sum(law.values()) == 1 for law in laws)
    ratio = worst_ratio(laws)
    low, high = exp_bounds(epsilon)
    return LawCheck(
        mass_is_one=mass_is_one,
        within_claim=ratio is not None and ratio <= low,
        tight=ratio is not None and ratio >= high * (1 - Fraction(1, 1 << 32)),
        worst_ratio=ratio,
    )


def worst_ratio(laws: list[Law]) -> Fraction | None:
    """The largest Pr(z|v)/Pr(z|v′) over all outputs and inputs; None if one is infinite."""
    worst = Fraction(0)
    for output in set().union(*laws):
        chances = [law.get(output, Fraction(0)) for law in laws]
        if not min(chances):
            return None
        worst = max(worst, max(chances) / min(chances))
    return worst


def distinct_rows(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The different rows, and for every row which of them it is.

    What np.unique(axis=0) does, many times faster: rows of few small numbers become one
    number each.
    """
    low = rows.min(axis=0).astype(np.int64)
    spans = [int(span) + 1 for span in rows.max(axis=0).astype(np.int64) - low]
    if prod(spans) > 1 << 62:
        outputs, index = np.unique(rows, axis=0, return_inverse=True)
        return outputs, index.reshape(-1)
    keys = np.zeros(len(rows), dtype=np.int64)
    for column, start, span in zip(rows.T, low, spans, strict=True):
        keys *= span
        keys += column.astype(np.int64) - start
    if prod(spans) <= 4 * len(rows):
        present = np.flatnonzero(np.bincount(keys, minlength=prod(spans)))
        number_of = np.zeros(prod(spans), dtype=np.int64)
        number_of[present] = np.arange(len(present))
        index = number_of[keys]
    else:
        present, index = np.unique(keys, return_inverse=True)
    first = np.empty(len(present), dtype=np.int64)
    first[index[::-1]] = np.arange(len(rows))[::-1]
    return rows[first], index


def _recorded_draws(sampler: Sampler, value: int) -> list[int | Coin]:
    recorder = _Recorder()
    sampler.draw(np.array([value], dtype=np.uint32), recorder)
    return recorder.draws


class _NoWords(RandomSource):
    """A source that has draws but no bits to read."""

    reproducible = True

    def words(self, count: int, bits: int) -> NoReturn:
        raise InvalidInput(
            "the sampler reads raw random words; only coin and below can be enumerated."
        )


class _Recorder(_NoWords):
    """Notes which draws one row takes."""

    def __init__(self) -> None:
        self.draws: list[int | Coin] = []

    def coin(self, coin: Coin, count: int) -> NDArray[np.bool_]:
        self.draws.append(coin)
        return np.zeros(count, dtype=np.bool_)

    def below(self, bound: int, count: int) -> NDArray[np.uint32]:
        self.draws.append(bound)
        return np.zeros(count, dtype=np.uint32)


class _Scripted(_NoWords):
    """Answers row i with path i: fixed sides for the coins, the digits of i for the rest."""

    def __init__(
        self, draws: list[int | Coin], sides: tuple[bool, ...], paths: NDArray[np.int64]
    ) -> None:
        self._draws = iter(draws)
        self._sides = iter(sides)
        self._paths = paths
        self._rest = paths.copy()

    def coin(self, coin: Coin, count: int) -> NDArray[np.bool_]:
        self._expect(coin, count)
        return np.full(count, next(self._sides))

    def below(self, bound: int, count: int) -> NDArray[np.uint32]:
        self._expect(bound, count)
        self._rest, digit = np.divmod(self._rest, bound)
        return digit.astype(np.uint32)

    def _expect(self, draw: int | Coin, count: int) -> None:
        if next(self._draws, None) != draw or count != len(self._paths):
            raise InvalidInput(
                "the draws of this sampler depend on what it drew before; its work is not "
                "constant and its law cannot be enumerated."
            )
