"""Pairs of faces that are or are not one person, in folds [LFW's protocol].

No person is in two folds, so a threshold is never judged on people it was chosen with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.frozen import Frozen, frozen_array

NUM_FOLDS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Frozen):
    """first and second are rows of a list of pictures; `folds` number from 0.

    All four are (P,): first and second int64, same bool, folds int64.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    same: NDArray[np.bool_]
    folds: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name, dtype in (
            ("first", np.int64),
            ("second", np.int64),
            ("same", np.bool_),
            ("folds", np.int64),
        ):
            self._set(name, frozen_array(name, getattr(self, name), dtype))
        if len({len(x) for x in (self.first, self.second, self.same, self.folds)}) != 1:
            raise InvalidInput("pairs need a first, a second, a same and a fold each.")
        if len(self) and min(int(self.first.min()), int(self.second.min())) < 0:
            raise InvalidInput("pairs name pictures by rows from 0, one is negative.")
        check_folds(self.same, self.folds)

    def __len__(self) -> int:
        return len(self.first)

    @property
    def num_folds(self) -> int:
        return int(self.folds.max()) + 1


def check_folds(same: NDArray[np.bool_], folds: NDArray[np.int64]) -> None:
    """Refuse folds in which one of the two answers never is the right one."""
    numbers = np.unique(folds)
    if len(numbers) < 2 or not np.array_equal(numbers, np.arange(len(numbers))):
        raise InvalidInput(
            "pairs need at least 2 folds, numbered from 0 without a gap: a threshold is chosen on "
            f"the other folds; got {len(numbers)}."
        )
    for fold in numbers:
        inside = same[folds == fold]
        if inside.all() or not inside.any():
            raise InvalidInput(
                f"every fold needs pairs of one person and pairs of two, fold {fold + 1} of "
                f"{len(numbers)} has {int(inside.sum())} and {int((~inside).sum())}; draw or split "
                "them anew."
            )


def draw_pairs(
    identities: Sequence[str],
    *,
    num_folds: int = NUM_FOLDS,
    num_each: int = 100,
    seed: int = 0,
) -> Pairs:
    """Pairs from pictures with known people, the same ones for the same seed.

    People are dealt out to folds; in each fold up to `num_each` pairs of one person and as many
    of two are drawn among its pictures, without repetition.
    """
    check_count("num_folds", num_folds, low=2)
    check_count("num_each", num_each, low=1)
    people = sorted(set(identities))
    if len(people) < 2 * num_folds:
        raise InvalidInput(
            f"{num_folds} folds need at least {2 * num_folds} people, two in each, got "
            f"{len(people)}; ask for fewer folds."
        )
    generator = np.random.default_rng(seed)
    dealt = generator.permutation(len(people))
    fold_of = {people[person]: number % num_folds for number, person in enumerate(dealt)}
    who = np.array([people.index(name) for name in identities])
    where = np.array([fold_of[name] for name in identities])
    parts: list[NDArray[np.int64]] = []
    for fold in range(num_folds):
        rows = np.flatnonzero(where == fold)
        i, j = np.triu_indices(len(rows), 1)
        alike = who[rows[i]] == who[rows[j]]
        groups = [np.flatnonzero(alike), np.flatnonzero(~alike)]
        count = min(num_each, *(len(group) for group in groups))
        if not count:
            raise InvalidInput(
                f"every fold needs two pictures of one person, the {len(rows)} of fold {fold + 1} "
                "are all of different people; ask for fewer folds."
            )
        for is_same, group in zip((1, 0), groups, strict=True):
            chosen = np.sort(generator.choice(group, count, replace=False))
            drawn = np.stack([rows[i[chosen]], rows[j[chosen]]], axis=1)
            facts = np.tile([is_same, fold], (count, 1))
            parts.append(np.concatenate([drawn, facts], axis=1))
    table = np.concatenate(parts)
    return Pairs(table[:, 0], table[:, 1], table[:, 2] == 1, table[:, 3])


def split_people(
    identities: Sequence[str], num_public: int, *, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of people who serve as the public ones, and rows of all others."""
    people = sorted(set(identities))
    check_count(
        "num_public",
        num_public,
        low=0,
        high=len(people) - 1,
        why="somebody must be left to be verified",
    )
    order = np.random.default_rng(seed).permutation(len(people))
    public = {people[i] for i in order[:num_public]}
    is_public = np.array([name in public for name in identities], dtype=np.bool_)
    return np.flatnonzero(is_public), np.flatnonzero(~is_public)
