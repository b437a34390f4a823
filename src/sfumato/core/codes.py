"""Codes of many pictures at once: what encoders make, randomized response sends, learners read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count, check_epsilon, check_indices, check_shape
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.frozen import Frozen, check_extractor_name
from sfumato.core.releases import MAX_WORDS, CodeRelease

MapShape = tuple[int, int, int]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Codes(Frozen):
    """k codes of each of N pictures, all made with the same settings.

    values     (N, k) unsigned, in {0, …, num_values − 1}
    positions  (N, k) strictly increasing rows in {0, …, num_positions − 1}; None where every
               picture has all of its codes, k = num_positions
    map_shape  (channels, height, width) of the code map, its product is num_positions; None
               where the codes have no places. Position i is the C-order index into it.
    epsilon    the guarantee per code, ∞ for clean codes; a picture's k codes compose to k·ε.
               Labels lie outside.
    """

    values: NDArray[Any]
    num_values: int  # d
    num_positions: int  # m
    positions: NDArray[np.uint32] | None = None
    map_shape: MapShape | None = None
    epsilon: float = math.inf
    encoder: str = "codes"
    reproducible: bool = False  # made with a known seed: never send such codes

    def __post_init__(self) -> None:
        check_count("num_values", self.num_values, low=2, high=MAX_WORDS)
        check_count("num_positions", self.num_positions, low=1, high=MAX_WORDS)
        self._set("epsilon", check_epsilon(self.epsilon, allow_infinite=True))
        self._set("encoder", check_extractor_name(self.encoder))
        values = check_indices("codes", self.values, self.num_values)
        check_shape("codes", values, (None, None))
        self._set("values", values.astype(code_type(self.num_values), copy=False))
        if self.positions is not None:
            self._set("positions", self._checked_positions())
        elif values.shape[1] != self.num_positions:
            raise InvalidInput(
                f"without positions every picture must have all {self.num_positions} codes, got "
                f"{values.shape[1]}; say which ones they are."
            )
        if self.map_shape is not None:
            self._set("map_shape", check_map_shape(self.map_shape, self.num_positions))

    def _checked_positions(self) -> NDArray[np.uint32]:
        positions = check_indices("positions", self.positions, self.num_positions)
        check_shape("positions", positions, self.values.shape)
        if not (positions[:, 1:] > positions[:, :-1]).all():
            raise InvalidInput("the positions of every picture must be strictly increasing.")
        return positions.astype(np.uint32, copy=False)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        bound = "clean" if math.isinf(self.epsilon) else f"ε = {self.epsilon:g} per code"
        return (
            f"Codes({len(self)} pictures × {self.num_sent} of {self.num_positions} codes in "
            f"[{self.num_values}], {bound})"
        )

    @property
    def num_sent(self) -> int:
        """k, the codes each picture has."""
        return int(self.values.shape[1])

    @property
    def picture_epsilon(self) -> float:
        """What all codes of one picture compose to: k·ε."""
        return self.epsilon * self.num_sent if self.num_sent else 0.0

    def take(self, rows: NDArray[Any] | slice) -> Codes:
        """Some of the pictures, in this order."""
        return Codes(
            values=self.values[rows],
            positions=None if self.positions is None else self.positions[rows],
            **self._kind(),
        )

    def blocks(self, size: int) -> Iterator[Codes]:
        """The same pictures, `size` at a time."""
        for start in range(0, len(self), size):
            yield self.take(slice(start, start + size))

    def releases(self) -> Iterator[CodeRelease]:
        """One release per picture, as it would travel."""
        every = np.arange(self.num_positions, dtype=np.uint32)
        for row in range(len(self)):
            yield CodeRelease(
                codes=self.values[row],
                positions=every if self.positions is None else self.positions[row],
                num_values=self.num_values,
                num_positions=self.num_positions,
                epsilon=self.epsilon,
                encoder=self.encoder,
                reproducible=self.reproducible,
            )

    def _kind(self) -> dict[str, Any]:
        bulk = ("values", "positions")
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in bulk
        }


def group_releases(
    releases: Iterable[CodeRelease], *, map_shape: MapShape | None = None
) -> list[tuple[Codes, NDArray[np.int64]]]:
    """Releases of one encoder as few `Codes`: one for each ε and each number of codes sent.

    Each comes with the places of its rows among the releases; order is kept within it.
    """
    groups: dict[tuple[float, int], list[tuple[int, CodeRelease]]] = {}
    first: CodeRelease | None = None
    for place, release in enumerate(releases):
        first = first or release
        _check_same_codes(first, release)
        groups.setdefault((release.epsilon, len(release)), []).append((place, release))
    return [
        (_stacked([release for _, release in rows], map_shape), np.array([i for i, _ in rows]))
        for rows in groups.values()
    ]


def _stacked(releases: list[CodeRelease], map_shape: MapShape | None) -> Codes:
    first = releases[0]
    complete = len(first) == first.num_positions
    return Codes(
        values=np.stack([release.codes for release in releases]),
        positions=None if complete else np.stack([release.positions for release in releases]),
        num_values=first.num_values,
        num_positions=first.num_positions,
        map_shape=map_shape,
        epsilon=first.epsilon,
        encoder=first.encoder,
        reproducible=any(release.reproducible for release in releases),
    )


def _check_same_codes(first: CodeRelease, other: CodeRelease) -> None:
    for name in ("encoder", "num_values", "num_positions"):
        expected, got = getattr(first, name), getattr(other, name)
        if got != expected:
            raise Mismatch(
                f"releases must come from one encoder, got {name} {got!r} after {expected!r}; "
                "learn from each encoder's releases apart."
            )


def code_type(num_values: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type that holds every code."""
    return np.uint8 if num_values <= 1 << 8 else np.uint16 if num_values <= 1 << 16 else np.uint32


def check_map_shape(map_shape: Any, num_positions: int) -> MapShape:
    """Return (channels, height, width), whose product must be the number of positions."""
    try:
        shape = tuple(int(length) for length in map_shape)
    except (TypeError, ValueError):
        shape = ()
    if len(shape) != 3 or min(shape) < 1 or math.prod(shape) != num_positions:
        raise InvalidInput(
            f"map_shape must be (channels, height, width) with a product of {num_positions}, "
            f"got {map_shape!r}."
        )
    return shape
