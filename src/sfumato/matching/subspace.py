"""Distances between points and affine subspaces, and between affine subspaces.

With orthonormal rows D, E and offsets d0, e0; r = e0 − d0, G = D·Eᵀ, p = D·r, q = E·r:

    point to subspace      ‖e − d0‖² − ‖D(e − d0)‖²
    subspace to subspace   ‖r‖² − ‖q‖² − vᵀ·N⁻¹·v,   N = I − G·Gᵀ, v = p − G·q     [affine, §3]

Everything here answers with plain (not squared) Euclidean distances, within 1e-4 of a least-squares
solution in double precision for descriptors of unit length, in general within 5e-5 of the offsets'
lengths. Directions closer than 1e-6 rad count as shared. A subspace of more than n/2 dimensions
is held by its n − m normals instead.

Each side is an array of points (P, n), a pair (offsets (N, n), bases (N, m, n)), anything that
carries `offsets` and `bases` such as a SubspaceRelease, or `Subspaces`, prepared once.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number, check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.threads import on_all_cores
from sfumato.matching.subspace_pack import Subspaces
from sfumato.matching.subspace_tiles import Pairing, exact_pairs

__all__ = [
    "Subspaces",
    "closer_than",
    "k_nearest",
    "mutual_nearest",
    "nearest",
    "point_to_subspace",
    "reference_distances",
    "subspace_to_subspace",
]

Array = NDArray[Any]
Rows = NDArray[np.int64]


class CarriesSubspaces(Protocol):
    """A release of subspaces, for instance."""

    @property
    def offsets(self) -> Array: ...
    @property
    def bases(self) -> Array: ...


Side: TypeAlias = Array | tuple[Array, Array] | CarriesSubspaces


def point_to_subspace(points: Array, subspaces: Side) -> Array:
    """Distances (P, N) of points (P, n) to subspaces; float32, or float64 if one side is.

    >>> lines = sf.distances.Subspaces(  # parallel to x, at the heights 1 and 5
    ...     np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 5.0]]), np.array([[[1.0, 0.0, 0.0]]] * 2)
    ... )
    >>> points = np.array([[7.0, 0.0, 0.0], [7.0, 0.0, 6.0]])
    >>> sf.distances.point_to_subspace(points, lines).tolist()
    [[1.0, 5.0], [5.0, 1.0]]
    """
    return _matrix(Pairing(Subspaces.points(points), as_subspaces(subspaces)))


def subspace_to_subspace(a: Side, b: Side) -> Array:
    """Distances (N_a, N_b) between subspaces, of equal dimension or not; 0 where they meet.

    >>> lines = sf.distances.Subspaces(  # parallel to x, at the heights 1 and 5
    ...     np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 5.0]]), np.array([[[1.0, 0.0, 0.0]]] * 2)
    ... )
    >>> sf.distances.subspace_to_subspace(lines, lines).tolist()
    [[0.0, 4.0], [4.0, 0.0]]
    """
    return _matrix(Pairing(as_subspaces(a), as_subspaces(b)))


def nearest(a: Side, b: Side) -> tuple[Rows, Array]:
    """For each of a the nearest of b, and its distance; the first of equals.

    >>> lines = sf.distances.Subspaces(  # parallel to x, at the heights 1 and 5
    ...     np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 5.0]]), np.array([[[1.0, 0.0, 0.0]]] * 2)
    ... )
    >>> points = np.array([[7.0, 0.0, 0.0], [7.0, 0.0, 6.0]])
    >>> rows, distances = sf.distances.nearest(points, lines)
    >>> rows.tolist(), distances.tolist()
    ([0, 1], [1.0, 1.0])
    """
    index, distance = k_nearest(a, b, 1)
    return index[:, 0], distance[:, 0]


def k_nearest(a: Side, b: Side, k: int) -> tuple[Rows, Array]:
    """For each of a its k nearest of b, nearest first: indices (N_a, k) and distances (N_a, k).

    Only k distances per row are kept, so b may be a database of any size.

    >>> lines = sf.distances.Subspaces(  # parallel to x, at the heights 1 and 5
    ...     np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 5.0]]), np.array([[[1.0, 0.0, 0.0]]] * 2)
    ... )
    >>> points = np.array([[7.0, 0.0, 0.0], [7.0, 0.0, 6.0]])
    >>> sf.distances.k_nearest(points, lines, 2)[0].tolist()
    [[0, 1], [1, 0]]
    """
    from sfumato.matching.minima_kernel import update_smallest  # compiled when first needed

    pairing = Pairing(as_subspaces(a), as_subspaces(b))
    if not len(pairing.b):
        raise InvalidInput(
            "neighbours are looked for in an empty set; give it at least one member."
        )
    check_count("k", k, low=1, high=len(pairing.b), why="no more neighbours are there")
    columns = pairing.parts(of_a=False)

    def search(rows: slice) -> tuple[Rows, Array]:
        best = np.full((rows.stop - rows.start, k), np.inf, dtype=pairing.dtype)
        index = np.zeros(best.shape, dtype=np.int64)
        for part in columns:
            update_smallest(pairing.distances(rows, part), part.start, best, index)
        return index, best

    found = on_all_cores(search, pairing.parts(of_a=True))
    return (
        np.concatenate([np.zeros((0, k), dtype=np.int64), *(index for index, _ in found)]),
        np.concatenate([np.zeros((0, k), dtype=pairing.dtype), *(best for _, best in found)]),
    )


def mutual_nearest(a: Side, b: Side) -> tuple[Rows, Rows]:
    """Pairs (row of a, row of b) that are each other's nearest, found in one pass.

    >>> lines = sf.distances.Subspaces(  # parallel to x, at the heights 1 and 5
    ...     np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 5.0]]), np.array([[[1.0, 0.0, 0.0]]] * 2)
    ... )
    >>> points = np.array([[7.0, 0.0, 0.0], [7.0, 0.0, 6.0]])
    >>> rows, columns = sf.distances.mutual_nearest(points, lines)
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [0, 1])
    """
    from sfumato.matching.minima_kernel import update_minima  # compiled when first needed

    pairing = Pairing(as_subspaces(a), as_subspaces(b))
    if not len(pairing.a) or not len(pairing.b):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    columns = pairing.parts(of_a=False)
    best, back = _no_minima(len(pairing.b), pairing.dtype)
    merging = threading.Lock()

    def search(rows: slice) -> Rows:
        near, index = _no_minima(rows.stop - rows.start, pairing.dtype)
        other_best, other = _no_minima(len(pairing.b), pairing.dtype)
        for part in columns:
            tile = pairing.distances(rows, part)
            update_minima(tile, rows.start, part.start, near, index, other_best, other)
        with merging:  # in any order: of equals the first row counts
            closer = (other_best < best) | ((other_best == best) & (other < back))
            best[closer], back[closer] = other_best[closer], other[closer]
        return index

    chosen = np.concatenate(on_all_cores(search, pairing.parts(of_a=True)))
    rows = np.flatnonzero(back[chosen] == np.arange(len(chosen)))
    return rows, chosen[rows]


def closer_than(a: Side, b: Side, tolerance: float) -> tuple[Rows, Rows, Array]:
    """All pairs at most `tolerance` apart, ordered: rows of a, rows of b, distances.

    >>> lines = sf.distances.Subspaces(  # parallel to x, at the heights 1 and 5
    ...     np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 5.0]]), np.array([[[1.0, 0.0, 0.0]]] * 2)
    ... )
    >>> points = np.array([[7.0, 0.0, 0.0], [7.0, 0.0, 6.0]])
    >>> rows, columns, distances = sf.distances.closer_than(points, lines, 2.0)
    >>> rows.tolist(), columns.tolist(), distances.tolist()
    ([0, 1], [0, 1], [1.0, 1.0])
    """
    if not as_number("tolerance", tolerance) >= 0:
        raise InvalidInput(f"tolerance must be at least 0, got {tolerance!r}.")
    pairing = Pairing(as_subspaces(a), as_subspaces(b))
    columns = pairing.parts(of_a=False)

    def search(rows: slice) -> tuple[Rows, Rows, Array]:
        found = []
        for part in columns:
            tile = pairing.distances(rows, part)
            i, j = np.nonzero(tile <= tolerance)
            found.append((i + rows.start, j + part.start, tile[i, j]))
        i, j, distance = _joined(found, pairing.dtype)
        order = np.lexsort((j, i))
        return i[order], j[order], distance[order]

    return _joined(on_all_cores(search, pairing.parts(of_a=True)), pairing.dtype)


def reference_distances(a: Side, b: Side) -> NDArray[np.float64]:
    """The same distances by plain NumPy in double precision; slow, and what the rest must equal."""
    left, right = as_subspaces(a), as_subspaces(b)
    shape = len(left), len(right)
    rows, columns = (index.ravel() for index in np.indices(shape))
    return exact_pairs(left, rows, right, columns).reshape(shape)


def as_subspaces(side: Side) -> Subspaces:
    """Whatever a side may be, as Subspaces."""
    if isinstance(side, Subspaces):
        return side
    if isinstance(side, np.ndarray):
        return Subspaces.points(side)
    if isinstance(side, tuple):
        if len(side) != 2:
            raise InvalidInput(f"subspaces are a pair (offsets, bases), got {len(side)} things.")
        return Subspaces(*side)
    if hasattr(side, "offsets") and hasattr(side, "bases"):
        return Subspaces(side.offsets, side.bases)
    raise InvalidInput(
        "a side must be an array of points, a pair (offsets, bases) or Subspaces, got "
        f"{type(side).__name__}."
    )


def _matrix(pairing: Pairing) -> Array:
    result = np.empty((len(pairing.a), len(pairing.b)), dtype=pairing.dtype)
    columns = pairing.parts(of_a=False)

    def fill(tile: tuple[slice, slice]) -> None:
        result[tile] = pairing.distances(*tile)

    on_all_cores(fill, [(rows, part) for rows in pairing.parts(of_a=True) for part in columns])
    return result


def _no_minima(count: int, dtype: Any) -> tuple[Array, Rows]:
    return np.full(count, np.inf, dtype=dtype), np.zeros(count, dtype=np.int64)


def _joined(found: list[tuple[Rows, Rows, Array]], dtype: Any) -> tuple[Rows, Rows, Array]:
    none = np.zeros(0, dtype=np.int64)
    found = [(none, none, np.zeros(0, dtype=dtype)), *found]
    i, j, distance = (np.concatenate(part) for part in zip(*found, strict=True))
    return i, j, distance
