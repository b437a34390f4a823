"""Affine subspaces, prepared once for distances to many others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_finite, check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.threads import on_all_cores

Array = NDArray[Any]

#: Rows of a stack in one tile: a product of 512 × 512 single-precision values takes 1 MiB.
TILE_ROWS = 512
#: Subspaces the kernel solves side by side (its LANES; not imported, numba loads slowly).
STRIP = 32
#: Rows of a basis may be this far from orthonormal; they are orthonormalised here.
ORTHONORMAL = 0.02


@dataclass(frozen=True, eq=False, repr=False)
class Subspaces:
    """N affine subspaces {d0 + Dᵀx}, or N points (m = 0), ready for distances.

    offsets  (N, n)     any point of each subspace
    bases    (N, m, n)  orthonormal rows; 0 ≤ m ≤ n
    float16 and float32 are computed in float32 (unsure pairs in float64), float64 in float64.

    >>> lines = sf.distances.Subspaces(  # parallel to x, at the heights 1 and 5
    ...     np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 5.0]]), np.array([[[1.0, 0.0, 0.0]]] * 2)
    ... )
    >>> len(lines)
    2
    """

    offsets: Array
    bases: Array

    def __post_init__(self) -> None:
        offsets, bases = _floats("offsets", self.offsets), _floats("bases", self.bases)
        check_shape("offsets", offsets, (None, None))
        count, ambient = offsets.shape
        if ambient == 0:
            raise InvalidInput("offsets must have at least one dimension, got shape (any, 0).")
        check_shape("bases", bases, (count, None, ambient))
        if bases.shape[1] > ambient:
            raise InvalidInput(
                f"subspaces of a {ambient}-dimensional space have at most {ambient} directions, "
                f"got {bases.shape[1]}."
            )
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "bases", bases)
        self.stacks  # noqa: B018  # refuses bad bases here, where they are given

    @classmethod
    def points(cls, points: Array) -> Subspaces:
        """Points (P, n), as subspaces without directions."""
        values = _floats("points", points)
        check_shape("points", values, (None, None))
        return cls(values, np.zeros((len(values), 0, values.shape[1]), dtype=values.dtype))

    def __len__(self) -> int:
        return len(self.offsets)

    def __repr__(self) -> str:
        return f"Subspaces({len(self)} of dimension {self.dimension} in {self.ambient} dimensions)"

    @property
    def dimension(self) -> int:
        return int(self.bases.shape[1])

    @property
    def ambient(self) -> int:
        return int(self.offsets.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """What distances are computed in."""
        double = "d" in (self.offsets.dtype.char, self.bases.dtype.char)
        return np.dtype(np.float64 if double else np.float32)

    def in_double(self, rows: slice) -> Subspaces:
        """Some of them, in double precision."""
        return Subspaces(self.offsets[rows].astype(np.float64), self.bases[rows].astype(np.float64))

    @cached_property
    def stacks(self) -> Tiles:
        """Rows [D; d0], d0 orthogonal to D: every distance then follows from one product."""
        return _pack(self)

    @cached_property
    def normals(self) -> Tiles:
        """Rows F, the n − m normals: {x : F·x = F·e0}. Fewer rows when 2m > n."""
        return _pack_normals(self)

    def canonical(self, rows: NDArray[np.int64]) -> tuple[Array, Array]:
        """(d0, D) of these rows in double precision, d0 orthogonal to D; by NumPy alone."""
        offsets = self.offsets[rows].astype(np.float64)
        columns = self.bases[rows].astype(np.float64).transpose(0, 2, 1)
        bases = np.linalg.qr(columns)[0].transpose(0, 2, 1)
        along = bases @ offsets[:, :, None]
        return offsets - (bases.transpose(0, 2, 1) @ along)[:, :, 0], bases


@dataclass(frozen=True)
class Tiles:
    """A set in tiles: rows (T, rows, lanes, n) with zeros behind the last subspace.

    lengths  (T, lanes)         ‖d0‖² of the point nearest to the origin
    levels   (T, n − m, lanes)  F·e0 of normals, empty for stacks
    """

    rows: Array
    lengths: Array
    levels: Array

    @property
    def lanes(self) -> int:
        return int(self.rows.shape[2])


def _floats(name: str, values: Any) -> Array:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise InvalidInput(f"{name} must be numbers, got an array of {array.dtype}.")
    return array if array.dtype.char in "efd" else array.astype(np.float32)


def _num_lanes(stack_rows: int, count: int) -> int:
    """Subspaces in a tile: whole strips of the kernel, no more than are there."""
    return STRIP * max(min(TILE_ROWS // (STRIP * stack_rows), -(-count // STRIP)), 1)


def _pack(side: Subspaces) -> Tiles:
    from sfumato.matching.subspace_kernel import canonicalise  # compiled when first needed

    (count, m, n), dtype = side.bases.shape, side.dtype
    lanes = _num_lanes(m + 1, count)
    tiles = -(-count // lanes)
    stacks = np.empty((tiles, m + 1, lanes, n), dtype=dtype)
    lengths = np.empty((tiles, lanes), dtype=dtype)

    def fill(t: int) -> int:
        part = slice(t * lanes, min((t + 1) * lanes, count))
        held = part.stop - part.start
        stacks[t, :, held:] = 0
        lengths[t, held:] = 0
        offsets, bases = side.offsets[part], side.bases[part]
        if m == 0:
            stacks[t, 0, :held] = offsets
            lengths[t, :held] = np.einsum("ij,ij->i", offsets, offsets, dtype=dtype)
            return int(held - np.count_nonzero(np.isfinite(lengths[t, :held])))
        half = offsets.dtype.char == "e" or bases.dtype.char == "e"
        given = np.float32 if half else None
        return int(
            canonicalise(
                np.ascontiguousarray(offsets, dtype=given),
                np.ascontiguousarray(bases, dtype=given),
                ORTHONORMAL,
                stacks[t],
                lengths[t],
            )
        )

    refused = sum(on_all_cores(fill, range(tiles)))
    if refused:
        check_finite("offsets" if m else "points", side.offsets)
        check_finite("bases", side.bases)
        if not m:
            raise InvalidInput("points must be short enough that their squares are finite.")
        raise InvalidInput(
            f"every basis must have orthonormal rows, {refused} of {count} have not; "
            "orthonormalise them (QR) first."
        )
    return Tiles(stacks, lengths, np.empty((tiles, 0, lanes), dtype=dtype))


def _pack_normals(side: Subspaces) -> Tiles:
    (count, m, n), dtype = side.bases.shape, side.dtype
    lanes = _num_lanes(max(n - m, 1), count)
    tiles = -(-count // lanes)
    stacks = np.zeros((tiles, n - m, lanes, n), dtype=dtype)
    levels = np.zeros((tiles, n - m, lanes), dtype=dtype)
    lengths = np.zeros((tiles, lanes), dtype=dtype)
    for t in range(tiles):
        rows = np.arange(t * lanes, min((t + 1) * lanes, count))
        offsets, bases = side.canonical(rows)
        whole = np.linalg.qr(bases.transpose(0, 2, 1), mode="complete")[0]
        normals = whole[:, :, m:].transpose(2, 0, 1)
        stacks[t, :, : len(rows)] = normals
        levels[t, :, : len(rows)] = np.einsum("fkn,kn->fk", normals, offsets)
        lengths[t, : len(rows)] = np.einsum("kn,kn->k", offsets, offsets)
    return Tiles(stacks, lengths, levels)
