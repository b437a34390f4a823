"""The tiles in which distances of subspaces are computed.

A worker owns a tile of pairs: one matrix product on one thread, then the compiled solve while the
product is still in that core's cache. Nothing larger than a tile is ever held.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import Mismatch
from sfumato.matching.subspace_pack import STRIP, Subspaces, Tiles

Array = NDArray[Any]

#: Distances are right to this share of the offsets' length (unit-norm descriptors: at most √2).
TOLERANCE = 5e-5
#: Directions closer than this angle count as the same; below, float32 input is rounding noise.
PARALLEL = 1e-6
#: Rounding error of a squared distance relative to its terms, and the smallest trusted pivot.
_NOISE = {"f": 5e-7, "d": 1e-14}
_FLOOR = {"f": 1e-3, "d": 1e-9}
#: Above this share of unsure pairs a whole tile is repeated in double precision.
_MANY = 1 / 64


class Pairing:
    """Two sets of subspaces whose distances are wanted, tile by tile."""

    def __init__(self, a: Subspaces, b: Subspaces) -> None:
        if a.ambient != b.ambient:
            raise Mismatch(
                f"subspaces or points of {a.ambient} and {b.ambient} dimensions have no distance."
            )
        if a.dtype != b.dtype:
            a, b = a.in_double(slice(None)), b.in_double(slice(None))
        self.a, self.b, self.dtype = a, b, a.dtype
        # The smaller dimension is the one that is eliminated.
        self._swapped = a.dimension > b.dimension
        self._few, self._many = (b, a) if self._swapped else (a, b)
        dual = a.ambient < 2 * self._many.dimension < 2 * a.ambient
        self._rows: Tiles = self._few.stacks
        self._columns: Tiles = self._many.normals if dual else self._many.stacks
        self._own = threading.local()
        kind = self.dtype.char
        self._limits = np.array([_NOISE[kind], TOLERANCE, _FLOOR[kind]], dtype=kind)

    def parts(self, *, of_a: bool) -> list[slice]:
        """The rows of each tile of a, or of b."""
        count = len(self.a if of_a else self.b)
        lanes = (self._columns if of_a == self._swapped else self._rows).lanes
        return [slice(i, min(i + lanes, count)) for i in range(0, count, lanes)]

    def distances(self, rows: slice, columns: slice) -> Array:
        """Distances of one tile of a and one of b; overwritten by this thread's next one."""
        first, second = (columns, rows) if self._swapped else (rows, columns)
        out = self._buffer("out", (first.stop - first.start, second.stop - second.start))
        unsure = self._fill(first, second, out)
        if unsure > _MANY * out.size and self.dtype.char == "f":
            again = Pairing(self._few.in_double(first), self._many.in_double(second))
            out[:] = again.distances(slice(0, out.shape[0]), slice(0, out.shape[1]))
        elif unsure:
            i, j = np.nonzero(out < 0)
            out[i, j] = exact_pairs(self._few, i + first.start, self._many, j + second.start)
        return np.ascontiguousarray(out.T) if self._swapped else out

    def _fill(self, first: slice, second: slice, out: Array) -> int:
        from sfumato.matching.subspace_kernel import solve_points, solve_tile  # compiled late

        s, t = first.start // self._rows.lanes, second.start // self._columns.lanes
        left, right = self._rows.rows[s], self._columns.rows[t]
        shape = left.shape[:2] + right.shape[:2]
        product = self._buffer("product", (shape[0] * shape[1], shape[2] * shape[3]))
        ambient = self.a.ambient
        np.matmul(left.reshape(-1, ambient), right.reshape(-1, ambient).T, out=product)
        if shape[0] == 1 and not self._columns.levels.shape[1]:
            return int(
                solve_points(
                    product.reshape(shape[1:]),
                    self._rows.lengths[s],
                    self._columns.lengths[t],
                    self._limits,
                    out,
                )
            )
        return int(
            solve_tile(
                product.reshape(shape),
                self._columns.levels[t],
                self._rows.lengths[s],
                self._columns.lengths[t],
                self._limits,
                STRIP,
                out,
            )
        )

    def _buffer(self, name: str, shape: tuple[int, int]) -> Array:
        """Memory of this thread, used for every tile: fresh pages would cost as much as one."""
        size = shape[0] * shape[1]
        kept = getattr(self._own, name, None)
        if kept is None or kept.size < size:
            kept = np.empty(size, dtype=self.dtype)
            setattr(self._own, name, kept)
        return np.asarray(kept[:size].reshape(shape))


def exact_pairs(
    a: Subspaces, rows: NDArray[np.int64], b: Subspaces, columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Distances of the pairs (rows[k], columns[k]) in double precision; the reference.

    With R = D − G·E and r′ = r − Eᵀ·E·r, the parts of D and r that E cannot reach: the length of
    r′ minus its projection on the rows of R. Directions of R shorter than sin θ = PARALLEL are
    left out: D and E share them, and moving along them changes nothing.
    """
    result = np.empty(len(rows))
    step = (1 << 22) // ((a.dimension + b.dimension + 2) * a.ambient) + 1
    for start in range(0, len(rows), step):
        few = slice(start, start + step)
        (d0, d), (e0, e) = (_gathered(a, rows[few]), _gathered(b, columns[few]))
        r = e0 - d0
        r -= ((r[:, None] @ e.transpose(0, 2, 1)) @ e)[:, 0]
        if a.dimension:
            d = d - (d @ e.transpose(0, 2, 1)) @ e
            values, vectors = np.linalg.eigh(d @ d.transpose(0, 2, 1))
            axes = vectors.transpose(0, 2, 1) @ d
            free = values > PARALLEL**2
            along = np.where(free, (axes @ r[:, :, None])[:, :, 0], 0) / np.where(free, values, 1)
            r -= (along[:, None] @ axes)[:, 0]
        result[few] = np.linalg.norm(r, axis=1)
    return result


def _gathered(side: Subspaces, rows: NDArray[np.int64]) -> tuple[Array, Array]:
    chosen, place = np.unique(rows, return_inverse=True)
    offsets, bases = side.canonical(chosen)
    return offsets[place], bases[place]
