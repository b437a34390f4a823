"""hybrid+: lifting through words of another gender, race … than the subject's [affine §4.3].

No guarantee exists. The device must know the subject's own value, and the words their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import RandomSource, check_source, draw_distinct
from sfumato.core.releases import SubspaceRelease
from sfumato.core.types import Camera, Features, PrivacyEvent
from sfumato.device.mechanisms.base import release_fields
from sfumato.device.mechanisms.lifting import NO_EPSILON, Doubles, SubspaceLifting
from sfumato.dictionary import Dictionary

BALANCES = ("different", "even")


@dataclass(frozen=True)
class BalancedLifting:
    """No guarantee: hybrid lifting whose words are chosen by the value of one attribute.

    dimension  m; the first ⌊m/2⌋ directions lead to words, the others are random
    database   public faces
    values     the attribute of each word of the database
    balance    different: all words have other values than the subject [affine, "hybrid+"]
               even: subject and words together have every value equally often; where that
               cannot be, it is drawn which values appear once more
    subject    the value of the person in the pictures; `release` needs it, `lift` takes values

    It hides the attribute from who looks at the subspace. Who knows the database and its values
    finds the words the subspace passes through, reads their values, and with two values knows the
    subject's at once: see `adversary/infer/attributes.py`. Keep the database secret, or use none.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> faces = np.random.default_rng(1).normal(size=(6, 128)).astype(np.float32)
    >>> public = sf.Dictionary.from_words(faces, extractor="sift")
    >>> lifting = sf.BalancedLifting(4, public, ["young", "old"] * 3, subject="old")
    >>> lifting.release(features, rng=sf.SecureRandom())
    SubspaceRelease(16 keypoints, 4-dimensional subspaces, no guarantee)
    """

    dimension: int
    database: Dictionary
    values: Sequence[str]
    balance: str = "different"
    subject: str | None = None
    _by_value: dict[str, NDArray[np.uint32]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.balance not in BALANCES:
            raise InvalidInput(f"balance must be different or even, got {self.balance!r}.")
        given = np.asarray(self.values)
        if given.shape != (self.database.num_words,):
            raise InvalidInput(
                f"each of the {self.database.num_words} words needs one value, got {given.shape}."
            )
        names = sorted({str(value) for value in given})
        if len(names) < 2:
            raise InvalidInput(
                f"an attribute must have at least two values to be balanced, the words have "
                f"{len(names)}; use hybrid lifting."
            )
        rows = {name: np.flatnonzero(given == name).astype(np.uint32) for name in names}
        object.__setattr__(self, "_by_value", rows)
        most = self._num_words // len(names) + 1 if self.balance == "even" else self._num_words
        for name in names:
            others = [len(group) for value, group in rows.items() if value != name]
            enough = min(others) if self.balance == "even" else sum(others)
            if enough < most:
                raise InvalidInput(
                    f"hybrid+ lifting to {self.dimension} dimensions needs {most} words of "
                    f"suitable values for every subject, the database has {enough}."
                )

    no_epsilon: ClassVar[str] = NO_EPSILON

    def event(self, features: Features) -> PrivacyEvent:
        event = self._hybrid().event(features)
        return replace(event, mechanism=f"lifting (hybrid+, m = {self.dimension})")

    def release(
        self, features: Features, *, rng: RandomSource, camera: Camera | None = None
    ) -> SubspaceRelease:
        source = check_source(rng)
        if self.subject is None:
            raise InvalidInput(
                "hybrid+ lifting needs subject=, the attribute of the person in the pictures, one "
                f"of {', '.join(self._by_value)}."
            )
        self._hybrid().event(features)  # refuses features of another kind
        offsets, bases = self.lift(features.descriptors, [self.subject] * len(features), source)
        return SubspaceRelease(
            offsets=offsets.astype(np.float32),
            bases=bases.astype(np.float32),
            **release_fields(features, camera, source),
        )

    def _hybrid(self) -> SubspaceLifting:
        return SubspaceLifting("hybrid", self.dimension, self.database)

    @property
    def _num_words(self) -> int:
        return self.dimension // 2

    def lift(
        self, descriptors: NDArray[Any], values: Sequence[str], source: RandomSource
    ) -> tuple[Doubles, Doubles]:
        """Subspaces of descriptors with these values: (N, n) → (N, n), (N, m, n)."""
        own = np.array([str(value) for value in values])
        if own.shape != (len(descriptors),):
            raise InvalidInput(
                f"each of the {len(descriptors)} descriptors needs one value, got {own.shape}."
            )
        offsets = np.empty(descriptors.shape)
        bases = np.empty((len(descriptors), self.dimension, descriptors.shape[1]))
        for name in np.unique(own):
            mine = np.flatnonzero(own == name)
            for rows, groups, sizes in self._choices(str(name), mine, source):
                made = _FromGroups("hybrid", self.dimension, self.database, groups=groups,
                                   sizes=sizes)  # fmt: skip
                offsets[rows], bases[rows] = made.lift(descriptors[rows], source)
        return offsets, bases

    def _choices(
        self, name: str, rows: NDArray[np.int64], source: RandomSource
    ) -> Iterator[tuple[NDArray[np.int64], tuple[NDArray[np.uint32], ...], tuple[int, ...]]]:
        """Rows of subjects with one value, and how many words each takes from which groups."""
        if self.balance == "different":
            others = [group for value, group in self._by_value.items() if value != name]
            yield rows, (np.concatenate(others),), (self._num_words,)
            return
        names = list(self._by_value)
        if name not in names:
            names.append(name)
        groups = tuple(self._by_value.get(value, np.zeros(0, dtype=np.uint32)) for value in names)
        own_index = names.index(name)
        for chosen, which in self._extras(len(names), own_index, len(rows), source):
            counts = np.full(len(names), (self._num_words + 1) // len(names))
            counts[chosen] += 1
            counts[own_index] -= 1  # the subject itself
            yield rows[which], groups, tuple(int(count) for count in counts)

    def _extras(
        self, num_values: int, own_index: int, count: int, source: RandomSource
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Which values appear once more where they cannot be equal: drawn, so it tells nothing.

        Where there are fewer words than values the subject's own must be among them.
        """
        whole, left = divmod(self._num_words + 1, num_values)
        if whole:
            columns = draw_distinct(num_values, left, count, source) if left else []
        else:
            columns = draw_distinct(num_values - 1, left - 1, count, source) if left > 1 else []
            columns = [column + (column >= own_index) for column in columns]
            columns.append(np.full(count, own_index, dtype=np.uint32))
        if not columns:
            yield np.zeros(0, dtype=np.int64), np.arange(count)
            return
        drawn = np.sort(np.stack(columns, axis=1).astype(np.int64), axis=1)
        kinds, which = np.unique(drawn, axis=0, return_inverse=True)
        for number, kind in enumerate(kinds):
            yield kind, np.flatnonzero(which.ravel() == number)


@dataclass(frozen=True)
class _FromGroups(SubspaceLifting):
    """Hybrid lifting that takes so many words from each of several groups."""

    groups: tuple[NDArray[np.uint32], ...] = ()
    sizes: tuple[int, ...] = ()

    def _draw_rows(
        self, num_words: int, count: int, source: RandomSource
    ) -> list[NDArray[np.uint32]]:
        return [
            group[column]
            for group, size in zip(self.groups, self.sizes, strict=True)
            if size
            for column in draw_distinct(len(group), size, count, source)
        ]
